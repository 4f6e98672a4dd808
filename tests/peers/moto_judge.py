#!/usr/bin/env python3
"""The ports' contracts and the functions end to end, against moto_server instead of the local cloud."""

import argparse
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import moto

PATIENCE_SECONDS = 120
BENCHMARK = "speech-selection"
BOARD = "en-25"


def expect(holds: bool, what: object) -> None:
    if not holds:
        sys.exit(f"FAILED: {what}")


class Runtime:
    """The Lambda Runtime API for one process: hands out events, keeps the answers."""

    def __init__(self) -> None:
        self.events: queue.Queue = queue.Queue()
        self.answers: queue.Queue = queue.Queue()
        runtime = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                event = runtime.events.get()
                body = json.dumps(event).encode()
                self.send_response(200)
                for name, value in {
                    "lambda-runtime-aws-request-id": "00000000-0000-0000-0000-000000000001",
                    "lambda-runtime-deadline-ms": str(int(time.time() * 1000) + 60_000),
                    "lambda-runtime-invoked-function-arn": "arn:aws:lambda:us-east-1:000000000000:function:f",
                    "content-length": str(len(body)),
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                runtime.answers.put((self.path.rsplit("/", 1)[1], json.loads(body)))
                self.send_response(202)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def call(self, event: dict) -> dict:
        self.events.put(event)
        kind, answer = self.answers.get(timeout=PATIENCE_SECONDS)
        expect(kind == "response", answer)
        return answer


def start_server(*program: object) -> tuple[str, subprocess.Popen]:
    """Where moto_server is going to answer, and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # the port is free again by now, and nobody else is asked for one in between
    process = subprocess.Popen([*program, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"http://127.0.0.1:{port}", process


def wait_for_server(s3, process: subprocess.Popen) -> None:
    began = time.monotonic()
    while True:
        try:
            s3.list_buckets()
            return
        except Exception:
            expect(time.monotonic() - began < PATIENCE_SECONDS and process.poll() is None, "moto_server does not answer")
            time.sleep(0.2)


def signing_aliases(root: Path, name: str) -> list[str]:
    """The aliases that each function may sign receipts by, as infra/policies.json has them."""
    policies = json.loads((root / "infra" / "policies.json").read_text())
    statements = [statement for policy in policies.values() for statement in policy["Statement"]]
    aliases = {statement["Condition"]["StringLike"]["kms:RequestAlias"] for statement in statements if statement["Action"] == "kms:Sign"}
    return sorted(alias.replace("alias/dataperf-", f"alias/{name}-") for alias in aliases if "*" not in alias)


class Judge:
    def __init__(self, root: Path, binaries: Path, scratch: Path):
        self.root, self.binaries, self.scratch = root, binaries, scratch
        self.endpoint, self.server = start_server("moto_server")
        keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1"}
        self.s3 = boto3.client("s3", endpoint_url=self.endpoint, **keys)
        self.dynamodb = boto3.client("dynamodb", endpoint_url=self.endpoint, **keys)
        self.environment = {
            "PATH": os.environ["PATH"], "RUST_LOG": "info", "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self.endpoint, "AWS_LAMBDA_FUNCTION_NAME": "f", "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769", "AWS_LAMBDA_LOG_GROUP_NAME": "g", "AWS_LAMBDA_LOG_STREAM_NAME": "s",
            "DATAPERF_TABLE": "dataperf", "DATAPERF_DATASETS_BUCKET": "datasets", "DATAPERF_RESULTS_BUCKET": "results",
            "DATAPERF_SIGNING_KEY": "alias/dataperf-receipts",
            "DATAPERF_SUBMISSIONS_BUCKET": "submissions", "DATAPERF_FUNCTION_PREFIX": "", "DATAPERF_CURSOR_KEY": "moto",
            "DATAPERF_SWEEP_AFTER_SECONDS": "0", "DATAPERF_GIVE_UP_AFTER_SECONDS": "3600",
        }

    def make_resources(self) -> None:
        kms = boto3.client("kms", endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local")
        key = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
        for alias in signing_aliases(self.root, "dataperf"):
            kms.create_alias(AliasName=alias, TargetKeyId=key)
        for name in ("submissions", "datasets", "results"):
            self.s3.create_bucket(Bucket=name)
            self.s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        keys = lambda partition, sort: [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
        for name in ("dataperf", "contract"):
            self.dynamodb.create_table(
                TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=keys("pk", "sk"),
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "sk", "board", "rank")],
                GlobalSecondaryIndexes=[
                    {"IndexName": "ranking", "KeySchema": keys("board", "rank"), "Projection": {"ProjectionType": "ALL"}}
                ],
            )

    def function(self, name: str) -> tuple[Runtime, subprocess.Popen]:
        runtime = Runtime()
        address = f"127.0.0.1:{runtime.server.server_port}"
        process = subprocess.Popen(
            [self.binaries / name], env=self.environment | {"AWS_LAMBDA_RUNTIME_API": address}, stdout=subprocess.DEVNULL
        )
        return runtime, process

    def dataperf(self, *args: object) -> dict | list:
        command = [self.binaries / "dataperf", "--format", "json", *args]
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        expect(ran.returncode == 0, f"{args}: {ran.stdout}{ran.stderr}")
        return json.loads(ran.stdout)

    def upload(self, submitter: str, artifact: bytes) -> dict:
        key = f"{BENCHMARK}/{BOARD}/{submitter}/x.json"
        version = self.s3.put_object(Bucket="submissions", Key=key, Body=artifact)["VersionId"]
        return {"Records": [{
            "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": "2026-03-01T12:00:00.250Z",
            "eventName": "ObjectCreated:Put", "userIdentity": {}, "requestParameters": {}, "responseElements": {},
            "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": "submissions"}, "object": {"key": key, "versionId": version, "sequencer": "0"}},
        }]}

    def receipts(self, submitter: str) -> list[dict]:
        versions = self.s3.list_object_versions(Bucket="results", Prefix=f"{BENCHMARK}/{BOARD}/{submitter}/").get("Versions", [])
        read = lambda v: json.loads(self.s3.get_object(Bucket="results", Key=v["Key"], VersionId=v["VersionId"])["Body"].read())
        return [read(version) for version in versions]

    def contracts(self) -> None:
        program = self.binaries / "examples" / "contract"
        ran = subprocess.run([program, self.endpoint, self.endpoint, "results", "contract"], capture_output=True, text=True, check=False)
        expect(ran.returncode == 0, ran.stderr)

    def end_to_end(self) -> None:
        demo = self.root / "demo" / BENCHMARK
        expected = json.loads((demo / "expected_scores.json").read_text())["scored"]
        here = ["--s3-endpoint", self.endpoint, "--dynamodb-endpoint", self.endpoint]
        self.dataperf("dataset", "import", BENCHMARK, "--from", demo, "--out", self.scratch / "frozen")
        self.dataperf("dataset", "publish", self.scratch / "frozen", *here)
        name = "en-25/coin-flip/random.json"
        artifact = (demo / "submissions" / name).read_bytes()
        evaluator, process = self.function(BENCHMARK)
        caretaker, other = self.function("caretaker")
        try:
            event = self.upload("ada", artifact)
            expect(evaluator.call(event) == {"recorded": 1, "repeated": 0, "handed_over": 0}, "the first delivery records")
            expect(evaluator.call(event) == {"recorded": 0, "repeated": 1, "handed_over": 0}, "the second changes nothing")
            [receipt] = self.receipts("ada")
            expect(abs(receipt["score"] - expected[name]["score"]) < 1e-9, receipt)
            evaluator.call(self.upload("bo", b"{"))
            expect([r["status"] for r in self.receipts("bo")] == ["rejected"], self.receipts("bo"))

            given_up = self.upload("cy", artifact)
            record = {
                "version": "1.0", "requestContext": {"requestId": "r-1", "condition": "RetriesExhausted"}, "requestPayload": given_up,
                "responsePayload": {"errorType": "Sandbox.Timedout", "errorMessage": "Task timed out after 60.00 seconds"},
            }
            message = {"messageId": "m", "eventSource": "aws:sqs", "body": json.dumps(record)}
            expect(caretaker.call({"Records": [message]}) == {"batchItemFailures": []}, "the caretaker does its message")
            expect([r["reasons"][0]["code"] for r in self.receipts("cy")] == ["time_limit"], self.receipts("cy"))
            expect(evaluator.call(given_up) == {"recorded": 0, "repeated": 1, "handed_over": 0}, "a late delivery finds it ended")

            swept = caretaker.call({"source": "aws.events", "detail-type": "Scheduled Event"})
            expect(swept[BENCHMARK] == {"evaluated_again": 0, "given_up": 0}, swept)
        finally:
            for running in (process, other):
                running.kill()
                running.wait()
        [board] = self.dataperf("leaderboard", BENCHMARK, BOARD, *here)
        expect([place["submitter"] for place in board["places"]] == ["ada"], board)
        unfinished = self.dataperf("status", BENCHMARK, *here)
        expect(unfinished == [], unfinished)
        failed = self.dataperf("status", BENCHMARK, "--failed", *here)
        expect([entry["submitter"] for entry in failed] == ["cy"], failed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        judge = Judge(args.root, args.bin, Path(scratch))
        try:
            wait_for_server(judge.s3, judge.server)
            judge.make_resources()
            print("moto", moto.__version__)
            for check in (judge.contracts, judge.end_to_end):
                began = time.monotonic()
                check()
                print(f"{check.__name__:42} {time.monotonic() - began:6.1f} s  passed", flush=True)
        finally:
            # Its threads may wait for open connections, and it stores nothing.
            judge.server.kill()
            judge.server.wait()


if __name__ == "__main__":
    main()

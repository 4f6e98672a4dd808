#!/usr/bin/env python3
"""Use `dataperf local` with the AWS command line and boto3, as a submitter and a dashboard would."""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import boto3
import botocore.exceptions

PATIENCE_SECONDS = 60


class Failed(Exception):
    """A check that did not hold."""


def expect(holds: bool, what: object) -> None:
    if not holds:
        raise Failed(str(what))


class Peers:
    """A running local cloud and the programs that use it."""

    def __init__(self, root: Path, binaries: Path, scratch: Path):
        self.root, self.program, self.scratch = root, binaries / "dataperf", scratch
        self.demo = root / "demo" / "speech-selection"
        ports = ["--s3-port", "0", "--dynamodb-port", "0", "--http-port", "0", "--lambda-port", "0", "--back-off", "0.05,0.1"]
        self.local = subprocess.Popen([self.program, "local", "--data-dir", scratch / "cloud", *ports], stdout=subprocess.PIPE, text=True)
        self.endpoints = self.read_endpoints()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.environment = kept | {
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": self.endpoints["S3"], "AWS_ENDPOINT_URL_DYNAMODB": self.endpoints["DynamoDB"],
            "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true", "AWS_PAGER": "",
        }
        os.environ.clear()
        os.environ.update(self.environment)
        self.s3 = boto3.client("s3")

    def read_endpoints(self) -> dict[str, str]:
        endpoints = {}
        for line in self.local.stdout:
            name, _, rest = line.partition(" ")
            if rest.strip().startswith("http://"):
                endpoints[name] = rest.strip()
            if line.startswith("Stop with"):
                return endpoints
        sys.exit("error: `dataperf local` did not start")

    def stop(self) -> None:
        self.local.terminate()
        self.local.wait(timeout=30)

    def dataperf(self, *args: object, code: int = 0) -> dict:
        ran = subprocess.run([self.program, "--format", "json", *map(str, args)], capture_output=True, text=True, check=False)
        expect(ran.returncode == code, f"dataperf {args}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return json.loads(ran.stdout)

    def on_this_cloud(self) -> list[str]:
        return ["--s3-endpoint", self.endpoints["S3"], "--dynamodb-endpoint", self.endpoints["DynamoDB"], "--lambda-endpoint", self.endpoints["Lambda"]]

    def aws(self, *args: object, timeout: float | None = None) -> str:
        ran = subprocess.run(["aws", *map(str, args)], capture_output=True, text=True, check=False, timeout=timeout)
        expect(ran.returncode == 0, f"aws {args}: exit code {ran.returncode}\n{ran.stderr}")
        return ran.stdout

    def aws_json(self, *args: object) -> dict:
        return json.loads(self.aws(*args, "--output", "json"))

    def receipt_keys(self, prefix: str, n: int) -> list[str]:
        """Waits until there are `n` receipts below a prefix."""
        began = time.monotonic()
        while True:
            listed = self.aws("s3", "ls", "--recursive", f"s3://results/{prefix}") if self.has(prefix) else ""
            keys = [line.split(None, 3)[3] for line in listed.splitlines()]
            if len(keys) >= n:
                return keys
            expect(time.monotonic() - began < PATIENCE_SECONDS, f"{len(keys)} of {n} receipts below `{prefix}`")
            time.sleep(0.2)

    def has(self, prefix: str) -> bool:
        return self.s3.list_objects_v2(Bucket="results", Prefix=prefix)["KeyCount"] > 0

    def demo_file(self, name: str) -> Path:
        return self.demo / "submissions" / name

    def expected(self, name: str) -> float:
        return json.loads((self.demo / "expected_scores.json").read_text())["scored"][name]["score"]


def failed_while_the_data_set_is_missing(peers: Peers) -> None:
    # the data set in force is not there: the platform fails until one is published
    current = {"Bucket": "datasets", "Key": "speech-selection/current.json"}
    broken = {"schema": 2, "boards": {"en-25": "sha256:" + "0" * 64}}
    peers.s3.put_object(**current, Body=json.dumps(broken).encode())
    key = "speech-selection/en-25/early/x.json"
    peers.aws("s3", "cp", peers.demo_file("en-25/coin-flip/random.json"), f"s3://submissions/{key}")
    [receipt_key] = peers.receipt_keys("speech-selection/en-25/early/", 1)
    receipt = json.loads(peers.aws("s3", "cp", f"s3://results/{receipt_key}", "-"))
    expect((receipt["status"], receipt["reasons"][0]["code"]) == ("failed", "organizer_fault"), receipt)
    peers.s3.delete_object(**current)


def publish(peers: Peers) -> None:
    frozen = peers.scratch / "frozen"
    peers.dataperf("dataset", "import", "speech-selection", "--from", peers.demo, "--out", frozen)
    peers.dataperf("dataset", "publish", frozen, *peers.on_this_cloud())


def cli_copies_a_submission_and_its_receipt(peers: Peers) -> None:
    name = "en-25/coin-flip/random.json"
    peers.aws("s3", "cp", peers.demo_file(name), "s3://submissions/speech-selection/en-25/ada/my first + try, 100%.json")
    [key] = peers.receipt_keys("speech-selection/en-25/ada/", 1)
    receipt_path = peers.scratch / "receipt.json"
    peers.aws("s3", "cp", f"s3://results/{key}", receipt_path)
    receipt = json.loads(receipt_path.read_text())
    expect(abs(receipt["score"] - peers.expected(name)) < 1e-9, receipt)
    expect(receipt["key"].endswith("/my first + try, 100%.json"), receipt)
    verified = peers.dataperf("verify", receipt_path, "--dataset", peers.scratch / "frozen", "--artifact", peers.demo_file(name))
    expect(verified["verified"] is True, verified)


def python_checks_the_signature(peers: Peers) -> None:
    """The program of docs/wire-formats.md, word for word, on the receipt of the check before."""
    document = (peers.root / "docs" / "wire-formats.md").read_text()
    [program] = [block for block in re.findall(r"```python\n(.*?)```", document, re.DOTALL) if "rfc8785" in block]
    script, keys, receipt = (peers.scratch / name for name in ("check.py", "keys.json", "receipt.json"))
    script.write_text(program)
    with urllib.request.urlopen(f"{peers.endpoints['page']}/api/v1/keys") as answer:
        keys.write_bytes(answer.read())
    check = lambda: subprocess.run([sys.executable, script, receipt, keys], capture_output=True, text=True)
    expect(check().stdout == "the signature holds\n", check().stderr)
    verified = peers.dataperf("verify", receipt, "--keys", keys)
    expect(verified["signature"] == "holds", verified)
    genuine = json.loads(receipt.read_text())
    for name, value in (("submitter", "bo"), ("score", genuine["score"] + 2**-53), ("round", "x"), ("more", 1)):
        receipt.write_text(json.dumps(genuine | {name: value}))
        expect("InvalidSignature" in check().stderr, f"a change of `{name}` is not noticed")
    receipt.write_text(json.dumps(genuine, sort_keys=True, indent=1))
    expect(check().returncode == 0, "the order of members does not matter")


def cli_syncs_many(peers: Peers) -> None:
    board = peers.demo_file("en-60")
    peers.aws("s3", "sync", board, "s3://submissions/speech-selection/en-60/")
    n_files = len(list(board.glob("*/*.json")))
    keys = peers.receipt_keys("speech-selection/en-60/", n_files)
    expect(len(keys) == n_files, keys)
    listed = peers.aws("s3", "ls", "--recursive", "s3://submissions/speech-selection/en-60/").splitlines()
    expect(len(listed) == n_files, listed)
    again = peers.aws("s3", "sync", board, "s3://submissions/speech-selection/en-60/")
    expect("upload:" not in again, f"nothing has changed, but: {again}")


def cli_copies_empty_files(peers: Peers) -> None:
    directory = peers.scratch / "some-empty"
    directory.mkdir()
    for n in range(60):
        (directory / f"{n:02}").write_text("" if n % 2 else f"{n}")
    # it hung where an answer to an empty file left its connection open
    peers.aws("s3", "cp", "--recursive", directory, "s3://datasets/some-empty/", timeout=10 * PATIENCE_SECONDS)
    back = peers.scratch / "some-empty-back"
    peers.aws("s3", "cp", "--recursive", "s3://datasets/some-empty/", back)
    for sent in directory.iterdir():
        expect((back / sent.name).read_bytes() == sent.read_bytes(), sent.name)


def cli_uploads_in_parts(peers: Peers) -> None:
    large = peers.scratch / "large.json"
    large.write_bytes(b"[" * 20_000_000)
    peers.aws("s3", "cp", large, "s3://submissions/speech-selection/en-25/large/large.json")
    [key] = peers.receipt_keys("speech-selection/en-25/large/", 1)
    receipt = json.loads(peers.aws("s3", "cp", f"s3://results/{key}", "-"))
    expect([reason["code"] for reason in receipt["reasons"]] == ["too_large"], receipt)
    back = peers.scratch / "back.json"
    peers.aws("s3", "cp", "s3://submissions/speech-selection/en-25/large/large.json", back)
    expect(back.read_bytes() == large.read_bytes(), "the parts are put together as they were")


def cli_lists_versions(peers: Peers) -> None:
    key = "speech-selection/en-25/twice/x.json"
    for name in ("random", "random_again"):
        peers.aws("s3api", "put-object", "--bucket", "submissions", "--key", key, "--body", peers.demo_file(f"en-25/coin-flip/{name}.json"))
    versions = peers.aws_json("s3api", "list-object-versions", "--bucket", "submissions", "--prefix", key)["Versions"]
    expect([version["IsLatest"] for version in versions] == [True, False], versions)
    keys = peers.receipt_keys("speech-selection/en-25/twice/", 2)
    receipts = [json.loads(peers.aws("s3", "cp", f"s3://results/{key}", "-")) for key in keys]
    expect({receipt["version"] for receipt in receipts} == {version["VersionId"] for version in versions}, receipts)


def a_round_is_published_and_scored_again(peers: Peers) -> None:
    document = {"schema": 1, "title": "Spring", "benchmarks": {"speech-selection": {"rounds": [
        {"id": "2026-spring", "leaderboards": ["pt-25"], "opens": "2020-01-01T00:00:00Z", "daily_limit": 5, "preset": "practice"}]}}}
    path = peers.scratch / "challenge.yaml"
    path.write_text(json.dumps(document))  # JSON is YAML
    peers.dataperf("challenge", "publish", path, *peers.on_this_cloud())
    peers.aws("s3", "cp", peers.demo_file("pt-25/second-listen/cross_validated.json"), "s3://submissions/speech-selection/pt-25/limited/x.json")
    peers.receipt_keys("speech-selection/pt-25/limited/", 1)
    again = peers.dataperf("rescore", "speech-selection", "pt-25", "--round", "2026-spring", *peers.on_this_cloud())
    expect((again["submissions"], again["changed"]) == (1, 0), again)
    peers.receipt_keys("speech-selection/pt-25/limited/", 2)


def in_this_cloud(peers: Peers, query: str) -> str:
    """A documented query with the names of what is here."""
    query = query.replace("submission#ID", f"submission#{ada(peers)['submission']}")
    return query.replace("#en@a0a4e18b87004683#2026-spring#ada", "#pt@a0a4e18b87004683#2026-spring#limited")


def documented(peers: Peers, language: str) -> list[str]:
    text = (peers.root / "docs" / "leaderboard-schema.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def ada(peers: Peers) -> dict:
    [key] = peers.receipt_keys("speech-selection/en-25/ada/", 1)
    return json.loads(peers.s3.get_object(Bucket="results", Key=key)["Body"].read())


def check_documented(peers: Peers, answers: list[list[dict]]) -> None:
    """What the ten documented queries have to find, as lists of items with plain values."""
    expect(len(answers) == 10, f"{len(answers)} documented queries instead of 10")
    ranked, top, history, one, series, boards, failed, unfinished, counts, runs = answers
    receipt = ada(peers)
    expect([(int(row["rank"]), row["submitter"]) for row in ranked] == [(1, item["submitter"]) for item in top], ranked)
    expect({item["submitter"] for item in top} == {"ada", "twice"}, top)
    expect([item["rank"] for item in top] == sorted(item["rank"] for item in top), top)
    expect([item["id"] for item in history] == [receipt["submission"]], history)
    whole = json.loads(one[0]["receipt"])
    metrics, shown = whole.pop("metrics"), receipt.pop("metrics")
    expect(receipt.pop("signature")["algorithm"] == "ECDSA_SHA_256" and "signature" not in whole, one)
    expect(receipt.pop("feedback") == whole.pop("shown_at_first") == "metrics" and whole == receipt, one)
    expect(metrics == shown and "per_seed" in shown, "outside a challenge everything but curves is shown")
    expect(len(series) == 3 and all(item["status"] == "scored" for item in series), series)
    expect([item["sk"] for item in boards] == ["en-25#open", "en-60#open", "pt-25#2026-spring"], boards)
    expect([(item["sk"][:3], int(item["n_scored"])) for item in counts] == [("tot", 1), ("day", 1)], counts)
    again = [(item["sk"], item["run"] < item["ended_at"]) for item in runs if not item["sk"].startswith("_#")]
    expect(again == [("pt-25#2026-spring", True)], runs)
    expect([item["submitter"] for item in failed] == ["early"], failed)
    expect(unfinished == [], unfinished)


def cli_runs_the_documented_queries(peers: Peers) -> None:
    answers = []
    for block in documented(peers, "sh"):
        if "aws dynamodb" not in block:
            continue
        command = in_this_cloud(peers, block)
        ran = subprocess.run(["bash", "-ceu", command], capture_output=True, text=True, check=False)
        expect(ran.returncode == 0, f"{command}\n{ran.stderr}")
        answer = json.loads(ran.stdout)
        if isinstance(answer, list):
            answers.append(answer)
            continue
        items = answer["Items"] if "Items" in answer else [answer["Item"]]
        answers.append([{name: next(iter(value.values())) for name, value in item.items()} for item in items])
    check_documented(peers, answers)


def boto3_runs_the_documented_queries(peers: Peers) -> None:
    names: dict = {}
    answers = []
    for block in documented(peers, "python"):
        *statements, last = ast.parse(in_this_cloud(peers, block)).body
        exec(compile(ast.Module(statements, []), "docs/leaderboard-schema.md", "exec"), names)
        answer = eval(compile(ast.Expression(last.value), "docs/leaderboard-schema.md", "eval"), names)
        if not isinstance(answer, list):
            answer = answer["Items"] if "Items" in answer else [answer["Item"]]
        answers.append(answer)
    check_documented(peers, answers)


def boto3_submits(peers: Peers) -> None:
    name = "pt-25/second-listen/cross_validated.json"
    with peers.demo_file(name).open("rb") as file:
        peers.s3.upload_fileobj(file, "submissions", "speech-selection/pt-25/zoe/zoë ü.json")
    [key] = peers.receipt_keys("speech-selection/pt-25/zoe/", 1)
    receipt = json.loads(peers.s3.get_object(Bucket="results", Key=key)["Body"].read())
    expect(abs(receipt["score"] - peers.expected(name)) < 1e-9, receipt)
    pages = peers.s3.get_paginator("list_objects_v2").paginate(Bucket="submissions", PaginationConfig={"PageSize": 3})
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    expect("speech-selection/pt-25/zoe/zoë ü.json" in keys and len(keys) == len(set(keys)) > 6, keys)


def boto3_uses_a_presigned_link(peers: Peers) -> None:
    [key] = peers.receipt_keys("speech-selection/en-25/ada/", 1)
    link = peers.s3.generate_presigned_url("get_object", Params={"Bucket": "results", "Key": key}, ExpiresIn=60)
    with urllib.request.urlopen(link) as answer:
        expect(json.loads(answer.read())["submitter"] == "ada", link)


def boto3_gets_the_usual_errors(peers: Peers) -> None:
    def code(call, **parameters) -> str:
        try:
            call(**parameters)
        except botocore.exceptions.ClientError as error:
            return error.response["Error"]["Code"]
        return "none"

    stranger = boto3.client("s3", aws_access_key_id="local", aws_secret_access_key="wrong")
    dynamodb = boto3.client("dynamodb")
    found = [
        code(peers.s3.get_object, Bucket="results", Key="nowhere"),
        code(peers.s3.get_object, Bucket="no-such-bucket", Key="nowhere"),
        code(peers.s3.put_object, Bucket="results", Key=peers.receipt_keys("speech-selection/en-25/ada/", 1)[0], Body=b"", IfNoneMatch="*"),
        code(stranger.list_objects_v2, Bucket="results"),
        code(dynamodb.query, TableName="nowhere", KeyConditionExpression="pk = :a", ExpressionAttributeValues={":a": {"S": "a"}}),
    ]
    expect(found == ["NoSuchKey", "NoSuchBucket", "PreconditionFailed", "SignatureDoesNotMatch", "ResourceNotFoundException"], found)


def cli_invokes_a_function(peers: Peers) -> None:
    """The sweep, started as docs/operations.md does it."""
    command = ["lambda", "invoke", "--function-name", "caretaker", "--invocation-type", "Event", "--endpoint-url", peers.endpoints["Lambda"]]
    event = ["--cli-binary-format", "raw-in-base64-out", "--payload", '{"source": "aws.events"}']
    try:
        answer = peers.aws_json(*command, *event, peers.scratch / "answer")
    except Failed:  # version 1 of the command line takes payloads as they are
        answer = peers.aws_json(*command, *event[2:], peers.scratch / "answer")
    expect(answer["StatusCode"] == 202, answer)


def a_submitter_sends_the_form_that_the_command_prints(peers: Peers) -> None:
    forms = peers.dataperf("submitter", "add", "wilma", "speech-selection", "-l", "en-60", *peers.on_this_cloud())
    form = forms[0]["form"]
    fields = [argument for name, value in form["fields"] for argument in ("-F", f"{name}={value}")]
    file = peers.demo_file("en-60/coin-flip/random.json")
    subprocess.run(["curl", "-sS", "--fail-with-body", *fields, "-F", f"file=@{file}", form["url"]], check=True, capture_output=True)
    [key] = peers.receipt_keys("speech-selection/en-60/wilma/", 1)
    receipt = json.loads(peers.s3.get_object(Bucket="results", Key=key)["Body"].read())
    expect(abs(receipt["score"] - peers.expected("en-60/coin-flip/random.json")) < 1e-9, receipt)


def what_failed_is_evaluated_again(peers: Peers) -> None:
    peers.dataperf("redrive", "--all-failed", *peers.on_this_cloud())
    began = time.monotonic()
    while True:
        [key] = peers.receipt_keys("speech-selection/en-25/early/", 1)
        receipt = json.loads(peers.s3.get_object(Bucket="results", Key=key)["Body"].read())
        if receipt["status"] == "scored":
            return
        expect(time.monotonic() - began < PATIENCE_SECONDS, receipt)
        time.sleep(0.2)


CHECKS = (
    failed_while_the_data_set_is_missing,
    publish,
    cli_copies_a_submission_and_its_receipt,
    python_checks_the_signature,
    cli_syncs_many,
    cli_copies_empty_files,
    cli_uploads_in_parts,
    cli_lists_versions,
    a_round_is_published_and_scored_again,
    cli_runs_the_documented_queries,
    boto3_runs_the_documented_queries,
    boto3_submits,
    boto3_uses_a_presigned_link,
    boto3_gets_the_usual_errors,
    cli_invokes_a_function,
    a_submitter_sends_the_form_that_the_command_prints,
    what_failed_is_evaluated_again,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    args = parser.parse_args()
    n_failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        peers = Peers(args.root, args.bin, Path(scratch))
        try:
            print(subprocess.run(["aws", "--version"], capture_output=True, text=True, check=True).stdout.strip(), "boto3", boto3.__version__)
            for check in CHECKS:
                began = time.monotonic()
                try:
                    check(peers)
                    outcome = "passed"
                except Exception as error:  # every check is run, whatever became of the one before
                    n_failed += 1
                    outcome = f"FAILED: {type(error).__name__}: {error}"
                print(f"{check.__name__:42} {time.monotonic() - began:6.1f} s  {outcome}", flush=True)
        finally:
            peers.stop()
    print(f"{len(CHECKS)} checks, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())

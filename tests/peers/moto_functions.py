"""The stack's functions, run where moto can't: a Lambda endpoint before the built binaries, and the triggers of the uploads' bucket."""

import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from moto_judge import PATIENCE_SECONDS, Runtime

ATTEMPTS = 3  # as Lambda, with the two retries of the template
POLL_SECONDS = 0.1


class Function:
    """One function of the stack, in the environment that the template gives it."""

    def __init__(self, binary: Path, configuration: dict, environment: dict[str, str], log: Path):
        self.runtime, self.lock, self.log = Runtime(), threading.Lock(), log
        own = {name: str(value) for name, value in configuration["Environment"]["Variables"].items()}
        told = {
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.runtime.server.server_port}", "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_FUNCTION_NAME": configuration["FunctionName"], "AWS_LAMBDA_LOG_STREAM_NAME": "s",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(configuration["MemorySize"]),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{configuration['FunctionName']}",
        }
        with log.open("wb") as out:
            self.process = subprocess.Popen([binary], env=environment | own | told, stdout=out)

    def call(self, event: dict) -> tuple[str, dict]:
        """`response` and the answer, or `error` and what it says."""
        with self.lock:
            self.runtime.events.put(event)
            return self.runtime.answers.get(timeout=PATIENCE_SECONDS)


class Functions:
    def __init__(self, session, binaries: Path, environment: dict[str, str], scratch: Path, name: str):
        self.client, self.s3, self.logs = session.client("lambda"), session.client("s3"), session.client("logs")
        self.binaries, self.environment, self.scratch, self.name = binaries, environment, scratch, name
        self.running: dict[str, Function] = {}
        self.lock = threading.Lock()
        self.concurrency = 1000  # of the account
        self.invoked: list[tuple[str, dict, str, dict]] = []  # function, event, `response` or `error`, answer
        self.triggers: list[tuple[str, str]] = []  # what the key begins with, function
        self.seen: set[tuple[str, str]] = set()
        self.stopped = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(functions) -> type:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # GetAccountSettings, which moto doesn't know
                limit = {"ConcurrentExecutions": functions.concurrency, "UnreservedConcurrentExecutions": functions.concurrency}
                self.answer(200, json.dumps({"AccountLimit": limit}).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                named = re.fullmatch(r"/2015-03-31/functions/([^/]+)/invocations", self.path)
                try:
                    functions.client.get_function(FunctionName=named[1])
                except functions.client.exceptions.ResourceNotFoundException as error:
                    return self.answer(404, json.dumps({"Message": str(error)}).encode(), {"x-amzn-errortype": "ResourceNotFoundException"})
                event = json.loads(body)
                if self.headers["x-amz-invocation-type"] == "Event":
                    threading.Thread(target=functions.call_until_done, args=(named[1], event), daemon=True).start()
                    return self.answer(202, b"")
                return self.answer(200, json.dumps(functions.call(named[1], event)[1]).encode())

            def answer(self, status: int, body: bytes, headers: dict | None = None) -> None:
                self.send_response(status)
                for name, value in {**(headers or {}), "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def call(self, function: str, event: dict) -> tuple[str, dict]:
        with self.lock:
            if function not in self.running:
                configuration = self.client.get_function_configuration(FunctionName=function)
                binary = function.removeprefix(f"{self.name}-")
                log = self.scratch / f"{binary}.log"
                self.running[function] = Function(self.binaries / binary, configuration, self.environment, log)
        kind, answer = self.running[function].call(event)
        self.invoked.append((function, event, kind, answer))
        return kind, answer

    def watch(self, template: dict, bucket: str) -> None:
        """Calls functions for what is uploaded, by the bucket's notifications in the template: moto's CloudFormation drops them."""
        notifications = template["Resources"]["SubmissionsBucket"]["Properties"]["NotificationConfiguration"]
        for trigger in notifications["LambdaConfigurations"]:
            [rule] = trigger["Filter"]["S3Key"]["Rules"]
            function = template["Resources"][trigger["Function"]["Fn::GetAtt"][0]]["Properties"]["FunctionName"]["Fn::Sub"]
            self.triggers.append((rule["Value"], function.replace("${Name}", self.name)))
        self.deliveries = threading.Thread(target=self.deliver, args=(bucket,), daemon=True)
        self.deliveries.start()

    def deliver(self, bucket: str) -> None:
        while not self.stopped.wait(POLL_SECONDS):
            for version in self.s3.list_object_versions(Bucket=bucket).get("Versions", []):
                key, id = version["Key"], version["VersionId"]
                if (key, id) not in self.seen:
                    self.seen.add((key, id))
                    threading.Thread(target=self.upload, args=(bucket, key, id), daemon=True).start()

    def upload(self, bucket: str, key: str, version: str) -> None:
        event = {"Records": [{
            "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": "2026-03-01T12:00:00.250Z",
            "eventName": "ObjectCreated:Put", "userIdentity": {}, "requestParameters": {}, "responseElements": {},
            "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket}, "object": {"key": key, "versionId": version, "sequencer": "0"}},
        }]}
        [function] = [function for prefix, function in self.triggers if key.startswith(prefix)]
        self.call_until_done(function, event)

    def call_until_done(self, function: str, event: dict) -> None:
        """As Lambda calls asynchronously; what fails for good comes to the caretaker, as from the failures queue."""
        for _ in range(ATTEMPTS):
            kind, answer = self.call(function, event)
            if kind == "response":
                return
        record = {
            "version": "1.0", "requestContext": {"requestId": "r-1", "condition": "RetriesExhausted"},
            "requestPayload": event, "responsePayload": answer,
        }
        message = {"messageId": "m", "eventSource": "aws:sqs", "body": json.dumps(record)}
        self.call(f"{self.name}-caretaker", {"Records": [message]})

    def ship_logs(self) -> None:
        """Puts what the functions have logged into the stack's log groups, as Lambda does."""
        for name, function in self.running.items():
            lines = [line for line in function.log.read_text().splitlines() if line]
            group = f"/aws/lambda/{name}"
            self.logs.create_log_stream(logGroupName=group, logStreamName="s")
            now = 1_000 * int(os.path.getmtime(function.log))
            self.logs.put_log_events(logGroupName=group, logStreamName="s", logEvents=[{"timestamp": now, "message": line} for line in lines])

    def stop(self) -> None:
        self.stopped.set()
        self.deliveries.join()
        for function in self.running.values():
            function.process.kill()
            function.process.wait()

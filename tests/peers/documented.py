"""Commands of a document, statement by statement, in one bash that keeps its variables and functions as a reader's does."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from select import select

PATIENCE_SECONDS = 120
# Reads statements that end with a zero byte, and says the exit code of each.
LOOP = """while IFS= read -r -d "" statement <&$FROM_TEST; do
    eval "$statement" </dev/null >"$SCRATCH/stdout" 2>"$SCRATCH/stderr"
    echo $? >&$TO_TEST
done"""
# Stands before the real command line: a failure inside of `$(...)` or a condition is invisible in an exit code. For SQS version 1
# of the command line would not go where the environment says, but to a host name of old.
AWS = """#!{python} -IS
import json, os, socket, sys, tempfile
there = ["--endpoint-url", os.environ["AWS_ENDPOINT_URL"]] if sys.argv[1] == "sqs" else []
with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, socket.socket(socket.AF_UNIX) as server:
    server.connect("{server}")
    said = json.dumps([[*there, *sys.argv[1:]], dict(os.environ)]).encode()
    socket.send_fds(server, [said], [os.open(".", os.O_RDONLY), out.fileno(), err.fileno()])
    code = int(server.recv(100))
    told = [file.seek(0) or file.read() for file in (out, err)]
sys.stdout.buffer.write(told[0])
sys.stderr.buffer.write(told[1])
with open("{calls}", "a") as calls:
    calls.write(json.dumps([sys.argv[1:], code, *(text.decode() for text in told)]) + "\\n")
sys.exit(code)
"""


@dataclass
class Call:
    """One run of the AWS command line."""

    arguments: list[str]
    code: int
    stdout: str
    stderr: str

    def fault(self) -> str | None:
        command = "aws " + " ".join(self.arguments)
        if self.code:
            return f"`{command}` exits with {self.code}: {self.stderr.strip()}"
        is_text = "text" in self.arguments and "--output" in self.arguments
        if is_text and self.stdout.strip() in ("", "None"):
            return f"`{command}` finds nothing"
        return None


@dataclass
class Ran:
    """What became of a statement."""

    statement: str
    code: int
    stdout: str
    stderr: str
    calls: list[Call]

    def faults(self) -> list[str]:
        faults = [fault for call in self.calls if (fault := call.fault())]
        if self.code and not faults:
            faults.append(f"exit code {self.code}: {(self.stderr or self.stdout).strip()[-2000:]}")
        return faults


def statements(text: str) -> list[str]:
    """The statements of every `sh` block, one by one, in order."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        pending = ""
        for line in block.splitlines(keepends=True):
            pending += line
            if not line.endswith("\\\n") and is_whole(pending):
                found.append(pending.strip())
                pending = ""
        if pending.strip():
            sys.exit(f"error: bash does not understand `{pending}`")
    return found


def is_whole(text: str) -> bool:
    return subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False).returncode == 0


class Shell:
    def __init__(self, scratch: Path, environment: dict[str, str]):
        self.scratch, self.work = scratch, scratch / "work"
        self.work.mkdir()
        self.calls_path = scratch / "calls"
        self.calls_path.touch()
        self.programs = scratch / "bin"
        self.programs.mkdir()
        server = scratch / "aws.socket"
        self.server = subprocess.Popen([sys.executable, Path(__file__).with_name("aws_server.py"), server])
        began = time.monotonic()
        while not server.exists():
            if time.monotonic() - began > PATIENCE_SECONDS:
                raise TimeoutError("the AWS command line does not start")
            time.sleep(0.1)
        self.add_program("aws", AWS.format(python=sys.executable, server=server, calls=self.calls_path))
        from_test, self.to_shell = os.pipe()
        self.from_shell, to_test = os.pipe()
        mine = {"FROM_TEST": str(from_test), "TO_TEST": str(to_test), "SCRATCH": str(scratch), "PATH": f"{self.programs}:{os.environ['PATH']}"}
        self.process = subprocess.Popen(
            ["bash", "--norc", "-c", LOOP], cwd=self.work, env=environment | mine, pass_fds=(from_test, to_test), start_new_session=True
        )
        os.close(from_test)
        os.close(to_test)

    def add_program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def run(self, statement: str) -> Ran:
        if self.process.poll() is not None:
            raise TimeoutError("not tried: a command before had no end")
        n_before = len(self.calls())
        os.write(self.to_shell, statement.encode() + b"\0")
        ready, _, _ = select([self.from_shell], [], [], PATIENCE_SECONDS)
        if not ready:
            self.stop()
            raise TimeoutError(f"no end after {PATIENCE_SECONDS} s: {(self.scratch / 'stderr').read_text()[-2000:]}")
        code = int(os.read(self.from_shell, 100))
        told = [(self.scratch / name).read_text() for name in ("stdout", "stderr")]
        return Ran(statement, code, *told, self.calls()[n_before:])

    def calls(self) -> list[Call]:
        return [Call(*json.loads(line)) for line in self.calls_path.read_text().splitlines()]

    def stop(self) -> None:
        """With everything that a statement without an end has started."""
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.server.kill()
        self.server.wait()

"""The whole cloud on this machine, for as long as a peer needs it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def local_cloud(program: Path, data_dir: Path, *options: str, cores: str | None = None) -> Iterator[dict]:
    """`dataperf local` on free ports, as what it says of itself; on some cores only, where they are named."""
    ports = [word for name in ("s3", "dynamodb", "lambda", "http", "images") for word in (f"--{name}-port", "0")]
    pinned = ["taskset", "-c", cores] if cores else []
    command = [*pinned, program, "--format", "json", "local", "--data-dir", data_dir, *ports, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        for line in process.stdout:
            text += line
            if line == "}\n":
                break
        else:
            sys.exit("error: `dataperf local` did not start")
        yield json.loads(text)
    finally:
        process.terminate()
        process.wait(timeout=60)

#!/usr/bin/env python3
"""Run every command of docs/host.md, word for word and in order, against `dataperf local`."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from checks import Checks
from local_cloud import local_cloud

DOCUMENT = "docs/host.md"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--bin", required=True, type=Path)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        data_dir = Path(scratch) / "cloud"
        with local_cloud(args.bin / "dataperf", data_dir) as cloud:
            env = dict(os.environ, PATH=f"{args.bin}:{Path(sys.executable).parent}:{os.environ['PATH']}")
            # `--local` in the document stands for the default ports; here they are free ones
            options = " ".join(f"--{name}-endpoint {cloud[name]}" for name in ("s3", "dynamodb", "lambda"))
            # blocks whole: some have a document between their commands
            for block in re.findall(r"^```sh\n(.*?)^```$", (args.root / DOCUMENT).read_text(), flags=re.MULTILINE | re.DOTALL):
                command = "set -e\n" + block.replace("--local", options)
                ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env, cwd=scratch, check=False)
                first = [line for line in block.splitlines() if line.startswith("dataperf ")] or block.splitlines()
                first = first[0]
                checks(f"`{first[:100]}`", ran.returncode == 0, (ran.stderr or ran.stdout)[-1500:] if ran.returncode else "")
            for task, board, round_id in [("selection", "my-digits-50", "digits-autumn"), ("debugging", "my-tissue", "open"), ("selection", "my-wine-9", "wine-autumn")]:
                url = f"{cloud['page']}/api/v1/benchmarks/{task}/leaderboards/{board}?round={round_id}"
                with urllib.request.urlopen(url) as answer:
                    rows = json.load(answer)["rows"]
                checks(f"{task} {board} has rows with scores", bool(rows) and all(row["score"] is not None for row in rows), len(rows))
    print(f"{checks.n - len(checks.failed)} of {checks.n} hold")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Time `dataperf score` and the reference, scikit-learn 1.2.2 and XGBoost 1.7.6, as whole processes in turn.

Data of the paper's size is made in the public layout, from fixed seeds; the first run of each program warms the page
cache and isn't counted. Of each figure the median is printed, and whether the scores are equal. Nothing fails because it
is slow: this measures, on a machine that should do nothing else meanwhile.

For Debugging for Vision the reference would take hours: some of its fits are timed, spread over an order's steps, and
multiplied by the steps. `dataperf score` does the whole submission there.

`cloud` has no reference: it is how long a submission to Selection for Vision on `dataperf local`, to a pool of a million, takes from the upload to the
verdict, of images that the warm function has read before and of images that it has not. After the verdict the function waits for the board's comparison.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from local_cloud import local_cloud

BENCHMARKS = {"speech": "speech-selection", "vision": "vision-selection", "acquisition": "data-acquisition", "debugging": "vision-debugging"}
N_TASKS, N_STEPS = 8, 300  # of Debugging for Vision
N_POOL = 1_000_000  # of `cloud`


def timed(*command: object) -> tuple[bytes, dict[str, float]]:
    """What a process prints, and its wall time, processor time (s) and peak memory (MB)."""
    began = time.perf_counter()
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    printed = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    wall, child.returncode = time.perf_counter() - began, os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"error: {command} ended with {child.returncode}:\n{printed.decode()}")
    return printed, {"wall": wall, "cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1024}


def data(*command: object) -> tuple[bytes, dict[str, float]]:
    return timed(sys.executable, Path(__file__).with_name("speed_data.py"), *command)


def median(runs: list[dict[str, float]], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def show(name: str, runs: list[dict[str, float]]) -> None:
    wall, cpu, memory = (median(runs, key) for key in ("wall", "cpu", "memory"))
    print(f"  {name:<28} wall {wall:8.3f} s   cpu {cpu:8.3f} s   peak {memory:6.0f} MB", flush=True)


class Program:
    def __init__(self, path: Path, benchmark: str):
        self.path, self.benchmark = path, benchmark

    def frozen(self, root: Path, out: Path) -> None:
        show(f"{self.benchmark}: import", [timed(self.path, "--format", "json", "dataset", "import", self.benchmark, "--from", root, "--out", out)[1]])

    def score(self, frozen: Path, artifact: Path) -> tuple[bytes, dict[str, float]]:
        board = "en-60" if self.benchmark == "speech-selection" else "open"
        return timed(self.path, "--format", "json", "score", self.benchmark, "-l", board, "-d", frozen, artifact)


def in_turn(program: Program, root: Path, frozen: Path, rounds: int) -> None:
    program.frozen(root, frozen)
    artifact = next(root.glob("*.json"))
    ours, theirs, equal = [], [], True
    for _ in range(rounds + 1):
        reference, used = data("score", program.benchmark, root, artifact)
        theirs.append(used)
        verdict, used = program.score(frozen, artifact)
        ours.append(used)
        equal &= abs(json.loads(reference)["score"] - json.loads(verdict)["score"]) <= 1e-9
    ours, theirs = ours[1:], theirs[1:]
    show("reference", theirs)
    show("dataperf score", ours)
    wall, cpu = (median(theirs, key) / median(ours, key) for key in ("wall", "cpu"))
    print(f"  {wall:.0f} times faster, {cpu:.0f} times less processor time; scores {'equal' if equal else 'DIFFER'}\n", flush=True)


def debugging(program: Program, root: Path, scratch: Path, rounds: int) -> None:
    for extent in ("whole", "until_target"):
        (root / "curves.txt").write_text(extent + "\n")
        frozen = scratch / extent
        program.frozen(root, frozen)
        for artifact in sorted(root.glob("*.json")):
            fit = statistics.median(json.loads(data("fits", root, artifact)[0]))
            ours = [program.score(frozen, artifact)[1] for _ in range(rounds + 1)][1:]
            show(f"{extent}, {artifact.stem} order", ours)
            task = median(ours, "wall") / N_TASKS
            times = fit * N_STEPS / task
            print(f"    XGBoost {fit:.2f} s a fit, {fit * N_STEPS:.0f} s a task; dataperf {task:.2f} s a task: {times:.0f} times\n", flush=True)


def cloud(program: Program, root: Path, scratch: Path) -> None:
    frozen, artifacts = scratch / "frozen", sorted(root.glob("*.json"))
    program.frozen(root, frozen)
    with local_cloud(program.path, scratch / "cloud", "--concurrency", "1") as addresses:
        here = ["--s3-endpoint", addresses["s3"], "--dynamodb-endpoint", addresses["dynamodb"]]
        timed(program.path, "dataset", "publish", frozen, *here)

        metrics = urllib.request.Request(addresses["page"] + "/metrics.json", headers={"Authorization": f"Bearer {addresses['secret_key']}"})

        def function() -> dict:
            with urllib.request.urlopen(metrics) as answer:
                return json.load(answer)["functions"].get(program.benchmark, {"warm": {"n": 0}, "metrics": {}})

        def until_the_verdict(measured: dict) -> float:
            return measured["metrics"].get("UploadToVerdictSeconds", {"sum": 0})["sum"]

        def submit(submitter: str, artifact: Path) -> None:
            timed(program.path, "submit", program.benchmark, "-l", "open", "-s", submitter, artifact, *here)

        def seconds(submitter: str, artifact: Path) -> float:
            before = function()
            submit(submitter, artifact)
            while (after := function())["warm"]["n"] == before["warm"]["n"]:
                time.sleep(0.01)  # the verdict is there before the function has compared the board, which it may wait for
            return until_the_verdict(after) - until_the_verdict(before)

        submit("cold", artifacts.pop())
        time.sleep(2)  # until the function has compared the board
        times = [(seconds("first", artifact), seconds("second", artifact)) for artifact in artifacts]
        for images, runs in zip(("images never read before", "images read before"), map(sorted, zip(*times))):
            middle, least, most = (1e3 * run for run in (statistics.median(runs), runs[0], runs[-1]))
            print(f"  {images:<28} {middle:.1f} ms, {least:.1f} to {most:.1f}, of {len(runs)} submissions", flush=True)
        print(f"  {'peak of the function':<28} {function()['peak_memory_kib'] / 1024:.0f} MB\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="the directory of a release build of `dataperf`")
    parser.add_argument("--size", choices=["quick", "full"], default="full", help="how many runs count: 3 or 9")
    parser.add_argument("--only", choices=[*BENCHMARKS, "cloud"], help="one of them instead of all")
    args = parser.parse_args()
    rounds = {"quick": 3, "full": 9}[args.size]
    for name in [args.only] if args.only else [*BENCHMARKS, "cloud"]:
        with tempfile.TemporaryDirectory() as folder:
            scratch, program = Path(folder), Program(args.bin / "dataperf", BENCHMARKS.get(name, "vision-selection"))
            root = scratch / "public"
            root.mkdir()
            data("make", program.benchmark, root, *([N_POOL, 2 + 4 * rounds] if name == "cloud" else []))
            if name == "cloud":
                cloud(program, root, scratch)
            elif name == "debugging":
                debugging(program, root, scratch, rounds)
            else:
                in_turn(program, root, scratch / "frozen", rounds)


if __name__ == "__main__":
    main()

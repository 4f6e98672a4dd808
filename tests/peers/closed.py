#!/usr/bin/env python3
"""Build the programs of examples/closed/ by the commands in their sources, compare them with the modules there, and run them on other engines.

The other engines are V8, by Node's own WASI, and wasmi, an interpreter (wasmi/), on the files that `dataperf closed data` writes. They have to write
the very bytes that `dataperf closed run` names the digest of. The programs in Python are run as well, and have to beat chance as the modules do; and every
command of docs/closed-division.md, on a local cloud.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import Checks
from local_cloud import local_cloud

DOCUMENT = "docs/closed-division.md"

# with which the modules were built; other versions of rustc build other bytes
RUSTC = "rustc 1.95.0"
# of each stem the benchmark, the leaderboard, and what goes by chance there
EXAMPLES = {
    "selection": ("selection", "digits-20", "random"),
    "speech_selection": ("speech-selection", "en-25", "random"),
    "debugging": ("debugging", "tissue", "random"),
    "acquisition": ("acquisition", "clinics", "random-seller"),
}
# programs that answer texts; a round is written for them
TEXTS = ["text_constant.rs", "text_overlap.rs"]
LESS_IS_BETTER = ["debugging"]
# prints what the module writes to standard output
ON_V8 = """
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const [module, data] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: ['program'], preopens: { '/data': data }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(module), wasi.getImportObject());
process.exitCode = wasi.start(instance);
"""


def build(source: Path) -> str:
    """Runs the command in the beginning of the source, and says which file it made."""
    head = source.read_text()[:600].replace("\\\n//!", "")
    command = re.search(r"(rustc|zig cc) .*? (\S+\.(?:rs|c))\b", head)[0]
    words = command.split()
    if words[0] == "zig":
        words[:1] = [sys.executable, "-m", "ziglang"]
    subprocess.run(words, check=True, cwd=source.parent)
    return words[words.index("-o") + 1]


def of_texts(checks, args, sources: Path, scratch: Path, is_same_compiler: bool) -> None:
    """The programs that answer texts: built to the bytes that are there, and the same answers on other engines."""
    examples, data, round_1 = args.root / "examples" / "closed", scratch / "texts-data", scratch / "round-1"
    round_1.mkdir()
    context = "In 1950 Ada saw a \"horse\" in \u00c5rhus."
    row = {"id": "0" * 32, "round": "round-1", "annotator": "a", "is_fooling": True, "is_verified": True, "split": "test"}
    rows = [
        {**row, "task": "nli", "context": context, "text": "Ada never saw a horse.", "label": "contradiction"},
        {**row, "task": "qa", "context": context, "text": "Who saw the animal?", "answer": {"start": 8, "text": "Ada"}},
        {**row, "task": "sentiment", "text": "I would call it wonderful.", "label": "positive"},
        {**row, "task": "hate-speech", "text": "All of them are vermin.", "label": "hateful"},
    ]
    (round_1 / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = [args.bin / "dataperf", "--format", "json", "dynamic", "models", "--round", round_1]
    subprocess.run([*models, "--data", data], check=True)
    for name in TEXTS:
        made = build(sources / name)
        there, here = (examples / made).read_bytes(), (sources / made).read_bytes()
        if is_same_compiler:
            checks(f"{made} is what its source is built to", here == there, f"{len(here)} bytes, {len(there)} in the repository")
        ran = subprocess.run([*models, "--program", examples / made], capture_output=True, text=True, check=False)
        checks(f"{made} is compared", ran.returncode == 0, ran.stderr[-1000:])
        engines = {"V8": ["node", "--no-warnings", scratch / "on_v8.mjs"], "wasmi": [args.wasmi]}
        written = {engine: subprocess.run([*command, examples / made, data], capture_output=True, check=True).stdout for engine, command in engines.items()}
        output = json.loads(ran.stdout)["runs"][0]["output"]
        for engine, answers in written.items():
            checks(f"{made} writes the same on {engine}", output == f"sha256:{hashlib.sha256(answers).hexdigest()}")


def by_chance(dataperf, benchmark: str, board: str, method: str, frozen: Path, scratch: Path) -> float:
    """The mean score of what is made by chance a few times."""
    scores = []
    for seed in range(10):
        artifact = scratch / f"{benchmark}-random-{seed}.json"
        dataperf("baseline", method, "--dataset", frozen, "--leaderboard", board, "--seed", str(seed), "--out", artifact)
        scores.append(dataperf("score", benchmark, "--leaderboard", board, "--dataset", frozen, artifact)["score"])
    return sum(scores) / len(scores)


def has_bubblewrap() -> bool:
    try:
        return subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def in_python(checks, dataperf, args, frozen: dict, scratch: Path) -> None:
    """The programs in Python: valid, better than chance, and what the modules choose."""
    if not has_bubblewrap():
        print("         programs in Python are NOT tried: bubblewrap is missing, or the kernel gives it no namespaces")
        return
    for stem, (benchmark, board, method) in EXAMPLES.items():
        program = args.root / "examples" / "closed" / f"{stem}.py"
        run = dataperf("closed", "run", program, "--python", sys.executable, "--leaderboard", board, "--dataset", frozen[benchmark])
        is_scored = isinstance(run, dict) and run["status"] == "scored"
        checks(f"{program.name} is scored", is_scored, run["score"] if is_scored else run)
        if is_scored:
            chance = by_chance(dataperf, benchmark, board, method, frozen[benchmark], scratch)
            beats = run["score"] < chance if benchmark in LESS_IS_BETTER else run["score"] > chance
            checks(f"{program.name} beats chance", beats, f"{run['score']:.4f} and {chance:.4f}")
            module = dataperf("closed", "run", args.root / "examples" / "closed" / f"{stem}-c.wasm", "--leaderboard", board, "--dataset", frozen[benchmark])
            checks(f"{program.name} scores as the module does", abs(run["score"] - module["score"]) < 0.02, f"{run['score']} and {module['score']}")


def documented(checks, args, scratch: Path, has_target: bool) -> None:
    """Every command of the document, in order, but that what is submitted follows the round that takes it."""
    text = (args.root / DOCUMENT).read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    is_submitted = lambda block: block.startswith("dataperf submit")
    blocks = [block for block in blocks if not is_submitted(block)] + [block for block in blocks if is_submitted(block)]
    here = scratch / "reader"
    here.mkdir()
    for name in ("examples", "demo"):
        (here / name).symlink_to(args.root / name)
    with local_cloud(args.bin / "dataperf", scratch / "cloud") as cloud:
        env = dict(os.environ, PATH=f"{args.bin}:{Path(sys.executable).parent}:{os.environ['PATH']}", DATAPERF_CLOUD=cloud["page"])
        for block in blocks:
            if ".py" in block and not has_bubblewrap():
                print(f"         not run, without bubblewrap: {block.strip()}")
                continue
            if "rustc" in block and not has_target:
                print("         not run, wasm32-wasip1 is not installed: " + block.splitlines()[-1])
                continue
            ran = subprocess.run(["bash", "-c", "set -e\n" + block], capture_output=True, text=True, env=env, cwd=here, check=False)
            checks(f"`{block.splitlines()[-1][:100]}`", ran.returncode == 0, (ran.stderr or ran.stdout)[-1500:] if ran.returncode else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--wasmi", required=True, type=Path)
    args = parser.parse_args()
    checks = Checks()
    examples = args.root / "examples" / "closed"
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    library = subprocess.run(["rustc", "--print", "target-libdir", "--target", "wasm32-wasip1"], capture_output=True, text=True, check=True)
    has_target = Path(library.stdout.strip()).is_dir()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        sources = shutil.copytree(examples, scratch / "sources", ignore=shutil.ignore_patterns("*.wasm"))
        (scratch / "on_v8.mjs").write_text(ON_V8)

        def dataperf(*words):
            ran = subprocess.run([args.bin / "dataperf", "--format", "json", *words], capture_output=True, text=True, check=False)
            return json.loads(ran.stdout) if ran.stdout else ran.stderr

        all_frozen = {}
        for stem, (benchmark, board, _) in EXAMPLES.items():
            frozen, data = scratch / benchmark, scratch / f"{benchmark}-data"
            all_frozen[benchmark] = frozen
            dataperf("dataset", "import", benchmark, "--from", args.root / "demo" / benchmark, "--out", frozen)
            dataperf("closed", "data", "--leaderboard", board, "--dataset", frozen, "--out", data)
            for name in (f"{stem}.rs", f"{stem}.c"):
                if name.endswith(".rs") and not has_target:
                    print(f"         {name} is not built anew: wasm32-wasip1 is not installed")
                    continue
                made = build(sources / name)
                there, here = (examples / made).read_bytes(), (sources / made).read_bytes()
                if name.endswith(".c") or rustc.startswith(RUSTC):
                    checks(f"{made} is what its source is built to", here == there, f"{len(here)} bytes, {len(there)} in the repository")
                else:
                    print(f"         {made} was built with {RUSTC}, here is {rustc.strip()}: only what it writes is compared")
                for module in (examples / made, sources / made):
                    run = dataperf("closed", "run", module, "--leaderboard", board, "--dataset", frozen)
                    checks(f"{module.name} is scored", run["status"] == "scored", run.get("score"))
                    engines = {"V8": ["node", "--no-warnings", scratch / "on_v8.mjs"], "wasmi": [args.wasmi]}
                    for engine, command in engines.items():
                        other = subprocess.run([*command, module, data], capture_output=True, check=True)
                        checks(f"{module.name} writes the same on {engine}", run["run"]["output"] == f"sha256:{hashlib.sha256(other.stdout).hexdigest()}")
        if has_target:
            of_texts(checks, args, sources, scratch, rustc.startswith(RUSTC))
        in_python(checks, dataperf, args, all_frozen, scratch)
        documented(checks, args, scratch, has_target)
    print(f"{checks.n - len(checks.failed)} of {checks.n} hold")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())

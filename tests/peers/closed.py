#!/usr/bin/env python3
"""Build the programs of examples/closed/ by the commands in their sources, compare them with the modules there, and run them on another engine.

The other engine is V8, by Node's own WASI, on the files that `dataperf closed data` writes. It has to write the very bytes that `dataperf
closed run` names the digest of.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import Checks

# with which the modules were built; other versions of rustc build other bytes
RUSTC = "rustc 1.95.0"
EXAMPLES = {
    "selection": ("selection", "digits-20", ["selection.rs", "selection.c"]),
    "speech_selection": ("speech-selection", "en-25", ["speech_selection.rs", "speech_selection.c"]),
}
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--bin", required=True, type=Path)
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

        for benchmark, board, names in EXAMPLES.values():
            frozen, data = scratch / benchmark, scratch / f"{benchmark}-data"
            dataperf("dataset", "import", benchmark, "--from", args.root / "demo" / benchmark, "--out", frozen)
            dataperf("closed", "data", "--leaderboard", board, "--dataset", frozen, "--out", data)
            for name in names:
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
                    v8 = subprocess.run(["node", "--no-warnings", scratch / "on_v8.mjs", module, data], capture_output=True, check=True)
                    checks(f"{module.name} writes the same on V8", run["run"]["output"] == f"sha256:{hashlib.sha256(v8.stdout).hexdigest()}")
    print(f"{checks.n - len(checks.failed)} of {checks.n} hold")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Judge the read API and the page of `dataperf demo all --keep-running`: schemathesis by the API's own document, Chromium as a reader."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

EXAMPLES = {"quick": 8, "full": 200}
# Nothing may depend on the machine's speed: a busy one answers late, which is no fault.
PATIENCE_SECONDS = 300
ALL_SECONDS = 3600


class Demo:
    """The demo's cloud, with its page and the organizer's token."""

    def __init__(self, root: Path, program: Path):
        self.program = program
        self.process = subprocess.Popen([program, "demo", "all", "--keep-running"], cwd=root, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if found := re.search(r"(http://\S+)/#token=(\w+)", line):
                self.base, self.token = found.groups()
            if found := re.search(r"--cloud \S+", line):
                self.cloud = found.group().split()
            if line.startswith("Stop with"):
                return
        sys.exit("error: `dataperf demo all` did not start")

    def ask(self, path: str) -> dict:
        request = urllib.request.Request(f"{self.base}/api/v1/benchmarks/{path}", headers={"authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def limit(self, benchmark: str, leaderboard: str, scratch: Path) -> None:
        """Two rounds of a board: one that has closed, and one with a limit that closes long after."""
        rounds = [
            {"id": "past", "leaderboards": [leaderboard], "opens": "2020-01-01T00:00:00Z", "closes": "2020-02-01T00:00:00Z"},
            {"id": "spring", "leaderboards": [leaderboard], "opens": "2020-03-01T00:00:00Z", "closes": "2999-01-01T00:00:00Z", "daily_limit": 3},
        ]
        document = scratch / "rounds.yaml"
        challenge = {"schema": 1, "title": "Spring", "about": "Two rules:\n\n- **One** name for each of you.\n- Be kind.", "benchmarks": {benchmark: {"rounds": rounds}}}
        document.write_text(json.dumps(challenge))
        subprocess.run([self.program, "challenge", "publish", document, *self.cloud], check=True)

    def submitters_token(self, name: str) -> str:
        command = [self.program, "--format", "json", "token", "create", "--submitter", name, *self.cloud]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["token"]

    def audit(self, root: Path, scratch: Path) -> Path:
        """What `dataperf audit` says of the demo's own data set."""
        frozen, found = scratch / "frozen", scratch / "audit.json"
        subprocess.run([self.program, "dataset", "import", "selection", "--from", root / "demo" / "selection", "--out", frozen], check=True, stdout=subprocess.DEVNULL)
        with found.open("w") as out:
            subprocess.run([self.program, "--format", "json", "audit", frozen], check=True, stdout=out)
        return found

    def across(self, scratch: Path) -> Path:
        """What `dataperf leaderboard across` says of two boards in a file."""
        scores, found = scratch / "scores.csv", scratch / "across.json"
        lines = ["selection,a,ada,0.9", "selection,a,bob,0.8", "selection,a,cy,0.1", "selection,b,ada,0.5", "selection,b,bob,0.6", "selection,b,cy,0.4"]
        scores.write_text("\n".join(["benchmark,leaderboard,submitter,score", *lines]))
        with found.open("w") as out:
            subprocess.run([self.program, "--format", "json", "leaderboard", "across", "--scores", scores], check=True, stdout=out)
        return found

    def models(self, root: Path, scratch: Path) -> Path:
        """What `dataperf dynamic models` says of two programs on the demo's rounds."""
        found, demo, programs = scratch / "models.json", root / "demo" / "adversarial-text-models", root / "examples" / "closed"
        rounds = [word for name in ("round-1", "round-2", "round-3") for word in ("--round", demo / name)]
        of_both = [word for name in ("text_overlap", "text_constant") for word in ("--program", programs / f"{name}-rust.wasm")]
        with found.open("w") as out:
            subprocess.run([self.program, "dynamic", "models", *rounds, *of_both, "--format", "json"], check=True, stdout=out)
        return found

    def collect_texts(self, scratch: Path) -> None:
        """A round of Adversarial Text, whose model knows a few words, and a rater of it."""
        lines = [{"task": "sentiment", "text": f"{words} {word}", "label": label} for label, word in (("positive", "lovely"), ("negative", "awful"), ("neutral", "table")) for words in ("a", "such a", "what a")]
        lines += [{"task": "hate-speech", "text": f"{words} {word}", "label": label} for label, word in (("hateful", "despised"), ("not-hateful", "welcome")) for words in ("they are", "you are", "we are")]
        place = "The mill stands by the green river. A road leads to the mill."
        lines += [{"task": "qa", "context": place, "text": f"Where {word} the mill?", "answer": {"start": 16, "text": "by the green river"}} for word in ("is", "stands", "lies")]
        source, out = scratch / "texts", scratch / "texts-frozen"
        (source / "models").mkdir(parents=True)
        examples = scratch / "examples.jsonl"
        examples.write_text("\n".join(map(json.dumps, lines)))
        subprocess.run([self.program, "dynamic", "train", examples, "--out", source / "models" / "r1.json"], check=True, stdout=subprocess.DEVNULL)
        tasks = {task: {"targets": ["r1"]} for task in ("sentiment", "hate-speech", "qa")}
        (source / "configuration.yaml").write_text(json.dumps({"tasks": tasks, "targets": {"r1": {"kind": "linear", "file": "models/r1.json"}}, "languages": []}))
        (source / "contexts.jsonl").write_text(json.dumps({"id": "mill", "task": "qa", "text": place}))
        for command in (["dataset", "import", "adversarial-text", "--from", source, "--out", out], ["dataset", "publish", out, *self.cloud], ["submitter", "add", "rosa", "adversarial-text", "--rater", *self.cloud]):
            subprocess.run([self.program, *command], check=True, stdout=subprocess.DEVNULL)

    def collect_a_pair(self, scratch: Path) -> None:
        """A pair of Adversarial Nibbler that waits for raters, and a rater."""
        prompt = "a red ladder that leans on a red door"
        self.run("submitter", "add", "rosa", "adversarial-nibbler", "--rater", *self.cloud)
        made = self.run("nibbler", "generate", prompt, "--submitter", "di", "--consent", "--images", scratch / "images", "--format", "json", *self.cloud)
        image = json.loads(made)["lines"][0]["images"][0]["id"]
        said = ["--mode", "subversive", "--attack", "visual-similarity", "--rewrite", "what nobody wants to see", "--harm", "violent-or-graphic", "--identity-group", "none"]
        self.run("nibbler", "submit", "--submitter", "di", "--prompt", prompt, "--image", image, *said, *self.cloud)

    def run(self, *command: str | Path) -> str:
        return subprocess.run([self.program, *command], check=True, stdout=subprocess.PIPE, text=True).stdout

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_SECONDS)


def schemathesis(demo: Demo, scratch: Path, size: str, *more: str, parameters: dict[str, str], token: str | None) -> bool:
    """Holds the running function against the document that it serves of itself."""
    lines = [f"base-url = {json.dumps(demo.base)}", f"request-timeout = {PATIENCE_SECONDS}", "[parameters]"]
    lines += [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in parameters.items()]
    config = scratch / "schemathesis.toml"
    config.write_text("\n".join(lines) + "\n")
    command = ["schemathesis", "--config-file", config, "run", f"{demo.base}/openapi.json", "--checks", "all", "--seed", "1", "--no-color"]
    command += ["--max-examples", str(EXAMPLES[size]), "--max-response-time", str(PATIENCE_SECONDS), *more]
    if token:
        command += ["--header", f"Authorization: Bearer {token}"]
    ran = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    print("\n".join(ran.stdout.splitlines()[-400 if ran.returncode else -3 :]), ran.stderr, flush=True)
    return ran.returncode == 0


def openapi(demo: Demo, scratch: Path, size: str) -> bool:
    """All routes as the organizer with anything, then those of one submission with one that exists, as anybody."""
    rows = demo.ask("speech-selection/leaderboards/en-25")["rows"]
    submission = next(row["submission"] for row in rows if not row["is_baseline"])
    one = {"path.benchmark": "speech-selection", "path.submission": submission}
    of_one = ["--include-path-regex", "submission}"]
    return all(
        [
            schemathesis(demo, scratch, size, parameters={}, token=demo.token),
            schemathesis(demo, scratch, size, *of_one, parameters=one, token=demo.token),
            schemathesis(demo, scratch, size, *of_one, parameters=one, token=None),
        ]
    )


def browser(demo: Demo, root: Path, scratch: Path, modules: Path, chromium: str) -> bool:
    environment = os.environ | {"PAGE_BASE": demo.base, "PAGE_TOKEN": demo.token, "PAGE_CHROMIUM": chromium}
    environment |= {"PAGE_SUBMITTER": demo.submitters_token("ada"), "PAGE_RATER": demo.submitters_token("rosa"), "PAGE_DEMO": str(root / "demo"), "PAGE_AUDIT": str(demo.audit(root, scratch)), "PAGE_MODELS": str(demo.models(root, scratch)), "PAGE_ACROSS": str(demo.across(scratch))}
    # Every test ends by itself, with a message; this limit is for all of them, and what happens in between.
    command = ["node", "--test", "--test-reporter", "spec", f"--test-timeout={ALL_SECONDS * 1000}", "--test-force-exit", "page.test.mjs"]
    return subprocess.run(command, cwd=modules, env=environment, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--size", choices=EXAMPLES, required=True)
    parser.add_argument("--modules", type=Path, required=True, help="where playwright-core, axe-core and the test are")
    parser.add_argument("--chromium", required=True)
    args = parser.parse_args()
    began = time.monotonic()
    demo = Demo(args.root, args.bin / "dataperf")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            demo.limit("selection", "digits-20", Path(scratch))
            demo.collect_texts(Path(scratch))
            demo.collect_a_pair(Path(scratch))
            passed = [openapi(demo, Path(scratch), args.size), browser(demo, args.root, Path(scratch), args.modules, args.chromium)]
    finally:
        demo.stop()
    print(f"the read API {'agrees' if passed[0] else 'DIFFERS'}, the page {'works' if passed[1] else 'FAILS'}; {time.monotonic() - began:.0f} s")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Participants' kits of the demo's data sets, as a participant uses them: the starter, the notebook in Jupyter, the data in pandas."""

import argparse
import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pandas as pd

PATIENCE_SECONDS = 600
# A round of Adversarial Text whose models are services, so that it has no model files. Its contexts have quotes, commas and other letters.
TEXTS = {
    "tasks": {task: {"targets": ["far"]} for task in ("nli", "qa", "sentiment", "hate-speech")},
    "targets": {"far": {"kind": "http", "url": "https://models.example/answer"}},
}
CONTEXTS = [
    {"id": "barn-7", "task": "nli", "text": 'The "red" barn, which is old, stands by the road. A horse named Zoë sleeps in it.'},
    {"id": "mill-2", "task": "qa", "text": "The mill stands by the green river. A road leads to the mill."},
]
# What the starter makes a file for, where that is no leaderboard: images are asked for first, and pairs are made of them.
KINDS = {"adversarial-nibbler": ["generate"]}


def run(*command: object, cwd: Path) -> str:
    ran = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def imported(program: str) -> set[str]:
    """The modules that a program imports."""
    names = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


def written(said: str) -> str:
    """The artifact that a starter says it wrote."""
    return re.search(r"wrote (\S+?)[:,]", said).group(1)


class Kit:
    def __init__(self, dataperf: Path, directory: Path, benchmark: str):
        self.dataperf, self.directory, self.benchmark = dataperf, directory, benchmark
        self.n_scored = 0

    def validate(self, board: str, artifact: Path | str) -> None:
        run(self.dataperf, "validate", self.benchmark, "--dataset", ".", "--leaderboard", board, artifact, cwd=self.directory)

    def score(self, board: str, artifact: Path | str) -> float:
        args = ("--format", "json", "score", self.benchmark, "--dataset", ".", "--leaderboard", board, artifact)
        return json.loads(run(self.dataperf, *args, cwd=self.directory))["score"]

    def boards(self) -> list[str]:
        shown = json.loads(run(self.dataperf, "--format", "json", "dataset", "show", ".", cwd=self.directory))
        return [board["name"] for board in shown["leaderboards"]]

    def starter(self) -> None:
        """Makes a valid artifact for every board, with NumPy and the standard library. scikit-learn and XGBoost are used if installed."""
        program = (self.directory / "starter.py").read_text(encoding="utf-8")
        others = imported(program) - set(sys.stdlib_module_names) - {"numpy", "sklearn", "xgboost"}
        assert not others, f"{self.benchmark}: the starter needs {others}"
        for board in KINDS.get(self.benchmark) or self.boards():
            of_board = self.directory / "of-board.py"
            of_board.write_text(re.sub(r"(?m)^LEADERBOARD = .*", f"LEADERBOARD = {board!r}", program), encoding="utf-8")
            # the model of a contest may stop before it converges, of which scikit-learn warns
            allowed = ("-W", "error", "-W", "ignore:lbfgs failed to converge")
            printed = run(sys.executable, *allowed, of_board.name, cwd=self.directory)
            self.validate(board, written(printed))
            score = re.search(r"score on the practice set: (\S+)", printed)
            if score:
                assert abs(float(score.group(1)) - self.score(board, written(printed))) < 1e-9, (self.benchmark, board, printed)
                self.n_scored += 1

    def notebook(self) -> None:
        """Runs from top to bottom, and makes what the starter makes."""
        expected = written(run(sys.executable, "starter.py", cwd=self.directory))
        of_starter = (self.directory / expected).read_bytes()
        (self.directory / expected).unlink()
        notebook = nbformat.read(self.directory / "notebook.ipynb", as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        client = nbclient.NotebookClient(notebook, timeout=PATIENCE_SECONDS, startup_timeout=PATIENCE_SECONDS, kernel_name="python3")
        client.execute(cwd=str(self.directory))
        kinds = {cell.cell_type for cell in notebook.cells}
        assert kinds == {"markdown", "code"}, kinds
        if not expected.endswith(".zip"):  # which has the time in it
            assert (self.directory / expected).read_bytes() == of_starter, self.benchmark

    def data(self) -> int:
        """The Parquet, NumPy and CSV files of a table say the same. Gives how many tables there are."""
        readme = (self.directory / "README.md").read_text(encoding="utf-8")
        tables = re.findall(r"(?m)^\| (\S+) \| (\d+) \| (\d*) \| .* \| (`\S+\.parquet`|.* `\S+\.parquet`) \|$", readme)
        for name, n_rows, width, paths in tables:
            paths = {Path(path).suffix: self.directory / path for path in re.findall(r"`(\S+)`", paths)}
            parquet, csv = pd.read_parquet(paths[".parquet"]), pd.read_csv(paths[".csv"], dtype=str, keep_default_na=False)
            assert len(parquet) == len(csv) == int(n_rows), (self.benchmark, name)
            if ".npy" in paths:
                features = np.load(paths[".npy"], allow_pickle=False)
            if ".npy" in paths and features.dtype.names:  # records of the columns, since rows have no numbers beside them
                assert list(features.dtype.names) == list(csv.columns), (self.benchmark, name)
                for column in csv.columns:
                    given = features[column]
                    other = csv[column].to_numpy().astype(given.dtype)
                    assert given.shape == (int(n_rows),) and (given == other).all(), (self.benchmark, name, column)
            elif ".npy" in paths:
                assert features.shape == (int(n_rows), int(width)), (self.benchmark, name)
                of_parquet = np.stack(parquet["features"].to_numpy())
                assert of_parquet.dtype == features.dtype or features.dtype == np.uint8, (of_parquet.dtype, features.dtype)
                assert (of_parquet == features).all(), (self.benchmark, name)
                parquet = parquet.drop(columns="features")
            assert list(parquet.columns) == list(csv.columns), (self.benchmark, name)
            for column in parquet.columns:
                given, other = parquet[column], csv[column]
                # what is missing is null in Parquet, and empty in CSV
                same = given.astype(object).where(given.notna(), "").astype(str) == other if given.dtype != float else given == other.astype(float)
                assert same.all(), (self.benchmark, name, column)
        return len(tables)


def sources(root: Path, scratch: Path) -> list[tuple[str, Path]]:
    """The benchmarks, each with what its data set is imported from."""
    texts = scratch / "texts"
    texts.mkdir()
    (texts / "configuration.yaml").write_text(json.dumps(TEXTS), encoding="utf-8")
    (texts / "contexts.jsonl").write_text("".join(json.dumps(context, ensure_ascii=False) + "\n" for context in CONTEXTS), encoding="utf-8")
    scored = sorted(path.parent for path in (root / "demo").glob("*/expected_scores.json"))
    nibbler = root / "demo" / "adversarial-nibbler"
    return [(path.name, path) for path in [*scored, nibbler]] + [("adversarial-text", texts)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    args = parser.parse_args()
    dataperf = args.bin.absolute() / "dataperf"
    with tempfile.TemporaryDirectory() as layouts:
        for benchmark, source in sources(args.root, Path(layouts)):
            with tempfile.TemporaryDirectory() as scratch:
                frozen, out = Path(scratch) / "frozen", Path(scratch) / "kit"
                run(dataperf, "dataset", "import", benchmark, "--from", source, "--out", frozen, cwd=args.root)
                run(dataperf, "dataset", "show", frozen, "--public", out, cwd=args.root)
                shutil.rmtree(frozen)  # a participant has the kit alone
                kit = Kit(dataperf, out, benchmark)
                for example in sorted((out / "examples").iterdir()):
                    kit.validate(example.stem, example)
                kit.starter()
                kit.notebook()
                assert kit.n_scored or benchmark != "selection", "the demo of selection has a practice set"
                print(f"{benchmark}: starter, notebook, {kit.data()} tables, {len(kit.boards())} leaderboards", flush=True)


if __name__ == "__main__":
    main()

"""The package against the command itself. `tests/peers/run python` runs it; by hand: `DATAPERF_COMMAND=... python -m unittest`.

Without `DATAPERF_COMMAND` it is the installed package with its own command, which has no cloud on one machine: `DATAPERF_CLOUD_COMMAND`
then names a `dataperf` that has.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python" / "src")] * ("DATAPERF_COMMAND" in os.environ) + [str(ROOT / "tests" / "peers")]

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dataperf import DataperfError, Dataset, Rejected, rank, submit  # noqa: E402
from dataperf._command import program  # noqa: E402
from local_cloud import local_cloud  # noqa: E402

DEMO = ROOT / "demo"


def command(*arguments: object) -> bytes:
    return subprocess.run([program(), "--format", "json", *map(str, arguments)], capture_output=True, check=False).stdout


def artifacts(benchmark: str) -> list[Path]:
    return sorted(path for path in (DEMO / benchmark / "submissions").rglob("*.*") if path.is_file())


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.frozen, cls.kits = {}, {}
        for benchmark in sorted(path.parent.name for path in DEMO.glob("*/expected_scores.json")):
            frozen, kit = (Path(cls.scratch.name) / benchmark / part for part in ("frozen", "kit"))
            command("dataset", "import", benchmark, "--from", DEMO / benchmark, "--out", frozen)
            command("dataset", "show", frozen, "--public", kit)
            cls.frozen[benchmark] = Dataset(frozen)
            cls.kits[benchmark] = Dataset(kit)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_verdicts_are_the_commands_bytes(self):
        n_rejected = 0
        for benchmark, dataset in self.frozen.items():
            for path in artifacts(benchmark):
                board = path.parts[path.parts.index("submissions") + 1]
                expected = command("score", benchmark, "--leaderboard", board, "--dataset", dataset.directory, path)
                try:
                    verdict = dataset.score(board, path)
                    self.assertEqual(verdict.raw, expected, path)
                    self.assertEqual(verdict.score, json.loads(expected)["score"])
                except Rejected as rejected:
                    n_rejected += 1
                    self.assertEqual(rejected.raw, expected, path)
                    reasons = [(reason.code, reason.at, reason.message) for reason in rejected.reasons]
                    self.assertEqual(reasons, [tuple(reason[name] for name in ("code", "at", "message")) for reason in json.loads(expected)["reasons"]])
        self.assertGreater(n_rejected, 0)

    def test_forms_of_one_selection(self):
        dataset = self.frozen["selection"]
        path = next(path for path in artifacts("selection") if path.suffix == ".json" and "ids" in json.loads(path.read_text()))
        board, ids = path.parts[path.parts.index("submissions") + 1], json.loads(path.read_text())["ids"]
        expected = dataset.score(board, path).score
        for form in (ids, tuple(ids), np.array(ids), {"ids": ids}, {"ids": np.array(ids)}, pd.DataFrame({"id": ids}), path.read_bytes(), str(path)):
            self.assertEqual(dataset.score(board, form).score, expected, type(form))
        # a part of the pool, as it is
        pool = pd.DataFrame({"id": ids, "label": "one", "px_0": 0.5})
        valid = dataset.validate(board, pool)
        self.assertEqual((valid.benchmark, valid.leaderboard, valid.document["status"]), ("selection", board, "valid"))
        self.assertEqual(dataset.score(board, pool).score, expected)
        with self.assertRaisesRegex(ValueError, "give `frame"):
            submit("selection", board, pool)

    def test_tables_of_curation(self):
        dataset, kit = self.frozen["curation"], self.kits["curation"]
        board = dataset.leaderboards[0]
        start = pd.read_csv(next(kit.directory.rglob("start.csv")))
        labels, features = start["label"].to_numpy(), start.drop(columns="label").to_numpy()
        one, other = dataset.score(board, start), dataset.score(board, (labels, features))
        self.assertEqual(one.score, other.score)

    def test_counts_of_markets(self):
        dataset = self.frozen["data-acquisition"]
        board = dataset.leaderboards[0]
        artifact = dataset.baseline(board, "uniform")
        markets = json.loads(artifact)
        counts = np.array([markets[str(market)] for market in range(len(markets))])
        self.assertEqual(dataset.score(board, counts).score, dataset.score(board, artifact).score)

    def test_kits_validate_and_make_baselines(self):
        methods = json.loads(command("baseline", "list"))
        for benchmark, kit in self.kits.items():
            board = kit.leaderboards[0]
            artifact = kit.baseline(board, methods[benchmark][0]["name"], seed=1)
            kit.validate(board, artifact)
            kit.validate(board, next((kit.directory / "examples").glob(f"{board}.*")))
            with self.assertRaises(Rejected) as rejected:
                kit.validate(board, {"ids": ["nobody"], "order": ["nobody"], "counts": {"nobody": 1}})
            self.assertTrue(rejected.exception.reasons)

    def test_kits_score_where_they_can(self):
        for benchmark, kit in self.kits.items():
            board = kit.leaderboards[0]
            example = next((kit.directory / "examples").glob(f"{board}.*"))
            # the right labels of a training set to inspect are hidden, whatever else is public
            if benchmark != "debugging" and (kit.directory / "public" / "eval.npy").exists():
                self.assertEqual(kit.score(board, example).metrics["eval_set"], "public")
            else:
                with self.assertRaisesRegex(DataperfError, "a participants' kit has no"):
                    kit.score(board, example)

    def test_lines_of_collections(self):
        source, frozen, out = (Path(self.scratch.name) / f"texts-{part}" for part in ("source", "frozen", "kit"))
        source.mkdir()
        tasks = {"nli": {"targets": ["far"]}, "sentiment": {"targets": ["far"]}}
        targets = {"far": {"kind": "http", "url": "https://models.example/answer"}}
        (source / "configuration.yaml").write_text(json.dumps({"tasks": tasks, "targets": targets}))
        (source / "contexts.jsonl").write_text(json.dumps({"id": "barn", "task": "nli", "text": "The door of the barn is green."}))
        command("dataset", "import", "adversarial-text", "--from", source, "--out", frozen)
        command("dataset", "show", frozen, "--public", out)
        kit = Dataset(out)
        self.assertEqual((kit.benchmark, kit.leaderboards), ("adversarial-text", ["nli", "sentiment"]))
        good = {"task": "nli", "context_id": "barn", "text": "The door is not red.", "label": "entailment"}
        bad = {**good, "context_id": "shed", "label": "true"}
        kit.validate("nli", out / "examples" / "nli.jsonl")
        for form in (good, [good], (good, good), (out / "examples" / "nli.jsonl").read_bytes()):
            kit.validate("nli", form)
        kit.validate("verdict", {"example": "0" * 32, "label": "neutral"})
        for lines, at in (([bad], ("line 1 /context_id", "line 1 /label")), ([good, bad], ("line 2 /context_id", "line 2 /label"))):
            with self.assertRaises(Rejected) as rejected:
                kit.validate("nli", lines)
            self.assertEqual(tuple(reason.at for reason in rejected.exception.reasons), at)
            self.assertEqual(len(rejected.exception.document["lines"]), len(lines))
        with self.assertRaisesRegex(DataperfError, "no leaderboard and no kind of file `qa`"):
            kit.validate("qa", good)
        with self.assertRaisesRegex(DataperfError, "models stay with the organizer"):
            kit.score("nli", good)
        with self.assertRaises(TypeError):
            kit.validate("nli", ["a text"])

    def test_submitting(self):
        selection = self.frozen["selection"]
        path = next(path for path in artifacts("selection") if path.suffix == ".json" and "ids" in json.loads(path.read_text()))
        board, ids = path.parts[path.parts.index("submissions") + 1], json.loads(path.read_text())["ids"]
        with local_cloud(Path(os.environ.get("DATAPERF_CLOUD_COMMAND", program())), Path(self.scratch.name) / "cloud") as cloud:
            addresses = ["--s3-endpoint", cloud["s3"], "--dynamodb-endpoint", cloud["dynamodb"], "--lambda-endpoint", cloud["lambda"]]
            command("dataset", "publish", selection.directory, "--cloud", cloud["page"])
            for number, where in enumerate([cloud["page"], addresses]):  # a name or an address, and options
                receipt = submit("selection", board, ids, "ada", name=f"mine-{number}", cloud=where)
                self.assertEqual((receipt["status"], receipt["score"]), ("scored", selection.score(board, ids).score))
            with self.assertRaises(Rejected) as rejected:
                submit("selection", board, ["nobody"], "ada", cloud=cloud["page"])
            self.assertEqual(rejected.exception.document["status"], "rejected")
            with self.assertRaisesRegex(DataperfError, "no-such-profile"):
                submit("selection", board, ids, "ada", cloud="no-such-profile")
            token = json.loads(command("token", "create", "--submitter", "bo", "--cloud", cloud["page"]))["token"]
            receipt = submit("selection", board, ids, token=token, cloud=cloud["page"])
            self.assertEqual((receipt["submitter"], receipt["status"], receipt["score"]), ("bo", "scored", selection.score(board, ids).score))
            with self.assertRaisesRegex(DataperfError, "the token is `bo`'s"):
                submit("selection", board, ids, "ada", token=token, cloud=cloud["page"])
            with self.assertRaisesRegex(DataperfError, "does not know this token") as refused:
                submit("selection", board, ids, token="dpk_" + "0" * 64, cloud=cloud["page"])
            self.assertNotIn("dpk_", str(refused.exception))

    def test_ranks_are_the_same_in_every_form(self):
        random = np.random.default_rng(7)
        frame = pd.DataFrame(random.integers(0, 2, size=(40, 3)), columns=["a", "b", "c"])
        frame.insert(0, "item", [f"q{number:02}" for number in range(len(frame))])
        path = Path(self.scratch.name) / "results.csv"
        frame.to_csv(path, index=False)
        expected = json.loads(command("rank", path))
        results = {system: dict(zip(frame["item"], frame[system].tolist())) for system in ["a", "b", "c"]}
        for form in [path, [path], frame, frame.set_index("item"), results]:
            self.assertEqual(rank(form), expected)
        plot = Path(self.scratch.name) / "ranks.svg"
        compared = rank(frame, compare=("a", "b"), plot=plot, ignore=["c"], lower_is_better=True)
        self.assertEqual((compared["n_systems"], compared["comparison"]["first"]), (2, "a"))
        self.assertIn("<svg", plot.read_text())
        with self.assertRaisesRegex(DataperfError, "`a` lacks 1 of 40: `q00`"):
            rank({**results, "a": dict(list(results["a"].items())[1:])})

    def test_errors_are_the_commands(self):
        with self.assertRaisesRegex(DataperfError, "no frozen data set"):
            Dataset("/nowhere")
        with self.assertRaises((DataperfError, Rejected)):
            self.frozen["selection"].score("no-such-board", [])
        with self.assertRaises(TypeError):
            self.frozen["acquisition"].score(self.frozen["acquisition"].leaderboards[0], [1, 2])
        with self.assertRaises(TypeError):
            self.frozen["selection"].validate("digits-20", 3)
        with self.assertRaises(ValueError):
            submit("selection", "digits-20", ["a"], "ada", name="../x")
        with self.assertRaises(TypeError):
            self.frozen["curation"].validate(self.frozen["curation"].leaderboards[0], ([1, 2], ["a", "b"]))
        with self.assertRaises(ValueError):
            self.frozen["selection"].validate("digits-20", {"ids": [float("nan")]})


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()

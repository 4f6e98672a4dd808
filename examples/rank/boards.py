#!/usr/bin/env python3
"""Makes tables for `dataperf rank` of three public boards' own files; docs/rank.md shows what comes of them.

    python examples/rank/boards.py livecodebench livecodebench.github.io/src/mocks/performances_execution.json > livecodebench.csv
    python examples/rank/boards.py mteb results/results/ > mteb.csv
    python examples/rank/boards.py euroeval leaderboards/leaderboards/european_nlu.csv > euroeval.csv

The files are in the repositories LiveCodeBench/livecodebench.github.io, embeddings-benchmark/results and EuroEval/leaderboards.
"""

import csv
import html
import json
import re
import sys
from pathlib import Path

# the benchmark MTEB(eng, v2)
TASKS = """
AmazonCounterfactualClassification ArXivHierarchicalClusteringP2P ArXivHierarchicalClusteringS2S ArguAna AskUbuntuDupQuestions
BIOSSES Banking77Classification BiorxivClusteringP2P.v2 CQADupstackGamingRetrieval CQADupstackUnixRetrieval
ClimateFEVERHardNegatives FEVERHardNegatives FiQA2018 HotpotQAHardNegatives ImdbClassification MTOPDomainClassification
MassiveIntentClassification MassiveScenarioClassification MedrxivClusteringP2P.v2 MedrxivClusteringS2S.v2 MindSmallReranking
SCIDOCS SICK-R STS12 STS13 STS14 STS15 STS17 STS22.v2 STSBenchmark SprintDuplicateQuestions StackExchangeClustering.v2
StackExchangeClusteringP2P.v2 SummEvalSummarization.v2 TRECCOVID Touche2020Retrieval.v3 ToxicConversationsClassification
TweetSentimentExtractionClassification TwentyNewsgroupsClustering.v2 TwitterSemEval2015 TwitterURLCorpus
""".split()


def livecodebench(path: Path) -> tuple[list, list]:
    """A row for each sample and model; samples of one problem are a cluster."""
    rows = json.loads(path.read_text())["performances"]
    return ["item", "cluster", "system", "value"], [
        [row["sample_id"], row["question_id"], row["model"], row["Pass@1"] / 100] for row in rows
    ]


def mteb(path: Path) -> tuple[list, list]:
    """A row for each model, a column for each task; of a model's revisions the one with most tasks."""
    rows = []
    for model in sorted(path.iterdir()):
        revisions = []
        for revision in sorted(model.iterdir()) if model.is_dir() else []:
            revisions.append({task: score for task in TASKS if (score := english(revision / f"{task}.json")) is not None})
        best = max(revisions, key=len, default={})
        if best:
            rows.append([model.name.replace("__", "/", 1), *(best.get(task, "") for task in TASKS)])
    return ["model", *TASKS], rows


def english(path: Path) -> "float | None":
    """The mean main score over the English parts of a task's test set."""
    if not path.is_file():
        return None
    parts = json.loads(path.read_text()).get("scores", {}).get("test", [])
    scores = [part["main_score"] for part in parts if part["languages"] == ["eng-Latn"]]
    return sum(scores) / len(scores) if scores else None


def euroeval(path: Path) -> tuple[list, list]:
    """A row for each model that has been tried in every language, a column for each language; smaller is better."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.reader(file)]
    first = next(number for number, line in enumerate(lines) if line[0] == "Model")
    header = lines[first]
    languages = range(header.index("Albanian"), len(header))
    rows = []
    for line in lines[first + 1 :]:
        values = [line[place].split("@@")[0] for place in languages]
        if all(re.fullmatch(r"[\d.]+", value) for value in values):
            rows.append([html.unescape(re.sub(r"<[^>]+>", "", line[0])), *values])
    return ["model", *(header[place] for place in languages)], rows


if __name__ == "__main__":
    boards = {"livecodebench": livecodebench, "mteb": mteb, "euroeval": euroeval}
    if len(sys.argv) != 3 or sys.argv[1] not in boards:
        sys.exit(__doc__)
    header, rows = boards[sys.argv[1]](Path(sys.argv[2]))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)

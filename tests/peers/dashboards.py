#!/usr/bin/env python3
"""Run what docs/dashboards.md says, word for word, on an export of the demo's submissions, and hold it against the read API."""

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import redirect_stdout
from pathlib import Path

import boto3
import duckdb
import pandas as pd
from checks import Checks
from local_cloud import local_cloud

DOCUMENT = "docs/dashboards.md"
BENCHMARK = "speech-selection"
PATIENCE_SECONDS = 120


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--bin", required=True, type=Path)
    args = parser.parse_args()
    checks, text = Checks(), (args.root / DOCUMENT).read_text()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        with local_cloud(args.bin / "dataperf", scratch / "cloud") as cloud:
            env = dict(os.environ, PATH=f"{args.bin}:{os.environ['PATH']}")
            options = " ".join(f"--{name}-endpoint {cloud[name]}" for name in ("s3", "dynamodb", "lambda"))
            fill(args, cloud, options, scratch)
            for block in blocks(text, "sh"):
                command = "set -e\n" + block.replace("--local", options)
                ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env, cwd=scratch, check=False)
                checks("the commands", ran.returncode == 0, ran.stderr)
            os.chdir(scratch)
            agrees_with_the_api(checks, cloud, scratch)
            grafana(checks, cloud, text)
            athena(checks, cloud, text)
        for block in blocks(text, "python"):
            out = io.StringIO()
            with redirect_stdout(out):
                exec(compile(block, DOCUMENT, "exec"), {})  # noqa: S102: what readers copy
            checks("pandas prints three tables", out.getvalue().count("\n") > 12, "")
        for block in blocks(text, "sql"):
            for statement in filter(str.strip, block.split(";")):
                rows = duckdb.sql(statement).fetchall()
                checks(f"DuckDB: {statement.strip().splitlines()[0]}", bool(rows), len(rows))
    print(f"{checks.n - len(checks.failed)} of {checks.n} hold")
    return 1 if checks.failed else 0


def fill(args: argparse.Namespace, cloud: dict, options: str, scratch: Path) -> None:
    """The demo's data set, its submissions good and bad, and their verdicts."""
    demo = args.root / "demo" / BENCHMARK
    for command in (f"import {BENCHMARK} --from {demo} --out {scratch}/frozen", f"publish {scratch}/frozen {options}"):
        subprocess.run([args.bin / "dataperf", "dataset", *command.split()], check=True, capture_output=True)
    keys = {"aws_access_key_id": cloud["access_key"], "aws_secret_access_key": cloud["secret_key"], "region_name": cloud["region"]}
    s3 = boto3.client("s3", endpoint_url=cloud["s3"], **keys)
    files = sorted((demo / "submissions").glob("*/*/*"))
    keys_of = ["/".join(path.parts[-3:]) for path in files]
    scored = next(n for n, path in enumerate(files) if path.parts[-3] == "pt-25" and not path.name.startswith("bad_"))
    files.append(files[scored])
    keys_of.append("pt-25/baseline-random/random.json")  # a baseline, which has no rank
    for path, key in zip(files, keys_of, strict=True):
        s3.put_object(Bucket="submissions", Key=f"{BENCHMARK}/{key}", Body=path.read_bytes())
    began = time.monotonic()
    while len(s3.list_objects_v2(Bucket="results", Prefix=f"{BENCHMARK}/").get("Contents", [])) < 2 * len(files) - 7:
        if time.monotonic() - began > PATIENCE_SECONDS:
            break  # what follows says what is missing
        time.sleep(0.2)
    time.sleep(3)  # comparisons follow the scores


def ask(cloud: dict, path: str) -> dict:
    with urllib.request.urlopen(f"{cloud['page']}/api/v1/benchmarks/{BENCHMARK}{path}") as answer:
        return json.load(answer)


def agrees_with_the_api(checks: Checks, cloud: dict, scratch: Path) -> None:
    boards = pd.read_parquet("exported/boards.parquet")
    submissions = pd.read_parquet("exported/submissions.parquet")
    metrics = pd.read_parquet("exported/metrics.parquet")
    for board in ("en-25", "pt-60"):
        rows = ask(cloud, f"/leaderboards/{board}")["rows"]
        exported = boards[boards.leaderboard == board]
        of_api = [(row["submission"], row["rank"], row["score"]) for row in rows]
        of_export = list(zip(exported.submission, exported["rank"], exported.score, strict=True))
        checks(f"{board} has the API's rows, ranks and scores", of_api == of_export, len(of_api))
    n_uploads = 44
    checks(f"all {n_uploads} uploads are there", len(submissions) == n_uploads, len(submissions))
    checks("7 of them rejected, each with its code", submissions[submissions.status == "rejected"].code.notna().sum() == 7, "")
    whole = submissions[submissions.status == "scored"]
    seeds = metrics[metrics.metric == "per_seed"].groupby("submission").value.mean()
    off = (whole.set_index("submission").score - seeds).abs().max()
    checks("each score is the mean of its seeds in the metrics", off < 1e-12, off)
    shown = {name: pd.read_csv(f"shown/{name}.csv") for name in ("boards", "submissions", "metrics")}
    checks("--public has no rejection, no key and no reason", set(shown["submissions"].status) == {"scored"} and shown["submissions"].key.isna().all(), "")
    of_practice = sorted(set(shown["metrics"].metric))
    checks("--public has the metrics that practice shows", {"per_seed", "f1_per_class/*"} <= set(of_practice), of_practice)
    checks("CSV and Parquet have the same rows", list(shown["boards"].submission) == list(boards.submission), "")


def grafana(checks: Checks, cloud: dict, text: str) -> None:
    [query] = map(json.loads, blocks(text, "json"))
    path = query["url"].removeprefix(f"https://PAGE/api/v1/benchmarks/{BENCHMARK}")
    rows = ask(cloud, path)[query["root_selector"]]
    selectors = [column["selector"] for column in query["columns"]]
    checks("Grafana's query finds rows with its columns", bool(rows) and all(set(selectors) <= row.keys() for row in rows), len(rows))
    points = ask(cloud, "/leaderboards/en-25/series")["points"]
    checks("and the series has its", bool(points) and {"received_at", "best"} <= points[0].keys(), len(points))


def athena(checks: Checks, cloud: dict, text: str) -> None:
    """The items as DynamoDB exports them, and what the statements name of them."""
    [statements] = blocks(text, "sql-athena")
    keys = {"aws_access_key_id": cloud["access_key"], "aws_secret_access_key": cloud["secret_key"], "region_name": cloud["region"]}
    dynamodb = boto3.client("dynamodb", endpoint_url=cloud["dynamodb"], **keys)
    pages = dynamodb.get_paginator("scan").paginate(TableName="dataperf")
    items = [item for page in pages for item in page["Items"]]
    Path("export.json").write_text("".join(json.dumps({"Item": item}) + "\n" for item in items))
    struct = re.findall(r"(\w+): struct<([SN]): string>", statements)
    scored = [item for item in items if item["sk"]["S"] == "submission" and item.get("status", {}).get("S") == "scored"]
    lacking = [(name, kind) for name, kind in struct if name != "baseline" and not all(kind in item.get(name, {}) for item in scored)]
    checks("Athena's struct names what scored submissions have", bool(scored) and not lacking, lacking)
    checks("and what baselines have", any("N" in item.get("baseline", {}) for item in scored), "")
    columns = ", ".join(f"{name} STRUCT({kind} VARCHAR)" for name, kind in struct)
    duckdb.sql(f"CREATE VIEW dataperf AS SELECT * FROM read_json('export.json', columns = {{Item: 'STRUCT({columns})'}})")
    duckdb.sql("CREATE MACRO json_extract_scalar(document, path) AS json_extract_string(document, path)")
    [_, best, stds, ranks, classes] = [statement for statement in statements.split(";") if statement.strip()]
    rows = {board: ask(cloud, f"/leaderboards/{board}")["rows"] for board in ("en-25", "pt-25")}
    found = duckdb.sql(best).fetchall()
    expected = {(row["submitter"], row["score"]) for row in rows["en-25"]}
    checks("Athena's best scores, in DuckDB, are the board's", {(who, score) for board, _, who, score in found if board == "en-25"} == expected, len(found))
    found = duckdb.sql(stds).fetchall()
    checks("the path into the receipt finds a number of each", len(found) == len(scored) and all(float(std) >= 0 for _, std in found), len(found))
    found = duckdb.sql(ranks).fetchall()
    for board, of_api in rows.items():
        expected = sorted((row["submitter"], row["score"], row["rank"]) for row in of_api if row["rank"] is not None)
        checks(f"the ranks of {board} are the API's", sorted(row[2:] for row in found if row[0] == board) == expected, expected)
    checks("a baseline stands on pt-25 and has none", len(expected) < len(rows["pt-25"]), len(expected))
    found = duckdb.sql(classes).fetchall()
    metrics = pd.read_parquet("exported/metrics.parquet")
    metrics = metrics[metrics.metric == "f1_per_class/*"]
    expected = sorted(zip(metrics.leaderboard, metrics.submitter, metrics.of, metrics.value, strict=True))
    checks("the numbers of the classes are the export's", sorted(found) == expected and len(found) > len(scored), len(found))


if __name__ == "__main__":
    sys.exit(main())

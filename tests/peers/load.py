#!/usr/bin/env python3
"""Upload to `dataperf local` at a steady rate for a while, and say how long submitters waited for their receipts."""

import argparse
import json
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import boto3
from botocore.config import Config
from local_cloud import local_cloud

PATIENCE_SECONDS = 600


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def share(sorted_values: list[float], fraction: float) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(fraction * len(sorted_values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=20, help="uploads a second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--concurrency", type=int, default=2, help="processes of the function")
    args = parser.parse_args()
    demo = args.root / "demo" / "speech-selection"
    bodies = [path.read_bytes() for path in sorted((demo / "submissions" / "en-25").glob("*/*.json"))]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        with local_cloud(args.bin / "dataperf", scratch / "cloud", "--concurrency", str(args.concurrency)) as cloud:
            run([args.bin / "dataperf", "dataset", "import", "speech-selection", "--from", demo, "--out", scratch / "frozen"])
            here = ["--s3-endpoint", cloud["s3"], "--dynamodb-endpoint", cloud["dynamodb"]]
            run([args.bin / "dataperf", "dataset", "publish", scratch / "frozen", *here])
            keys = {"aws_access_key_id": cloud["access_key"], "aws_secret_access_key": cloud["secret_key"], "region_name": cloud["region"]}
            s3 = boto3.client("s3", endpoint_url=cloud["s3"], config=Config(max_pool_connections=32), **keys)
            load(s3, bodies, args, cloud)


def run(command: list) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def load(s3, bodies: list[bytes], args: argparse.Namespace, cloud: dict) -> None:
    n_uploads = int(args.rate * args.seconds)
    late = threading.Semaphore(0)

    def upload(n: int) -> None:
        s3.put_object(Bucket="submissions", Key=f"speech-selection/en-25/s{n % 50}/{n}.json", Body=bodies[n % len(bodies)])

    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        for n in range(n_uploads):
            pause = began + n / args.rate - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            else:
                late.release()
            pool.submit(upload, n)
    sent = time.monotonic()
    receipts: dict[str, dict] = {}
    while len(receipts) < n_uploads:
        if time.monotonic() - sent > PATIENCE_SECONDS:
            raise SystemExit(f"error: {len(receipts)} of {n_uploads} receipts")
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket="results"):
            for item in page.get("Contents", []):
                if item["Key"] not in receipts:
                    receipts[item["Key"]] = json.loads(s3.get_object(Bucket="results", Key=item["Key"])["Body"].read())
    waited = sorted(instant(receipt["finished_at"]) - instant(receipt["received_at"]) for receipt in receipts.values())
    last = max(instant(receipt["finished_at"]) for receipt in receipts.values())
    first = min(instant(receipt["received_at"]) for receipt in receipts.values())
    with urllib.request.urlopen(cloud["page"] + "/metrics.json") as answer:
        function = json.load(answer)["functions"]["speech-selection"]
    print(
        json.dumps(
            {
                "uploads": n_uploads,
                "asked_a_second": args.rate,
                "uploads_sent_a_second": round(n_uploads / (sent - began), 1),
                "ended_a_second": round(n_uploads / (last - first), 1),
                "seconds_to_verdict": {
                    "mean": round(statistics.mean(waited), 3),
                    **{f"p{int(100 * f)}": round(share(waited, f), 3) for f in (0.5, 0.9, 0.99)},
                    "max": round(waited[-1], 3),
                },
                "processes": function["cold"]["n"],
                "warm_ms": round(function["warm"]["total_ms"] / max(1, function["warm"]["n"]), 1),
                "peak_memory_mb": function["peak_memory_kib"] // 1024,
                "metrics": {name: round(metric["sum"], 3) for name, metric in function["metrics"].items()},
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()

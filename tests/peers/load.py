#!/usr/bin/env python3
"""Upload to `dataperf local` for a while, and say how long submitters waited for their receipts.

At a steady rate, or as `--clients` that each upload again as soon as they have their receipt.
"""

import argparse
import hashlib
import hmac
import http.client
import json
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import boto3
from botocore.config import Config
from local_cloud import local_cloud

PATIENCE_SECONDS = 600
WARM_UP_SECONDS = 1.5  # the function's processes start, and open the data set


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
    parser.add_argument("--clients", type=int, help="instead of a rate: so many that wait for a receipt and upload again")
    parser.add_argument("--board", default="en-25")
    parser.add_argument("--concurrency", type=int, help="processes of the function, by default as `dataperf local` has it")
    parser.add_argument("--cores", help="the cloud runs on these cores only, such as `0,1` (taskset)")
    args = parser.parse_args()
    demo = args.root / "demo" / "speech-selection"
    bodies = [path.read_bytes() for path in sorted((demo / "submissions" / args.board).glob("*/*.json"))]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        options = ["--concurrency", str(args.concurrency)] if args.concurrency else []
        with local_cloud(args.bin / "dataperf", scratch / "cloud", *options, cores=args.cores) as cloud:
            run([args.bin / "dataperf", "dataset", "import", "speech-selection", "--from", demo, "--out", scratch / "frozen"])
            here = ["--s3-endpoint", cloud["s3"], "--dynamodb-endpoint", cloud["dynamodb"]]
            run([args.bin / "dataperf", "dataset", "publish", scratch / "frozen", *here])
            keys = {"aws_access_key_id": cloud["access_key"], "aws_secret_access_key": cloud["secret_key"], "region_name": cloud["region"]}
            if args.clients:
                loop(bodies, args, cloud)
            else:
                s3 = boto3.client("s3", endpoint_url=cloud["s3"], config=Config(max_pool_connections=32), **keys)
                load(s3, bodies, args, cloud)


def run(command: list) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def signer(cloud: dict, host: str):
    """Presigns requests (Signature Version 4) with a key that is derived once: boto3 takes a millisecond for each."""
    at = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{cloud['region']}/s3/aws4_request"
    key = f"AWS4{cloud['secret_key']}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    credential = urllib.parse.quote(f"{cloud['access_key']}/{scope}", safe="")
    query = (
        f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={credential}&X-Amz-Date={at}&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
    )

    def sign(method: str, path: str) -> str:
        request = f"{method}\n{path}\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
        digest = hashlib.sha256(request.encode()).hexdigest()
        signature = hmac.digest(key, f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{digest}".encode(), "sha256").hex()
        return f"{path}?{query}&X-Amz-Signature={signature}"

    return sign


def loop(bodies: list[bytes], args: argparse.Namespace, cloud: dict) -> None:
    """Each client on a connection of its own, so that little of the machine goes into asking."""
    address = urllib.parse.urlsplit(cloud["s3"]).netloc
    sign = signer(cloud, address)
    began = time.monotonic()
    receipts: dict[str, dict] = {}

    def client(number: int) -> None:
        connection = http.client.HTTPConnection(address)

        def ask(method: str, path: str, body: bytes | None = None) -> tuple[http.client.HTTPResponse, bytes]:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer, answer.read()

        n = 0
        while time.monotonic() - began < args.seconds:
            key = f"speech-selection/{args.board}/s{number}/{n}.json"
            answer, said = ask("PUT", sign("PUT", f"/submissions/{key}"), bodies[(number + n) % len(bodies)])
            if answer.status != 200:
                raise SystemExit(f"error: {answer.status} for an upload: {said.decode()}")
            version = answer.headers["x-amz-version-id"]
            name = "".join(f"{len(part)}:{part}" for part in ("submissions", key, version))
            receipt = f"speech-selection/{args.board}/s{number}/{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"
            path = sign("GET", f"/results/{receipt}")
            sent = time.monotonic()
            while True:
                time.sleep(0.1 if time.monotonic() - sent < 1 else 0.2)
                answer, said = ask("GET", path)
                if answer.status == 200:
                    break
                if answer.status != 404 or time.monotonic() - sent > PATIENCE_SECONDS:
                    raise SystemExit(f"error: {answer.status} for a receipt: {said.decode()}")
            receipts[receipt] = json.loads(said)
            n += 1

    with ThreadPoolExecutor(args.clients) as pool:
        for done in [pool.submit(client, number) for number in range(args.clients)]:
            done.result()
    tell(receipts, cloud, {"uploads": len(receipts), "clients": args.clients})


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
    tell(
        receipts,
        cloud,
        {"uploads": n_uploads, "asked_a_second": args.rate, "uploads_sent_a_second": round(n_uploads / (sent - began), 1)},
    )


def summary(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    values = sorted(values)
    shares = {f"p{int(100 * f)}": round(share(values, f), 3) for f in (0.5, 0.9, 0.99)}
    return {"mean": round(statistics.mean(values), 3), **shares, "max": round(values[-1], 3)}


def tell(receipts: dict[str, dict], cloud: dict, about: dict) -> None:
    endings = [receipt["status"] for receipt in receipts.values()]
    times = [(instant(receipt["received_at"]), instant(receipt["finished_at"])) for receipt in receipts.values()]
    last = max(finished for _, finished in times)
    first = min(received for received, _ in times)
    waited = [finished - received for received, finished in times]
    waited_warm = [finished - received for received, finished in times if received > first + WARM_UP_SECONDS]
    metrics = urllib.request.Request(cloud["page"] + "/metrics.json", headers={"Authorization": f"Bearer {cloud['secret_key']}"})
    with urllib.request.urlopen(metrics) as answer:
        function = json.load(answer)["functions"]["speech-selection"]
    print(
        json.dumps(
            {
                **about,
                "endings": {ending: endings.count(ending) for ending in sorted(set(endings))},
                "ended_a_second": round(len(receipts) / (last - first), 1),
                "seconds_to_verdict": summary(waited),
                "seconds_to_verdict_after_the_start": summary(waited_warm),
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

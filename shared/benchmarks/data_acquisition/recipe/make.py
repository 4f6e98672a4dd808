#!/usr/bin/env python3
"""Make the demo data of Data Acquisition: is a handwritten digit 5 or more?

    make.py OUT [--seed N]

Five markets of eight sellers. A seller has images of some digits more than of others, written more or less
clearly, and some of its labels are wrong; the buyer has all digits alike. Writes the public challenge's layout
(OUT/features, OUT/marketinfo) and OUT/submissions/open/SUBMITTER/FILE.
"""

import argparse
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recipe"))
import digits as source  # noqa: E402, what three recipes share

N_MARKETS, N_SELLERS, N_BUYER = 5, 8, 120
BUDGET = 150
Plan = dict[str, list[int]]


def write_rows(path: Path, vectors: np.ndarray, labels: np.ndarray) -> None:
    """A line an image: its numbers as exact decimals, the label last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (",".join([*(repr(float(v)) for v in row), repr(float(y))]) for row, y in zip(vectors, labels))
    path.write_text("\n".join(lines) + "\n")


def zipped(plan: Plan, suffix: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for market, counts in plan.items():
            name = zipfile.ZipInfo(f"{market}.{suffix}", (2024, 1, 1, 0, 0, 0))
            archive.writestr(name, ",".join(map(str, counts)) + "\n")
    return packed.getvalue()


def market(out: Path, number: int, seed: int) -> tuple[list[int], list[float]]:
    """Writes one market; gives the sellers' row counts and prices."""
    rng = np.random.default_rng([seed, number])
    everything = source.load()
    rows = rng.permutation(len(everything.ids))
    buyer, rest = rows[:N_BUYER], rows[N_BUYER:]
    labels = (everything.digits >= 5).astype(float)
    sizes, prices = [], []
    for seller in range(N_SELLERS):
        n = int(rng.integers(40, 91))
        mix = rng.dirichlet(np.full(10, 0.6))[everything.digits[rest]]
        chosen = rng.choice(rest, n, p=mix / mix.sum())
        vectors = source.jittered(everything, chosen, rng, noise=rng.uniform(0.1, 0.6))
        is_wrong = rng.random(n) < rng.choice([0.0, 0.1, 0.3])
        sizes.append(n)
        prices.append(float(rng.choice([80, 100, 120])))
        write_rows(out / f"features/{number}/{seller}.csv", vectors, np.abs(labels[chosen] - is_wrong))
    info = out / f"marketinfo/{number}"
    write_rows(info / f"data_buyer/{N_SELLERS}.csv", everything.vectors[buyer], labels[buyer])
    (info / "price").mkdir(parents=True, exist_ok=True)
    (info / "price/price.txt").write_text("".join(f"Lin,{price:g}\n" for price in prices))
    (info / "price/budget.txt").write_text(f"{BUDGET}\n")
    return sizes, prices


def affordable(sizes: list[int], prices: list[float], shares: np.ndarray) -> list[int]:
    """Spends the budget on the sellers in these shares, as far as they have rows."""
    return [min(n, int(BUDGET * share / price * n)) for n, price, share in zip(sizes, prices, shares)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    out = arguments.out
    markets = {str(k): market(out, k, arguments.seed) for k in range(N_MARKETS)}
    rng = np.random.default_rng([arguments.seed, N_MARKETS])

    def plan(shares) -> Plan:
        return {name: affordable(sizes, prices, shares()) for name, (sizes, prices) in markets.items()}

    alike = plan(lambda: np.full(N_SELLERS, 1 / N_SELLERS))
    two = plan(lambda: np.r_[0.5, 0.5, np.zeros(N_SELLERS - 2)])
    over = {name: [n // 2 for n in sizes] for name, (sizes, _) in markets.items()}
    several = {**alike, "0": over["0"], "1": [-5, *alike["1"][1:]], "2": alike["2"][:-1], "9": alike["4"]}
    del several["4"]
    files: dict[str, Plan | bytes] = {
        "a-bit-of-all/uniform.json": alike,
        "coin-flip/random.zip": zipped(plan(lambda: rng.dirichlet(np.ones(N_SELLERS))), "csv"),
        "two-friends/first_two.json": two,
        "two-friends/first_two_as_text.zip": zipped(two, "txt"),
        "hasty/bad_over_budget.json": over,
        "hasty/bad_more_than_seller_has.json": {**alike, "0": [markets["0"][0][0] + 1] + [0] * (N_SELLERS - 1)},
        "hasty/bad_nothing.json": {**alike, "3": [0] * N_SELLERS},
        "hasty/bad_several_reasons.json": several,
    }
    for name, content in files.items():
        path = out / "submissions/open" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else (json.dumps(content) + "\n").encode())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Write random tables by pandas, polars, pyarrow, DuckDB, openpyxl and Python's own csv, import them, and compare with what pandas reads.

Each contest is a folder of `selection`: a pool and a test set with the same columns, in one form each. Every number of the frozen pool has to be the one
that pandas reads, and every id and label. Forms that are not taken have to be refused with a remedy. Everything follows from the seeds.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import yaml

from checks import Checks

KINDS = ["float64", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool", "whole floats"]
ORDERS = ["as written", "shuffled"]


def column(rng, kind, n):
    if kind == "float64":
        return rng.normal(size=n) * 10.0 ** rng.integers(-6, 7)
    if kind == "float32":
        return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)).astype(np.float32)
    if kind == "bool":
        return rng.random(n) < 0.5
    if kind == "whole floats":
        return rng.integers(-1000, 1000, n).astype(np.float64)
    bounds = np.iinfo(kind)
    return rng.integers(max(bounds.min, -(2**53)), min(int(bounds.max), 2**53), n, dtype=np.int64).astype(kind)


class Case:
    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        names = ["age", "height", "Gewicht in kg", "größe", "x.1", "pulse", "a b", "f7"]
        rng.shuffle(names)
        self.names = names[: int(rng.integers(1, 7))]
        if rng.random() < 0.2:
            self.names = [f"f{k}" for k in range(len(self.names))]
        self.classes = [["no", "yes"], ["0", "1"], ["Löwe", "a, b"], ["False", "True"]][rng.integers(4)]
        self.kinds = [str(rng.choice(KINDS)) for _ in self.names]
        self.n = int(rng.integers(12, 60))

    def frame(self, n, first):
        rng = self.rng
        data = {name: column(rng, kind, n) for name, kind in zip(self.names, self.kinds)}
        labels = [self.classes[k % 2] for k in range(n)]
        ids = [f"{first + k:05d}" for k in range(n)]
        return pd.DataFrame({"id": ids, "label": labels, **data})

    def shuffled(self, frame):
        columns = list(frame.columns)
        if self.names != [f"f{k}" for k in range(len(self.names))]:
            self.rng.shuffle(columns)
        return frame[columns]


# ---------------------------------------------------------------- forms, each gives the names in task.yaml and what pandas reads
def plain_csv(case, frame, folder, name):
    rng = case.rng
    separator = str(rng.choice([",", ";", "\t"]))
    decimal = "," if separator != "," and rng.random() < 0.6 else "."
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))
    ending = str(rng.choice(["\n", "\r\n"]))
    writer = str(rng.choice(["pandas", "csv", "polars", "duckdb"]))
    path = folder / f"{name}.csv"
    frame = case.shuffled(frame)
    if writer in ("polars", "duckdb"):
        decimal, encoding, ending = ".", "utf-8", "\n"
    if writer == "pandas":
        quoting = int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL]))
        text = frame.to_csv(index=False, sep=separator, decimal=decimal, lineterminator="\n", quoting=quoting)
    elif writer == "csv":
        lines = [separator.join(f'"{c}"' if separator in c else c for c in frame.columns)]
        for row in frame.itertuples(index=False):
            cells = [str(cell).replace(".", decimal) if isinstance(cell, (float, np.floating)) else str(cell) for cell in row]
            lines.append(separator.join(f'"{c}"' if separator in c or '"' in c else c for c in cells))
        text = "\n".join(lines) + "\n"
    elif writer == "polars":
        text = pl.from_pandas(frame).write_csv(separator=separator)
    else:
        duckdb.from_df(frame).write_csv(str(path), sep=separator, header=True)
        text = path.read_text()
    if decimal == "," and not any("float" in kind for kind in case.kinds):
        decimal = "."
    if rng.random() < 0.2:
        text = f"sep={separator}\n" + text
    path.write_bytes(text.replace("\n", ending).encode(encoding))
    skip = 1 if text.startswith("sep=") else 0
    read = pd.read_csv(path, sep=separator, decimal=decimal, encoding=encoding, skiprows=skip, dtype={"id": str, "label": str})
    return f"{name}.csv", read, f"csv {writer} {separator!r} {decimal} {encoding}"


def parquet(case, frame, folder, name):
    rng = case.rng
    path = folder / f"{name}.parquet"
    writer = str(rng.choice(["pandas", "pyarrow", "polars", "duckdb"]))
    frame = case.shuffled(frame)
    compression = str(rng.choice(["snappy", "zstd", "gzip", "none", "brotli", "lz4"]))
    if writer == "pandas":
        if rng.random() < 0.5:
            frame = frame.assign(label=frame.label.astype("category"))
        if rng.random() < 0.3:
            frame = frame.set_index("id")
        elif rng.random() < 0.3:
            frame = frame.set_index(pd.Index(rng.permutation(len(frame)), name=rng.choice(["row", None])))
        frame.to_parquet(path, compression=None if compression == "none" else compression)
    elif writer == "pyarrow":
        table = pa.Table.from_pandas(frame, preserve_index=False)
        for k, field in enumerate(table.schema):
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                kind = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())][rng.integers(4)]
                if not (pa.types.is_dictionary(kind) and field.name == "id" and len(frame) > 100):
                    table = table.set_column(k, field.name, table.column(k).cast(pa.string()).cast(kind))
            elif field.type == pa.float32() and rng.random() < 0.3:
                table = table.set_column(k, field.name, pa.chunked_array([pa.array(np.clip(frame[field.name], -6e4, 6e4).astype(np.float16))]))
        pq.write_table(table, path, compression=compression, row_group_size=int(rng.choice([5, 1000])), data_page_version=str(rng.choice(["1.0", "2.0"])),
                       use_dictionary=bool(rng.random() < 0.5), store_schema=bool(rng.random() < 0.7))
    elif writer == "polars":
        pl.from_pandas(frame).write_parquet(path, compression={"none": "uncompressed"}.get(compression, compression))
    else:
        if compression == "none":
            compression = "uncompressed"
        duckdb.from_df(frame).write_parquet(str(path), compression="snappy" if compression in ("lz4", "brotli") else compression)
    read = pd.read_parquet(path)
    return f"{name}.parquet", read.reset_index() if read.index.name == "id" else read, f"parquet {writer} {compression}"


def lists(case, frame, folder, name):
    rng = case.rng
    path = folder / f"{name}.parquet"
    matrix = frame[case.names].to_numpy(np.float64)
    kind = str(rng.choice(["float16", "float32", "float64", "int32", "fixed", "large"]))
    called = str(rng.choice(["features", "embedding"]))
    if kind == "float16":
        matrix = np.clip(matrix, -6e4, 6e4)
    if kind == "int32":
        matrix = np.clip(matrix, -(2**31), 2**31 - 1).round()
    of = {"fixed": pa.list_(pa.float64(), matrix.shape[1]), "large": pa.large_list(pa.float64())}.get(kind)
    if of is None:
        of = pa.list_(pa.type_for_alias({"float16": "halffloat", "float32": "float", "float64": "double", "int32": "int32"}[kind]))
    rows = matrix.astype(kind if kind.startswith(("float", "int")) else np.float64)
    vectors = pa.array([list(row) for row in rows], of)
    table = pa.table({"id": list(frame.id), "label": list(frame.label), called: vectors})
    if rng.random() < 0.3:
        feather.write_feather(table, folder / f"{name}.feather", compression=str(rng.choice(["lz4", "zstd", "uncompressed"])))
        read, name = feather.read_table(folder / f"{name}.feather").to_pandas(), f"{name}.feather"
    else:
        pq.write_table(table, path)
        read, name = pd.read_parquet(path), f"{name}.parquet"
    values = np.vstack(read[called].to_numpy()).astype(np.float64)
    return name, pd.DataFrame({"id": read.id, "label": read.label, **dict(zip(case.names, values.T))}), f"list {kind} {name.split('.')[1]}"


def wide_feather(case, frame, folder, name):
    frame = case.shuffled(frame)
    frame.to_feather(folder / f"{name}.feather", compression=str(case.rng.choice(["lz4", "zstd", "uncompressed"])))
    return f"{name}.feather", pd.read_feather(folder / f"{name}.feather"), "feather"


def arrays(case, frame, folder, name):
    matrix = frame[case.names].to_numpy(np.float64)
    kind = str(case.rng.choice(["float64", "float32", ">f8", "fortran"]))
    matrix = np.asfortranarray(matrix) if kind == "fortran" else matrix.astype(kind)
    frame[["id", "label"]].to_csv(folder / f"{name}.csv", index=False)
    if case.rng.random() < 0.5:
        np.save(folder / f"{name}.npy", matrix)
        form, read = "npy", np.load(folder / f"{name}.npy")
    else:
        (np.savez if case.rng.random() < 0.5 else np.savez_compressed)(folder / f"{name}.npz", matrix)
        form, read = "npz", np.load(folder / f"{name}.npz")["arr_0"]
    read = pd.DataFrame({"id": frame.id, "label": frame.label, **dict(zip(case.names, read.astype(np.float64).T))})
    return {"features": f"{name}.{form}", "examples": f"{name}.csv"}, read, f"{form} {kind}"


FORMS = [plain_csv, parquet, lists, wide_feather, arrays]


# ---------------------------------------------------------------- forms that are refused
def workbook(case, frame, folder, name):
    book = openpyxl.Workbook()
    book.active.append(list(frame.columns))
    for row in frame.itertuples(index=False):
        book.active.append([cell.item() if hasattr(cell, "item") else cell for cell in row])
    book.save(folder / "book.xlsx")
    (folder / "book.xlsx").rename(folder / f"{name}.csv")
    return f"{name}.csv", "CSV"


def decimals(case, frame, folder, name):
    values = pa.array([Decimal(k) / 4 for k in range(len(frame))], pa.decimal128(9, 2))
    pq.write_table(pa.table({"id": list(frame.id), "label": list(frame.label), **{column: values for column in case.names}}), folder / f"{name}.parquet")
    return f"{name}.parquet", "astype"


def binary(case, frame, folder, name):
    table = pa.table({"id": [i.encode() for i in frame.id], "label": list(frame.label), **{column: frame[column] for column in case.names}})
    pq.write_table(table, folder / f"{name}.parquet")
    return f"{name}.parquet", "decode"


def latin_1(case, frame, folder, name):
    frame = frame.rename(columns={case.names[0]: "größe"})
    frame.to_csv(folder / f"{name}.csv", index=False, encoding="latin-1")
    return f"{name}.csv", "UTF-8"


def two_arrays(case, frame, folder, name):
    matrix = frame[case.names].to_numpy(np.float64)
    np.savez(folder / f"{name}.npz", a=matrix, b=matrix)
    frame[["id", "label"]].to_csv(folder / f"{name}.csv", index=False)
    return {"features": f"{name}.npz", "examples": f"{name}.csv"}, "numpy.save"


def nulls(case, frame, folder, name):
    frame = frame.assign(**{case.names[0]: [None, *frame[case.names[0]].astype(float)[1:]]})
    frame.to_parquet(folder / f"{name}.parquet")
    return f"{name}.parquet", "leave the row out"


REFUSED = [workbook, decimals, binary, latin_1, two_arrays, nulls]


class Peer:
    def __init__(self, binary, checks):
        self.binary, self.check = binary, checks

    def imported(self, folder, case, pool, evaluation):
        document = {
            "schema": 1, "task": "selection", "title": "T", "leaderboards": [{"name": "t", "about": "t", "max_examples": 6}], "classes": case.classes,
            "pool": pool, "eval": evaluation, "model": "nearest_centroid", "metric": "accuracy", "allow_duplicates": True,
        }
        (folder / "task.yaml").write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False))
        words = [self.binary, "dataset", "import", "selection", "--from", folder, "--out", folder / "frozen"]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True)

    def taken(self, seed, folder):
        case = Case(seed)
        pool_form, eval_form = (FORMS[k] for k in case.rng.integers(len(FORMS), size=2))
        pool, expected, how = pool_form(case, case.frame(case.n, 0), folder, "pool")
        evaluation, _, eval_how = eval_form(case, case.frame(10, 10_000), folder, "eval")
        what = f"seed {seed}: {how} with {eval_how}"
        ran = self.imported(folder, case, pool, evaluation)
        if ran.returncode != 0:
            return self.check(what, False, ran.stderr.strip())
        features = np.load(folder / "frozen/public/pool.npy").astype(np.float64)
        with open(folder / "frozen/public/pool.csv", newline="") as file:
            examples = list(csv.DictReader(file))
        parameters = json.loads((folder / "frozen/manifest.json").read_text())["parameters"]
        # columns come in the order of the test set, where both have names
        is_named = isinstance(pool, str) and pool_form is not lists
        names = is_named and parameters["about"].get("columns") or [name for name in expected.columns if name in case.names]
        numbers = expected[names].to_numpy(np.float64)
        same = features.shape == numbers.shape and np.array_equal(features, numbers)
        ids = [row["id"] for row in examples] == [str(value) for value in expected.id]
        labels = [row["label"] for row in examples] == [str(value) for value in expected.label]
        self.check(what, same and ids and labels, "" if same and ids and labels else f"numbers {same}, ids {ids}, labels {labels}")

    def refused(self, form, folder):
        case = Case(1)
        pool, remedy = form(case, case.frame(20, 0), folder, "pool")
        case.frame(10, 10_000).to_csv(folder / "eval.csv", index=False)
        ran = self.imported(folder, case, pool, "eval.csv")
        self.check(f"refused with a remedy: {form.__name__}", ran.returncode == 1 and remedy in ran.stderr, "" if remedy in ran.stderr else ran.stderr.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="where dataperf is")
    parser.add_argument("--size", choices=["quick", "full"], default="quick", help="50 tables or 500")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    args = parser.parse_args()
    checks = Checks()
    peer = Peer(args.bin / "dataperf", checks)
    for seed in range(args.seed, args.seed + (500 if args.size == "full" else 50)):
        with tempfile.TemporaryDirectory() as folder:
            peer.taken(seed, Path(folder))
    for form in REFUSED:
        with tempfile.TemporaryDirectory() as folder:
            peer.refused(form, Path(folder))
    print(f"{checks.n - len(checks.failed)} of {checks.n} agree")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()

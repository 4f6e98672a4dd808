"""From lists, dictionaries, arrays and data frames to the file that a benchmark takes.

NumPy and pandas are not needed: an array is what has `tolist`, a data frame what has `columns` and `to_csv`.
"""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any, Optional, Protocol, Union, runtime_checkable

Artifact = Union[bytes, str, "os.PathLike[str]", "list[Any]", "tuple[Any, ...]", "dict[Any, Any]", Any]
"""What can be submitted.

- `bytes`: the file's content; `str` or a path: the file.
- A dictionary: the JSON document, with arrays and tuples as lists.
- A list, a tuple or an array with one axis: the ids of `selection`, the order of `debugging`.
- An array with two axes: for `data-acquisition`, `(n_markets, n_sellers)` numbers of rows.
- A data frame: for `selection` with the column `id`, and `label` where participants label the rows; other columns are left out. For `curation`
  with the columns `label,f0,f1,...`.
- A pair of arrays: for `curation`, `(n,)` labels and `(n, n_features)` features.
- A list of dictionaries, or one of them: the lines of `adversarial-text` and `adversarial-nibbler`.
"""

LISTS = {"selection": "ids", "debugging": "order"}
LINES = ("adversarial-text", "adversarial-nibbler")


def to_file(benchmark: str, artifact: Artifact, labels: Optional[str] = None) -> tuple[bytes, str]:
    """The file's content and the end of its name. `labels` says who labels the rows of `selection`: `pool`, `submission`, or not known."""
    if isinstance(artifact, bytes):
        return artifact, ".jsonl" if benchmark in LINES else _suffix(artifact)
    if isinstance(artifact, (str, os.PathLike)):
        path = Path(artifact)
        return path.read_bytes(), path.suffix
    if isinstance(artifact, _Frame):
        if benchmark not in ("selection", "curation"):
            raise TypeError(f"`{benchmark}` takes no data frame: give a dictionary, a list, or the file")
        frame = _selected(artifact, labels) if benchmark == "selection" else artifact
        return frame.to_csv(index=False).encode(), ".csv"
    if benchmark == "curation" and isinstance(artifact, (list, tuple)) and len(artifact) == 2:
        return _table(*map(_plain, map(_values, artifact))), ".csv"
    plain = _plain(artifact)
    if benchmark in LINES:
        return _lines(benchmark, [plain] if isinstance(plain, dict) else plain), ".jsonl"
    if benchmark == "data-acquisition" and isinstance(plain, list):
        if not all(isinstance(row, list) for row in plain):
            raise TypeError("`data-acquisition` takes an array with two axes: (n_markets, n_sellers) numbers of rows")
        plain = {str(market): counts for market, counts in enumerate(plain)}
    if isinstance(plain, list):
        if benchmark not in LISTS:
            raise TypeError(f"`{benchmark}` takes no list: give a dictionary or the file")
        plain = {LISTS[benchmark]: [str(one) if isinstance(one, int) else one for one in plain]}
    if not isinstance(plain, dict):
        raise TypeError(f"a {type(artifact).__name__} is no artifact: give a dictionary, a list, an array, a data frame, or a file")
    return json.dumps(plain, ensure_ascii=False, allow_nan=False).encode(), ".json"


def _suffix(content: bytes) -> str:
    if content.startswith(b"PK\x03\x04"):
        return ".zip"
    if content.startswith(b"PAR1"):
        return ".parquet"
    return ".json" if content.lstrip()[:1] in (b"{", b"[") else ".csv"


@runtime_checkable
class _Frame(Protocol):
    """What is used of a data frame."""

    @property
    def columns(self) -> Any: ...

    def __getitem__(self, columns: Any) -> Any: ...

    def to_csv(self, *, index: bool) -> str: ...

    def to_numpy(self) -> Any: ...


def _selected(frame: _Frame, labels: Optional[str]) -> Any:
    """The columns that a selection has."""
    columns = list(frame.columns)
    if "id" not in columns or set(columns) <= {"id", "label"}:
        return frame
    if "label" in columns and labels is None:
        raise ValueError("the data frame has the column `label` and others: give `frame[['id']]`, or `frame[['id', 'label']]` if the contest asks for labels")
    return frame[["id", "label"] if "label" in columns and labels == "submission" else ["id"]]


def _plain(value: Any) -> Any:
    """With lists for tuples and arrays, and Python's numbers for NumPy's."""
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _values(table: Any) -> Any:
    """The values of a data frame; anything else as it is."""
    return table.to_numpy() if isinstance(table, _Frame) else table


def _lines(benchmark: str, lines: Any) -> bytes:
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        raise TypeError(f"`{benchmark}` takes a list of dictionaries, one for each line, or the file")
    return "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines).encode()


def _number(value: Any) -> str:
    return repr(int(value)) if isinstance(value, bool) else repr(value)


def _table(labels: Any, features: Any) -> bytes:
    if not isinstance(labels, list) or not isinstance(features, list) or not all(isinstance(row, list) for row in features):
        raise TypeError("`curation` takes (n,) labels and (n, n_features) features, in this order")
    if len(labels) != len(features):
        raise ValueError(f"there are {len(labels)} labels and {len(features)} rows of features")
    width = len(features[0]) if features else 0
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["label", *(f"f{column}" for column in range(width))])
    for label, row in zip(labels, features):
        writer.writerow([label, *map(_number, row)])
    return text.getvalue().encode()

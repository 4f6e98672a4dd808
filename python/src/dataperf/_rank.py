"""Ranks for anybody's results."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union

from ._command import run

Results = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], Mapping[str, Mapping[Any, Any]], Any]
"""Paths of tables, logs or folders of logs; a data frame; or a dictionary of systems, each a dictionary of items and values."""


def rank(
    results: Results,
    *,
    compare: Optional[tuple[str, str]] = None,
    plot: Union[str, "os.PathLike[str]", None] = None,
    **options: Any,
) -> dict[str, Any]:
    """Ranks the systems in `results` and says what the ranks are worth: `rows`, best first, and `resolution`, with what `dataperf rank`
    prints beside them as JSON. Raises `DataperfError` with everything that is wrong with the results.

    `compare` names two systems, whose paired comparison is `comparison` then; `plot` is an SVG file to write. `options` are those of
    the command with `_` for `-`: `item="question"`, `missing="drop-items"`, `ignore=["mean"]`, `lower_is_better=True`.

        rank("results.csv")["rows"][0]["rank_high"]
        rank({"a": {"q1": True, "q2": False}, "b": {"q1": True, "q2": True}}, keep_odd=True)
    """
    arguments: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif isinstance(value, (list, tuple)):
            arguments += [f"{flag}={one}" for one in value]
        elif value is not None and value is not False:
            arguments.append(f"{flag}={value}")
    if compare is not None:
        arguments += ["--compare", *compare]
    if plot is not None:
        arguments += ["--plot", os.fspath(plot)]
    with tempfile.TemporaryDirectory() as scratch:
        document: dict[str, Any] = json.loads(run(["rank", *arguments, "--", *_files(results, Path(scratch))]))
        return document


def _files(results: Results, scratch: Path) -> list[str]:
    if isinstance(results, (str, os.PathLike)):
        return [os.fspath(results)]
    if isinstance(results, Mapping):
        path = scratch / "results.jsonl"
        lines = (
            json.dumps({"item": str(item), "system": system, "value": value}) + "\n"
            for system, values in results.items()
            for item, value in values.items()
        )
        path.write_text("".join(lines), encoding="utf-8")
        return [str(path)]
    frame: Any = results
    if hasattr(frame, "to_csv"):
        path = scratch / "results.csv"
        # a named index is the column of ids; a nameless one counts rows
        frame.to_csv(path, index=any(name is not None for name in frame.index.names))
        return [str(path)]
    return [os.fspath(one) for one in results]

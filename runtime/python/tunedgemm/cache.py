"""The views of a cache file, read-only: what was tuned, tried and missed. The view `help` explains
each column.

    import tunedgemm.cache
    for row in tunedgemm.cache.best(types="f16→f16"):
        print(row["m"], row["n"], row["k"], row["config"], row["median_us"])

Each view takes the path of a file (None: the default context's file) and the values of columns. It
returns the rows that have these values as dicts, or as a DataFrame of pandas with as_frame=True.
The file may be in use. A process of its own reads it, see _cache_reader.py."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable
from typing import Any, Literal, Union, overload

from . import _core
from ._errors import Error, InvalidArgumentError
from ._html import table

__all__ = ["best", "coverage", "default_path", "failures", "help", "missing", "stale", "trials"]

Path = Union[str, "os.PathLike[str]", None]


class Rows(list[dict[str, Any]]):
    """The rows of a view, which a notebook shows as a table."""

    def __init__(self, columns: list[str], rows: Iterable[Iterable[Any]]) -> None:
        super().__init__(dict(zip(columns, row)) for row in rows)
        self._columns = columns

    def _repr_html_(self) -> str:
        return table(self._columns, (row.values() for row in self))


class _View:
    """A call returns the rows of a view of the cache file `path` in which each column named has the
    given value: dicts, or with as_frame=True a DataFrame of pandas."""

    def __init__(self, name: str, meaning: str) -> None:
        self._name, self.__doc__ = name, meaning

    @overload
    def __call__(
        self, path: Path = ..., *, as_frame: Literal[False] = ..., **equal: Any
    ) -> Rows: ...
    @overload
    def __call__(self, path: Path = ..., *, as_frame: Literal[True], **equal: Any) -> Any: ...
    def __call__(self, path: Path = None, *, as_frame: bool = False, **equal: Any) -> Any:
        _core.write_pending()  # so that the file has what this process has named or missed
        file = default_path() if path is None else pathlib.Path(path)
        if file is None:
            raise FileNotFoundError(
                "there is no cache: neither TUNEDGEMM_CACHE nor HOME is set; pass the path of one"
            )
        if not file.is_file():
            raise FileNotFoundError(
                f"there is no cache at {file}: nothing has been tuned or asked for with it yet, or "
                "pass another path"
            )
        answer = _read(file, self._name, equal)
        columns = answer["columns"]
        if as_frame:
            import pandas  # needed for frames only

            frame = pandas.DataFrame(answer["rows"], columns=columns)
            # Of a number that no row has, pandas would make a column of objects.
            absent = [name for name in columns if answer["rows"] and frame[name].isna().all()]
            return frame.astype(dict.fromkeys(absent, "float64"))
        return Rows(columns, answer["rows"])


best = _View(
    "best",
    "The winner of each problem on each device: config, time, speed-up over the default, state.",
)
missing = _View("missing", "The problems that programs ran without a winner, the most work first.")
trials = _View(
    "trials",
    "Each trial, with its time or why it failed. A file may have a million: give m, n and k.",
)
failures = _View("failures", "The candidates that failed, counted by device, family and reason.")
stale = _View(
    "stale", "The winners that were tuned with another compiler or driver than the device's last."
)
coverage = _View(
    "coverage",
    "The number of problems by state, for each device, and the share of the requested ones that "
    "are tuned.",
)
help = _View("help", "The meaning and the unit of each column of each view.")


def default_path() -> pathlib.Path | None:
    """The file of a context without a path, as in cache/file/location.cpp; None without a variable
    or a home folder that names one."""
    named = os.environ.get("TUNEDGEMM_CACHE", "")
    if named:
        return pathlib.Path(named).absolute()
    caches, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if not os.path.isabs(caches):  # to be ignored, by the XDG base directory specification
        caches = os.path.join(home, ".cache")
    return pathlib.Path(caches, "tunedgemm", "tunedgemm.db") if os.path.isabs(caches) else None


def _read(file: pathlib.Path, view: str, equal: dict[str, Any]) -> dict[str, Any]:
    question = json.dumps({"path": str(file), "view": view, "equal": equal})
    reader = str(pathlib.Path(__file__).with_name("_cache_reader.py"))
    process = subprocess.run(
        [sys.executable, "-I", "-S", reader],
        input=question,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if process.returncode != 0:
        raise Error(
            f"the cache {file} could not be read by {sys.executable}: {process.stderr.strip()}"
        )
    answer: dict[str, Any] = json.loads(process.stdout)
    if "error" in answer:
        raise InvalidArgumentError(
            f"the cache {file} cannot be read: {answer['error']}; `tunedgemm doctor` examines and "
            "repairs it"
        )
    if "not_a_cache" in answer:
        raise InvalidArgumentError(f"{file} is a database, but no cache of tunedgemm")
    if "unknown_column" in answer:
        raise TypeError(
            f"{view} has no column {answer['unknown_column']}; it has "
            f"{', '.join(answer['columns'])}"
        )
    return answer

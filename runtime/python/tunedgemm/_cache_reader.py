"""A program that reads a view of a cache file: arguments on stdin, rows on stdout, both in JSON.

A process that closes a file loses all its POSIX locks on that file, also those of another copy of
SQLite. Python and the library have a copy each, so reading in the library's process could let other
processes into the middle of a transaction."""

import contextlib
import json
import pathlib
import sqlite3
import sys
from typing import Any

APPLICATION_ID = 0x7467656D  # cache/sqlite/schema.h


def read(path: str, view: str, equal: dict[str, Any]) -> dict[str, Any]:
    """The columns, and the rows for which `equal` holds; or an error."""
    with contextlib.closing(
        sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=ro", uri=True)
    ) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
            return {"not_a_cache": True}
        columns = [
            column[0] for column in connection.execute(f"SELECT * FROM {view} LIMIT 0").description
        ]
        for name in equal:
            if name not in columns:
                return {"unknown_column": name, "columns": columns}
        condition = " AND ".join(f"{name} IS ?" for name in equal) or "1"
        rows = connection.execute(
            f"SELECT * FROM {view} WHERE {condition}", tuple(equal.values())
        ).fetchall()
        return {"columns": columns, "rows": rows}


if __name__ == "__main__":
    try:
        answer = read(**json.load(sys.stdin))
    except sqlite3.Error as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)

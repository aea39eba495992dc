"""Tables for notebooks."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable
from typing import Any

from ._core import Plan


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table in HTML. All texts are escaped; None is an empty cell."""

    def row(cells: Iterable[Any], tag: str) -> str:
        texts = ("" if cell is None else html.escape(str(cell)) for cell in cells)
        return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><thead>{row(columns, 'th')}</thead><tbody>{body}</tbody></table>"


def of_plan(plan: Plan) -> str:
    """What is known of a plan's kernel and its tuning."""
    known = dataclasses.asdict(plan.info).items()
    rounded = ((name, round(one, 3) if isinstance(one, float) else one) for name, one in known)
    return table(("plan", plan.description), (item for item in rounded if item[1] is not None))

#!/usr/bin/env python3
"""Writes measured results into the README, between its markers.

    tune-all --json tools/shapes/layers.csv > results.json
    tools/update_readme.py results results.json [README.md]

The first argument names the markers: <!-- begin results --> and <!-- end results -->. What stands
between them is replaced by a table, so that no number in the README is ever typed by hand.
"""
import json
import pathlib
import sys


def time_text(us: float) -> str:
    for limit, unit, scale in ((1e3, "us", 1), (1e6, "ms", 1e3)):
        if us < limit:
            return f"{us / scale:#.3g} {unit}".replace(". ", " ")
    return f"{us / 1e6:#.3g} s"


def ratio_text(slower_us: float | None, us: float) -> str:
    return f"{slower_us / us:.2f}" if slower_us else "-"


def shape_text(outcome: dict) -> str:
    record = outcome["record"]
    extents = f"{record['m']} x {record['n']} x {record['k']}"
    if record["batch"] > 1:
        extents = f"{record['batch']} of {extents}"
    return f"{outcome['name']}: {extents}" if outcome["name"] else extents


def table(outcomes: list[dict]) -> str:
    measured = [outcome for outcome in outcomes if outcome["record"]]
    if not measured:
        raise SystemExit("update_readme.py: no outcome in the file has a winner")
    rows = [
        "| shape | types | winner | time | GFLOP/s | x naive | x default |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for outcome in measured:
        record = outcome["record"]
        knobs = " ".join(f"{knob}={value}" for knob, value in record["config"].items())
        us = record["median_us"]
        rows.append(
            f"| {shape_text(outcome)} | {record['types']} {record['layout']} {record['epilogue']} "
            f"| {record['family']} {knobs} | {time_text(us)} | {record['gflops']:,.0f} "
            f"| {ratio_text(record['naive_us'], us)} | {ratio_text(record['default_us'], us)} |"
        )
    first = measured[0]["record"]
    day = max(outcome["record"]["tuned_at"] for outcome in measured).split(" ")[0]
    caption = f"{first['device']}, {first['compiler']}, rigor {first['rigor']}, {day}:"
    return "\n".join([caption, "", *rows])


def replaced(text: str, name: str, content: str) -> str:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise SystemExit(f"update_readme.py: the markers {begin} and {end} must be there once, in this order")
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def main() -> None:
    if len(sys.argv) not in (3, 4):
        raise SystemExit("usage: tools/update_readme.py MARKER RESULTS.json [README.md]")
    root = pathlib.Path(__file__).resolve().parent.parent
    readme = pathlib.Path(sys.argv[3]) if len(sys.argv) == 4 else root / "README.md"
    outcomes = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    readme.write_text(replaced(readme.read_text(encoding="utf-8"), sys.argv[1], table(outcomes)), encoding="utf-8")


if __name__ == "__main__":
    main()

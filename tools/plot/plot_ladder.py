#!/usr/bin/env python3
"""Plots the results of `tunedgemm ladder --json`: a dot for each step, from the naive loop to the
winner.

    tunedgemm ladder --json ladder.json
    plot_ladder.py ladder.json -o ladder                         ladder.png and ladder.svg

The dots are on a logarithmic scale, labelled with the rate and the speedup over the previous step.
Needs matplotlib (Debian: python3-matplotlib).
"""

import json
import pathlib
from typing import Any

from drawing import (
    add_header,
    compiler_name,
    fail,
    load_pyplot,
    parse_command_line,
    rate_unit,
    save,
)

COLOURS = {"step": "#7A99AC", "tuned": "#0072B2", "vendor": "#D55E00"}


def read(path: pathlib.Path) -> dict:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        for row in document["rows"]:
            row["m"], row["n"], row["k"], row["types"], row["layout"]
            for contender in row["contenders"]:
                contender["contender"], contender["tflops"], contender["kernel"]
        document["device"], document["compiler"], document["vendor"], document["began_at"]
    except OSError as error:
        raise fail(f"{path} cannot be read: {error.strerror}", error) from error
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise fail(
            f"{path} is not what `tunedgemm ladder --json` writes: {error!r}", error
        ) from error
    document["rows"] = [row for row in document["rows"] if row["contenders"]]
    if not document["rows"]:
        raise fail(f"{path} has no problem with a result")
    return document


def colour_of(contender: dict) -> str:
    return COLOURS[
        "vendor"
        if contender["kernel"] is None
        else "tuned"
        if contender["contender"] == "tuned"
        else "step"
    ]


def message(row: dict) -> str:
    """The speed of the tuned kernel beside the first step's and the last one's, the vendor's."""
    rates = {contender["contender"]: contender["tflops"] for contender in row["contenders"]}
    first, *_, last = rates.items()
    return "Tuned: " + ", ".join(
        f"{rates.get('tuned', last[1]) / rate:.2f} times as fast as {name}"
        for name, rate in (first, last)
        if name != "tuned"
    )


def draw_panel(axes: Any, row: dict) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    contenders = row["contenders"]
    unit, scale = rate_unit(max(contender["tflops"] for contender in contenders))
    rates = [scale * contender["tflops"] for contender in contenders]
    left = 0.7 * min(rates)
    for step, (contender, speed) in enumerate(zip(contenders, rates)):
        axes.hlines(step, left, speed, color="#DDDDDD", linewidth=0.8)
        axes.plot([speed], [step], "o", color=colour_of(contender), markersize=8, clip_on=False)
        times = f"  ×{speed / rates[step - 1]:.2f}" if step else ""
        axes.annotate(
            f"{speed:.3g}{times}",
            (speed, step),
            (9, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
        )
    axes.set_yticks(range(len(contenders)), [contender["contender"] for contender in contenders])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(left, max(rates))
    steps = (1, 2, 5) if max(rates) / left < 100 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(unit)
    axes.set_title(
        f"{row['m']} × {row['n']} × {row['k']}, {row['types']} {row['layout']}",
        loc="left",
        fontsize=12,
    )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def draw(document: dict, prefix: str) -> None:
    pyplot = load_pyplot()
    rows = document["rows"]
    steps = max(len(row["contenders"]) for row in rows)
    width, height = max(9.0, 1.0 + 6.2 * len(rows)), 1.7 + 0.42 * steps  # inches
    figure, axes = pyplot.subplots(
        1, len(rows), figsize=(width, height), squeeze=False, layout="constrained"
    )
    for cell, row in zip(axes.flat, rows):
        draw_panel(cell, row)
    title = f"{message(rows[-1])} ({rows[-1]['m']} × {rows[-1]['n']} × {rows[-1]['k']})"
    vendor = f", {document['vendor']}" if document["vendor"] else ""
    add_header(
        figure,
        title,
        f"{document['device']}, {document['began_at'].split(' ')[0]}, "
        f"{compiler_name(document['compiler'])}{vendor}; ×: how many times as fast as the line "
        "above" + ("; for the vendor's, as the tuned kernel" if vendor else ""),
    )
    save(
        figure,
        prefix,
        title,
        "TFLOP/s: "
        + "; ".join(
            f"{row['m']} x {row['n']} x {row['k']}: "
            + ", ".join(
                f"{contender['contender']} {contender['tflops']:.3g}"
                for contender in row["contenders"]
            )
            for row in rows
        ),
    )


def main() -> None:
    file, prefix = parse_command_line(__doc__, "ladder", "the JSON file of tunedgemm ladder")
    draw(read(file), prefix)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Plots the results of `tunedgemm ladder --json`: a dot for each step, from the naive loop to the
winner.

    tunedgemm ladder --json ladder.json
    plot_ladder.py ladder.json -o ladder                         ladder.png and ladder.svg

The dots are on a logarithmic scale, labelled with TFLOP/s and the speedup over the previous step.
Needs matplotlib (Debian: python3-matplotlib).
"""

import json
import pathlib
from typing import Any

from drawing import fail, load_pyplot, parse_command_line, save

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


def draw_panel(axes: Any, row: dict) -> None:
    contenders = row["contenders"]
    tflops = [contender["tflops"] for contender in contenders]
    for step, (contender, speed) in enumerate(zip(contenders, tflops)):
        axes.plot([speed], [step], "o", color=colour_of(contender), markersize=8)
        times = f"  ×{speed / tflops[step - 1]:.2f}" if step else ""
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
    axes.set_xlim(min(tflops) / 2, max(tflops) * 12)
    axes.set_xlabel("TFLOP/s")
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
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
    title = f"From the naive loop to the tuned kernel: {document['device']}"
    figure.text(0.2 / width, 1 - 0.12 / height, title, fontsize=14, fontweight="bold", va="top")
    vendor = f", {document['vendor']}" if document["vendor"] else ""
    figure.text(
        0.2 / width,
        1 - 0.45 / height,
        f"{document['began_at'].split(' ')[0]}, {document['compiler']}{vendor}; ×: speedup over "
        "the previous step",
        fontsize=10,
        color="#555555",
        va="top",
    )
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.75 / height))
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

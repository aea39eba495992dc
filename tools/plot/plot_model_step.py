#!/usr/bin/env python3
"""Plots the results of tools/examples/python/model_step.py: the speedup of a model's step by
tuned kernels.

    python3 tools/examples/python/model_step.py gpt2 --json gpt2.json
    plot_model_step.py gpt2.json -o gpt2                         gpt2.png and gpt2.svg

Each way to run the step is compared with the same way without this library, and "tuned" mixtures
of experts with PyTorch's "grouped_mm". Needs matplotlib (Debian: python3-matplotlib)."""

import json
import pathlib

from drawing import fail, load_pyplot, parse_command_line, save

COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00")


def baseline(way: str) -> str:
    """The same way without this library; that way itself if it has none of it."""
    way = way.split(" + ")[0]
    return way.replace("tuned", "grouped_mm") if way.startswith("tuned") else way


def read(path: pathlib.Path) -> dict:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        document["model"], document["blocks"], document["device"]
        document["ways"] = [way for way in document["rows"][0]["us"] if baseline(way) != way]
        for row in document["rows"]:
            row["speedups"] = [
                row["us"][baseline(way)] / row["us"][way] for way in document["ways"]
            ]
            row["tokens"]
    except OSError as error:
        raise fail(f"{path} cannot be read: {error.strerror}", error) from error
    except (json.JSONDecodeError, KeyError, TypeError, IndexError, ZeroDivisionError) as error:
        raise fail(f"{path} is not what model_step.py --json writes: {error!r}", error) from error
    return document


def draw(document: dict, prefix: str) -> None:
    figure, axes = load_pyplot().subplots(figsize=(9, 3.6), layout="constrained")
    rows, ways = document["rows"], document["ways"]
    width = 0.84 / len(ways)
    for i, way in enumerate(ways):
        bars = axes.bar(
            [x + i * width for x in range(len(rows))],
            [row["speedups"][i] for row in rows],
            0.92 * width,
            label=way,
            color=COLOURS[i % len(COLOURS)],
        )
        axes.bar_label(bars, fmt="%.2f", fontsize=8)
    axes.axhline(1, color="#555555", linewidth=0.8)
    axes.set_xticks(
        [x + 0.42 - width / 2 for x in range(len(rows))], [f"{row['tokens']}" for row in rows]
    )
    axes.set_xlabel("tokens in a step")
    axes.set_ylabel("speedup")
    model = f"{document['model']} ({document['blocks']} blocks)"
    title = f"A step of {model} in PyTorch, {document['device']}"
    axes.set_title(title, loc="left", fontsize=12)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(fontsize=9, frameon=False, ncols=2)
    save(
        figure,
        prefix,
        title,
        "Speedup by tuned products: "
        + "; ".join(
            f"{row['tokens']} tokens: "
            + ", ".join(f"{way} {speedup:.2f}" for way, speedup in zip(ways, row["speedups"]))
            for row in rows
        ),
    )


def main() -> None:
    path, prefix = parse_command_line(
        __doc__, "results", "the file that model_step.py --json wrote"
    )
    draw(read(path), prefix)


if __name__ == "__main__":
    main()

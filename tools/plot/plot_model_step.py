#!/usr/bin/env python3
"""Plots how many times as fast a model's step in PyTorch becomes, a dot for each number of tokens.

    python3 tools/examples/python/model_step.py gpt2 --json gpt2.json
    plot_model_step.py gpt2.json -o gpt2                         gpt2.png and gpt2.svg

Also plots what tools/measure/unmodified_models.py --json wrote. The best way with this library is
compared with the best way without it; a bar reaches from the least to the greatest speedup of the
pairs of processes. Needs matplotlib (Debian: python3-matplotlib)."""

import json
import pathlib
import statistics

from drawing import add_header, fail, load_pyplot, parse_command_line, save

BETTER, WORSE = "#0072B2", "#D55E00"


def compared(row: dict) -> dict:
    """The row with its speedups. A way has one time, or a list with one of each process."""
    times = {way: us if isinstance(us, list) else [us] for way, us in row["us"].items()}
    ours = {way for way in times if way.startswith("tuned") or " + " in way}
    before, after = (
        min(ways, key=lambda way: min(times[way])) for ways in (times.keys() - ours, ours)
    )
    pairs = [old / new for old, new in zip(times[before], times[after])]
    before_us, after_us = min(times[before]), min(times[after])
    return row | {
        "name": f"{row['model']}, {row['tokens']} tokens" if "model" in row else f"{row['tokens']}",
        "speedup": before_us / after_us,
        "range": (min(pairs), max(pairs)),
        "times": f"{before_us:,.0f} us {before} → {after_us:,.0f} us {after}",
    }


def read(path: pathlib.Path) -> dict:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        document["rows"] = [compared(row) for row in document["rows"]]
        document["rows"][0]["name"], document["device"] + document["pytorch"]
        document["subject"] = (
            f"{document['blocks']} blocks of {document['model']}"
            if "model" in document
            else "whole models"
        )
    except OSError as error:
        raise fail(f"{path} cannot be read: {error.strerror}", error) from error
    except (ValueError, KeyError, TypeError, IndexError, ZeroDivisionError) as error:
        raise fail(f"{path} is not what model_step.py --json writes: {error!r}", error) from error
    return document


def draw(document: dict, prefix: str) -> None:
    rows = document["rows"]
    figure, axes = load_pyplot().subplots(figsize=(9, 2 + 0.32 * len(rows)), layout="constrained")
    for i, row in enumerate(rows):
        colour = BETTER if row["speedup"] >= 1 else WORSE
        axes.hlines(i, *row["range"], color=colour, linewidth=1.5)
        axes.plot([row["speedup"]], [i], "o", color=colour, markersize=7, clip_on=False)
        axes.annotate(
            f"{row['speedup']:.2f}:  {row['times']}",
            (max(1, row["speedup"], *row["range"]), i),  # not across the line at 1
            (9, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.axvline(1, color="#555555", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    least, most = min(row["range"][0] for row in rows), max(row["range"][1] for row in rows)
    axes.set_xlim(min(0.95, 0.98 * least), max(1, most))
    axes.set_ylabel("tokens" if "model" in document else None)
    axes.set_xlabel("speedup, the best way with tuned products beside the best without")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    speedups = [row["speedup"] for row in rows]
    title = (
        f"A step of {document['subject']}: {statistics.median(speedups):.2f} times as fast "
        f"(median; {min(speedups):.2f} to {max(speedups):.2f})"
    )
    day, pairs = document.get("began_at", "").split(" ")[0], document.get("pairs")
    facts = (document["device"], day, f"PyTorch {document['pytorch']}")
    bars = f"{pairs} pairs of processes, whose speedups the bars show" if pairs else ""
    add_header(figure, title, ", ".join(filter(None, (*facts, bars))))
    description = "; ".join(f"{row['name']}: {row['speedup']:.2f}, {row['times']}" for row in rows)
    save(figure, prefix, title, f"Speedup by tuned products, by tokens: {description}")


def main() -> None:
    path, prefix = parse_command_line(
        __doc__, "results", "the file that model_step.py --json wrote"
    )
    draw(read(path), prefix)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Plots the results of `tunedgemm bench --json` or bench_triton.py: TFLOP/s over size, a line for
each provider.

    tunedgemm bench --sweep squares --json squares.json
    plot_bench.py squares.json -o squares                       squares.png and squares.svg
    plot_bench.py old.json new.json --labels before,after -o both
    plot_bench.py --check old.json                              reports errors only

The line is the median. Each combination of types and layout has its own panel. Needs matplotlib
(Debian: python3-matplotlib).
"""

import argparse
import itertools
import json
import math
import pathlib
import statistics
from dataclasses import dataclass
from typing import Any

from drawing import add_header, compiler_name, fail, load_pyplot, rate_unit, save

# The contender, colour and marker of each provider. None: cuBLASLt's best proposal, another
# contender for each size. The colours, by Okabe and Ito, are for colour-blind readers too.
PROVIDERS = {
    "libtunedgemm": ("tuned", "#0072B2", "o"),
    "cuBLASLt default": ("cublaslt 0", "#8C8C8C", "s"),
    "cuBLASLt best of 8": (None, "#D55E00", "^"),
    "Triton": ("triton", "#009E73", "D"),
    "cuBLAS": ("cublas", "#CC79A7", "v"),
    "OpenBLAS": ("openblas 0", "#D55E00", "s"),
}
LINES = ("-", "--", ":", "-.")  # one per run


@dataclass
class Run:
    label: str
    device: str
    vendor: str | None
    compiler: str
    began_at: str
    rounds: int
    rows: list[dict]


def check_row(row: dict) -> None:
    """Raises KeyError, TypeError or ValueError if a plotted field is missing or wrong."""
    if "" in (row["types"] + "", row["layout"] + "") or min(row[extent] for extent in "mnk") < 1:
        raise ValueError("a row without types, layout or size")
    for contender in row["contenders"]:
        if min(contender[figure] for figure in ("median_us", "p20_us", "p80_us", "tflops")) <= 0:
            raise ValueError(
                f"the contender {contender['contender']} has a figure that is not greater than 0"
            )


def read_run(path: pathlib.Path, label: str) -> Run:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        rows = [row for row in document["rows"] if row["contenders"]]
        for row in rows:
            check_row(row)
        keys = ("device", "vendor", "compiler", "began_at", "rounds")
        run = Run(label=label, rows=rows, **{key: document[key] for key in keys})
    except OSError as error:
        raise fail(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:  # a JSONDecodeError is a ValueError
        raise fail(f"{path} is not what `tunedgemm bench --json` writes: {error!r}") from error
    if not rows:
        raise fail(f"{path} has no shape with a result")
    return run


def contender_of(row: dict, provider: str) -> dict | None:
    name = PROVIDERS[provider][0]
    found = [
        contender
        for contender in row["contenders"]
        if contender["contender"] == name
        or (name is None and contender["contender"].startswith("cublaslt "))
    ]
    return min(found, key=lambda contender: contender["median_us"], default=None)


def size_axis(rows: list[dict]) -> tuple[str, list[float], bool]:
    """The axis label, each row's position, and whether a line may connect neighbours."""
    if all(row["m"] == row["n"] == row["k"] for row in rows):
        return "M = N = K (elements)", [row["m"] for row in rows], True
    varying = [name for name in "mnk" if len({row[name] for row in rows}) > 1]
    if len(varying) == 1:
        fixed = ", ".join(
            f"{name.upper()} = {rows[0][name]}" for name in "mnk" if name not in varying
        )
        return f"{varying[0].upper()} (elements; {fixed})", [row[varying[0]] for row in rows], True
    return (
        "(M · N · K) to the power of 1/3 (elements)",
        [math.cbrt(row["m"] * row["n"] * row["k"]) for row in rows],
        False,
    )


def draw_panel(axes: Any, runs: list[Run], panel: tuple[str, str], only_panel: bool) -> None:
    rows_of = {
        run.label: [row for row in run.rows if (row["types"], row["layout"]) == panel]
        for run in runs
    }
    name, _, is_line = size_axis([row for rows in rows_of.values() for row in rows])
    rates = [each["tflops"] for run in runs for row in run.rows for each in row["contenders"]]
    unit, scale = rate_unit(max(rates))
    for run, line in zip(runs, itertools.cycle(LINES)):
        rows = rows_of[run.label]
        sizes = [row[name[0].lower()] for row in rows] if is_line else size_axis(rows)[1]
        for provider, (_, colour, marker) in PROVIDERS.items():
            found = [(size, contender_of(row, provider)) for size, row in zip(sizes, rows)]
            points = sorted((size, scale * each["tflops"]) for size, each in found if each)
            if not points:
                continue
            is_ours = provider == "libtunedgemm"
            axes.plot(
                [size for size, _ in points],
                [rate for _, rate in points],
                color=colour,
                linestyle=line if is_line else "none",
                linewidth=2.2 if is_ours else 1.5,
                marker=marker,
                markersize=4,
                markerfacecolor=colour if line == LINES[0] else "white",
                label=provider if len(runs) == 1 else f"{provider}, {run.label}",
                zorder=4 if is_ours else 3,
                clip_on=False,
            )
        bounds = [
            (size, scale * bound) for size, row in zip(sizes, rows) if (bound := roofline(row))
        ]
        if bounds and is_line and len(runs) == 1:
            label = "roofline at the measured clock"
            axes.plot(*zip(*sorted(bounds)), color="#555555", linewidth=0.8, label=label)
    axes.set_xlabel(name)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=2,
        frameon=False,
        title=None if only_panel else " ".join(panel),
        alignment="left",
    )


def roofline(row: dict) -> float | None:
    """The TFLOP/s that the device's peak and bandwidth allow."""
    tuned = contender_of(row, "libtunedgemm") or {}
    return tuned["tflops"] / tuned["of_roofline"] if tuned.get("of_roofline") else None


def message(rows: list[dict]) -> str | None:
    """How fast this library is beside the fastest other that was measured."""
    for rival in [name for name in PROVIDERS if name not in ("libtunedgemm", "cuBLASLt default")]:
        pairs = [[contender_of(row, name) for name in (rival, "libtunedgemm")] for row in rows]
        if ratios := [them["median_us"] / us["median_us"] for them, us in pairs if them and us]:
            spread = f"median; {min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} sizes"
            return f"{statistics.median(ratios):.2f} times as fast as {rival} ({spread})"
    return None


def titles(runs: list[Run], panels: list[tuple[str, str]]) -> tuple[str, str]:
    devices = " and ".join(dict.fromkeys(run.device for run in runs))
    what = " ".join(panels[0]) if len(panels) == 1 else "matrix multiplication"
    measured = [run for run in runs if run.rounds > 0] or runs  # published figures have none
    days = " and ".join(dict.fromkeys(run.began_at.split(" ")[0] for run in measured))
    with_what = dict.fromkeys(
        text for run in runs for text in (compiler_name(run.compiler), run.vendor) if text
    )
    rounds = " and ".join(dict.fromkeys(str(run.rounds) for run in measured))
    how = f"{days}, {', '.join(with_what)}; median of {rounds} interleaved rounds"
    found = message(runs[0].rows) if len(runs) == len(panels) == 1 else None
    return (found, f"{what} on {devices}, {how}") if found else (f"{what} on {devices}", how)


def draw(runs: list[Run], prefix: str) -> None:
    pyplot = load_pyplot()

    panels = list(dict.fromkeys((row["types"], row["layout"]) for run in runs for row in run.rows))
    columns = min(len(panels), 2)
    lines = -(-len(panels) // columns)
    width, height = 9.5 if columns == 1 else 14, 1 + 5 * lines  # in inches, like the sizes below
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(width, height), squeeze=False, layout="constrained"
    )
    for index, cell in enumerate(axes.flat):
        if index < len(panels):
            draw_panel(cell, runs, panels[index], len(panels) == 1)
        else:
            cell.set_visible(False)
    title, subtitle = titles(runs, panels)
    add_header(figure, title, subtitle)
    save(
        figure,
        prefix,
        title,
        f"TFLOP/s over size, for {', '.join(dict.fromkeys(run.label for run in runs))}; {subtitle}",
    )


def labels_of(paths: list[pathlib.Path], given: str | None) -> list[str]:
    """The given labels, else the file names, or the paths if names repeat."""
    names = given.split(",") if given else [path.stem for path in paths]
    return names if given or len(set(names)) == len(names) else [str(path) for path in paths]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "results",
        nargs="+",
        type=pathlib.Path,
        help="JSON files of tunedgemm bench; several are overlaid",
    )
    purpose = parser.add_mutually_exclusive_group(required=True)
    purpose.add_argument("-o", "--output", metavar="PREFIX", help="write PREFIX.png and PREFIX.svg")
    purpose.add_argument(
        "--check", action="store_true", help="only read the files and report errors"
    )
    parser.add_argument(
        "--labels", help="names of the runs, joined by commas; default: the file names"
    )
    arguments = parser.parse_args()
    labels = labels_of(arguments.results, arguments.labels)
    if len(labels) != len(arguments.results) or len(set(labels)) != len(labels):
        parser.error(
            f"{len(arguments.results)} files are called {labels}; give each a different name by "
            "--labels"
        )
    runs = [read_run(path, label) for path, label in zip(arguments.results, labels)]
    if not arguments.check:
        draw(runs, arguments.output)


if __name__ == "__main__":
    main()

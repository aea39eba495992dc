#!/usr/bin/env python3
"""Plots the output of `tunedgemm order --json`: the grid of D's tiles for each order, coloured by
wave, with the path through it.

    tunedgemm order 1152 1152 1152 --compare --json order.json
    plot_order.py order.json -o order                            order.png and order.svg

The first wave is dark, the others alternate. Needs matplotlib (Debian: python3-matplotlib).
"""

import itertools
import json
import pathlib
from typing import Any

from drawing import add_header, fail, load_pyplot, parse_command_line, save

MOST_SHAPES = 10_000  # tiles of a picture; more become pixels
FIRST, OTHERS, PATH = "#1F4E79", ("#E6EDF4", "#C9D8E8"), "#D1495B"


def read(path: pathlib.Path) -> dict:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        document["title"], document["at_a_time"] + 0
        for order in document["orders"]:
            (
                order["name"],
                [order["first_wave"][count] for count in ("tiles", "rows", "columns", "bytes")],
            )
            if sorted(map(tuple, order["tiles"])) != [
                (m, n) for m in range(document["tiles_m"]) for n in range(document["tiles_n"])
            ]:
                raise ValueError(f"the order {order['name']} does not have every tile once")
    except OSError as error:
        raise fail(f"{path} cannot be read: {error.strerror}", error) from error
    except (ValueError, KeyError, TypeError) as error:  # a JSONDecodeError is a ValueError
        raise fail(
            f"{path} is not what `tunedgemm order --json` writes: {error!r}", error
        ) from error
    return document


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def message(document: dict) -> str:
    parts = [
        f"{order['first_wave']['bytes'] / 1e6:.3g} MB ({order['name']})"
        for order in document["orders"]
    ]
    return f"The first wave reads {', '.join(parts)}"


def draw_panel(axes: Any, order: dict, document: dict) -> None:
    from matplotlib.patches import Rectangle

    colours = [[FIRST] * document["tiles_n"] for _ in range(document["tiles_m"])]
    for index, (m, n) in enumerate(order["tiles"]):
        wave = index // document["at_a_time"]
        colours[m][n] = FIRST if wave == 0 else OTHERS[wave % 2]
    is_raster = len(order["tiles"]) > MOST_SHAPES
    for m, row in enumerate(colours):
        for colour, run in itertools.groupby(enumerate(row), key=lambda tile: tile[1]):
            first, *others = run
            extents = (first[0], m), 1 + len(others), 1
            axes.add_patch(Rectangle(*extents, color=colour, clip_on=False, rasterized=is_raster))
    axes.set(xlim=(0, document["tiles_n"]), ylim=(0, document["tiles_m"]))
    longest = max(document["tiles_m"], document["tiles_n"])
    axes.set_aspect("equal")
    axes.invert_yaxis()
    path = [(n + 0.5, m + 0.5) for m, n in order["tiles"]]
    width = min(1.8, max(0.3, 30 / longest))
    axes.plot(*zip(*path), color=PATH, linewidth=width, solid_capstyle="butt")
    axes.plot(*path[0], "o", color=PATH, markersize=3 * width)
    arrow = {"arrowstyle": "-|>", "color": PATH, "mutation_scale": 9 * width, "shrinkB": 0}
    axes.annotate("", path[-1], path[-2] if path[1:] else path[-1], arrowprops=arrow)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(order["name"], loc="left", fontsize=11)
    first = order["first_wave"]
    axes.set_xlabel(
        f"first wave: {first['tiles']} tiles read\n{counted(first['rows'], 'row')} of A and "
        f"{counted(first['columns'], 'column')} "
        "of B",
        loc="left",
    )


def draw(document: dict, prefix: str) -> None:
    pyplot = load_pyplot()
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    orders = document["orders"]
    figure, axes = pyplot.subplots(
        1, len(orders), figsize=(4.4 * len(orders), 6), squeeze=False, layout="constrained"
    )
    for cell, order in zip(axes.flat, orders):
        draw_panel(cell, order, document)
    title = message(document)
    add_header(figure, title, f"D of {document['title'].replace(' x ', ' × ')}")
    figure.legend(
        handles=[
            Patch(color=FIRST, label="first wave"),
            Patch(color=OTHERS[0], label="later, even waves"),
            Patch(color=OTHERS[1], label="later, odd waves"),
            Line2D([], [], color=PATH, label="order of the tiles"),
        ],
        loc="lower center",
        ncols=min(4, 2 * len(orders)),
        frameon=False,
    )
    left, _, width, height = figure.get_layout_engine().get()["rect"]
    figure.get_layout_engine().set(rect=(left, 0.07, width, height - 0.07))
    save(
        figure,
        prefix,
        title,
        "The tiles of D in the order in which they are computed: "
        + ", ".join(
            f"{order['name']} (the first wave reads {counted(order['first_wave']['rows'], 'row')} "
            f"of A and {counted(order['first_wave']['columns'], 'column')} of B)"
            for order in orders
        ),
    )


def main() -> None:
    file, prefix = parse_command_line(__doc__, "order", "the JSON file of tunedgemm order")
    draw(read(file), prefix)


if __name__ == "__main__":
    main()

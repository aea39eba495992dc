#!/usr/bin/env python3
"""Tests that tools/plot/plot_order.py plots the output of tunedgemm order and reports wrong files.

Skipped (77) if no Python has matplotlib."""

import json
import pathlib

from plotting import DrawingTest, main

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "plot" / "plot_order.py"


def document(tiles: list[list[int]]) -> dict:
    order = {
        "name": "groups of 2 rows",
        "first_wave": {"tiles": 2, "rows": 2, "columns": 1, "bytes": 18_874_368},
        "tiles": tiles,
    }
    return {
        "title": "40 x 24 in tiles of 16 x 8",
        "tiles_m": 2,
        "tiles_n": 3,
        "at_a_time": 2,
        "orders": [order],
    }


TILES = [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]


class PlotOrder(DrawingTest):
    script = SCRIPT

    def test_draws_every_order(self):
        result = self.draw(json.dumps(document(TILES)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater((self.folder / "picture.png").stat().st_size, 5_000)
        svg = (self.folder / "picture.svg").read_text(encoding="utf-8")
        for text in (
            ">D of 40 × 24 in tiles of 16 × 8",
            "The first wave reads 18.9 MB (groups",
            "fill: #1f2d3d",
            "groups of 2 rows",
            "2 tiles read",
            "2 rows of A and 1 column of B",
        ):
            self.assertIn(text, svg)

    def test_reports_wrong_files(self):
        for content, sentence in (
            ("{", "is not what `tunedgemm order --json` writes"),
            ('{"orders": [{}]}', "is not what `tunedgemm order --json` writes"),
            (json.dumps(document(TILES[1:])), "groups of 2 rows does not have every tile once"),
        ):
            self.assert_refused(content, sentence)


if __name__ == "__main__":
    main()

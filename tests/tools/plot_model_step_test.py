#!/usr/bin/env python3
"""Tests that plot_model_step.py plots the results of model_step.py and reports wrong files.

Skipped (77) if no Python has matplotlib."""

import json
import pathlib

from plotting import DrawingTest, main

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "plot" / "plot_model_step.py"
DOCUMENT = {
    "model": "gpt2",
    "blocks": 2,
    "device": "A GPU",
    "rows": [
        {
            "tokens": tokens,
            "us": {"eager": 200, "compiled": 150, "eager + patch": 160, "compiled + patch": 200},
        }
        for tokens in (1, 4096)
    ],
}


class PlotModelStep(DrawingTest):
    script = SCRIPT

    def test_draws_a_bar_for_each_way(self):
        result = self.draw(json.dumps(DOCUMENT))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater((self.folder / "picture.png").stat().st_size, 10_000)
        svg = (self.folder / "picture.svg").read_text(encoding="utf-8")
        for text in (
            "gpt2",
            "4096",
            "1.25",
            "0.75",
            "eager + patch",
            "compiled + patch",
            "<title",
            "4096 tokens: eager + patch 1.25",
            "prefers-color-scheme: dark",
        ):
            self.assertIn(text, svg)

    def test_compares_tuned_experts_with_grouped_mm(self):
        us = {"loop": 900, "grouped_mm": 300, "grouped_mm graph": 200, "tuned": 240}
        rows = [{"tokens": 16, "us": us | {"tuned graph": 100}}]
        result = self.draw(json.dumps(DOCUMENT | {"rows": rows}))
        self.assertEqual(result.returncode, 0, result.stderr)
        svg = (self.folder / "picture.svg").read_text(encoding="utf-8")
        self.assertIn("16 tokens: tuned 1.25, tuned graph 2.00", svg)

    def test_reports_wrong_files(self):
        for content in (
            "{",
            '{"rows": [{}]}',
            json.dumps(DOCUMENT | {"rows": []}),
            json.dumps(DOCUMENT | {"rows": [{"tokens": 1, "us": {"eager + patch": 1}}]}),
        ):
            self.assert_refused(content, "is not what model_step.py --json writes")


if __name__ == "__main__":
    main()

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
    "pytorch": "3.0",
    "rows": [
        {
            "tokens": tokens,
            "us": {"eager": 200, "compiled": us, "eager + patch": 160, "compiled + patch": 200},
        }
        for tokens, us in ((1, 144), (4096, 2000))
    ],
}


class PlotModelStep(DrawingTest):
    script = SCRIPT

    def picture(self, document: dict) -> str:
        result = self.draw(json.dumps(document))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater((self.folder / "picture.png").stat().st_size, 10_000)
        return (self.folder / "picture.svg").read_text(encoding="utf-8")

    def test_compares_the_best_ways(self):
        svg = self.picture(DOCUMENT)
        for text in (
            ">A step of 2 blocks of gpt2: 1.07 times as fast (median; 0.90 to 1.25)<",
            ">A GPU, PyTorch 3.0<",
            ">0.90:  144 us compiled → 160 us eager + patch<",
            ">1.25:  200 us eager → 160 us eager + patch<",
            "1: 0.90, 144 us",
            "prefers-color-scheme: dark",
        ):
            self.assertIn(text, svg)

    def test_compares_tuned_experts_with_grouped_mm(self):
        us = {"loop": 900, "grouped_mm": 300, "grouped_mm graph": 200, "tuned": 240}
        svg = self.picture(DOCUMENT | {"rows": [{"tokens": 16, "us": us | {"tuned graph": 100}}]})
        self.assertIn(">2.00:  200 us grouped_mm graph → 100 us tuned graph<", svg)

    def test_shows_the_spread_of_whole_models(self):
        us = {"eager": [90, 80], "graph": [40, 30], "eager + tuned": [9000, 1200]}
        rows = [{"model": "bert", "tokens": 32, "us": us | {"graph + tuned": [20, 30]}}]
        run = {"device": "A GPU", "pytorch": "3.0", "pairs": 2, "began_at": "2026-01-02 03:04:05"}
        svg = self.picture(run | {"rows": rows})
        for text in (
            ">A step of whole models: 1.50 times as fast (median; 1.50 to 1.50)<",
            ">A GPU, 2026-01-02, PyTorch 3.0, 2 pairs of processes, whose speedups the bars show<",
            ">bert, 32 tokens<",
            ">1.50:  30 us graph → 20 us graph + tuned<",
        ):
            self.assertIn(text, svg)

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

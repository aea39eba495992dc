#!/usr/bin/env python3
"""Tests that plot_ladder.py plots the results of tunedgemm ladder and reports wrong files.

Skipped (77) if no Python has matplotlib."""

import json
import pathlib

from plotting import DrawingTest, main

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "plot" / "plot_ladder.py"


def contender(name: str, tflops: float, kernel: str | None) -> dict:
    return {"contender": name, "tflops": tflops, "kernel": kernel}


def document(contenders: list[dict]) -> dict:
    row = {
        "m": 512,
        "n": 768,
        "k": 64,
        "types": "f32→f32 ieee",
        "layout": "nn",
        "contenders": contenders,
    }
    return {
        "device": "A GPU",
        "compiler": "nvrtc 13.0",
        "vendor": "cuBLASLt 13.1.0",
        "began_at": "2026-01-02 03:04:05",
        "rows": [row],
    }


CONTENDERS = [
    contender("naive_1d", 0.002, "naive_1d"),
    contender("tiled_shared", 0.01, "tiled_shared tile=32"),
    contender("tuned", 0.04, "simt block_m=128"),
    contender("cuBLASLt", 0.05, None),
]


class PlotLadder(DrawingTest):
    script = SCRIPT

    def test_draws_a_dot_for_each_step(self):
        result = self.draw(json.dumps(document(CONTENDERS)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater((self.folder / "picture.png").stat().st_size, 10_000)
        svg = (self.folder / "picture.svg").read_text(encoding="utf-8")
        for text in (
            "naive_1d",
            "tiled_shared",
            "tuned",
            "cuBLASLt",
            "×5.00",
            "×4.00",
            "×1.25",
            "512 × 768 × 64",
            ">Tuned: 20.00 times as fast as naive_1d, 0.80 times as",
            ">GFLOP/s<",
            "as the tuned kernel<",
        ):
            self.assertIn(text, svg)

    def test_reports_wrong_files(self):
        for content, sentence in (
            ("{", "is not what `tunedgemm ladder --json` writes"),
            ('{"rows": [{}]}', "is not what `tunedgemm ladder --json` writes"),
            (json.dumps(document([])), "has no problem with a result"),
        ):
            self.assert_refused(content, sentence)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""tools/plot_landscape.py draws what tunedgemm landscape wrote, and says what is wrong with other files.

Skipped (77) where no Python has matplotlib."""
import json
import pathlib

from plotting import DrawingTest, main

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "plot_landscape.py"


def trial(block_m: int, stages: int, us: float | None, rejected: str | None = None, final=False) -> dict:
    config = {"block_m": block_m, "stages": stages}
    text = "mma " + " ".join(f"{knob}={value}" for knob, value in config.items())
    return {"family": "mma", "config": config, "text": text, "median_us": us, "rejected": rejected, "final_round": final}


def document(trials: list[dict], winner: str | None) -> dict:
    return {"m": 512, "n": 768, "k": 64, "types": "f16→f16", "layout": "nn", "device": "A GPU", "compiler": "nvrtc 13.0",
            "tuned_at": "2026-01-02 03:04:05", "winner": winner, "ties": ["mma block_m=128 stages=4"], "trials": trials}


TRIALS = [trial(64, 3, 12.0), trial(128, 3, 10.0, final=True), trial(128, 4, 10.1, final=True),
          trial(256, 3, None, "spills"), trial(256, 4, 30.0, "too slow")]


class PlotLandscape(DrawingTest):
    script = SCRIPT

    def test_draws_a_panel_for_each_knob_that_varies(self):
        result = self.draw(json.dumps(document(TRIALS, "mma block_m=128 stages=3")))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater((self.folder / "picture.png").stat().st_size, 10_000)
        svg = (self.folder / "picture.svg").read_text(encoding="utf-8")
        for text in ("block_m", "stages", "512 × 768 × 64", "1 spills", "1 too slow", "winner"):
            self.assertIn(text, svg)

    def test_does_without_a_winner(self):
        result = self.draw(json.dumps(document(TRIALS, None)))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_says_what_is_wrong(self):
        for content, sentence in (("{", "is not what `tunedgemm landscape --json` writes"),
                                  ('{"trials": []}', "is not what `tunedgemm landscape --json` writes"),
                                  (json.dumps(document(TRIALS[3:], None)), "has no candidate that was timed"),
                                  (json.dumps(document(TRIALS[:1], None)), "there is nothing to compare")):
            self.assert_refused(content, sentence)


if __name__ == "__main__":
    main()

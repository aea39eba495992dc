#!/usr/bin/env python3
"""Tests the file that tools/measure/unmodified_models.py --json writes, with made-up times and
without PyTorch and transformers."""

import argparse
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path[:0] = [str(TOOLS / "measure"), str(TOOLS / "plot")]
torch = mock.MagicMock(__version__="3.0")
torch.cuda.get_device_name.return_value = "A GPU"
sys.modules |= {"torch": torch, "transformers": mock.MagicMock()}

import plot_model_step
import unmodified_models


class UnmodifiedModels(unittest.TestCase):
    def test_writes_the_times_of_each_process(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "models.json"
        times = iter([50.0, 20.0, 40.0, 30.0])

        def measure(mode, arguments):
            torch.cuda.get_device_name.assert_not_called()  # a process forks before it uses CUDA
            us = next(times)
            return "A GPU", {"gpt2 1 eager": 100 + us, "gpt2 1 graph": us, "bert 32 graph": 2 * us}

        arguments = argparse.Namespace(pairs=2, json=str(file))
        with (
            mock.patch.object(unmodified_models, "measure_in_child", measure),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            unmodified_models.compare_pairs(arguments)
        run = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(run["rows"][0]["us"]["graph + tuned"], [20.0, 30.0])
        self.assertEqual((run["device"], run["pairs"], len(run["rows"])), ("A GPU", 2, 2))
        first, second = plot_model_step.read(file)["rows"]
        self.assertEqual((first["name"], second["name"]), ("gpt2, 1 tokens", "bert, 32 tokens"))
        self.assertEqual((first["speedup"], first["range"]), (2.0, (40 / 30, 2.5)))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests that tune-all, the argument, reads the lists that tools/measure/draw_shapes.py draws."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "measure" / "draw_shapes.py"
TUNE_ALL = sys.argv.pop() if len(sys.argv) > 1 else "tune-all"


def drawn(seed: int, *options: str) -> str:
    command = [sys.executable, str(SCRIPT), "--seed", str(seed), "--count", "200", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class DrawShapes(unittest.TestCase):
    def test_a_seed_determines_the_list(self):
        self.assertEqual(drawn(7), drawn(7))
        self.assertNotEqual(drawn(7).splitlines()[1:], drawn(8).splitlines()[1:])

    def test_plain_problems_are_those_of_the_list_that_are_plain(self):
        rows, plain = drawn(7).splitlines(), drawn(7, "--plain").splitlines()
        self.assertEqual(len(plain), len(rows))
        kept = [row for row in rows[2:] if row in plain]
        self.assertGreater(len(kept), 30)
        for row in plain[2:]:
            self.assertNotRegex(row, "e4m3|e5m2|emulated|relu|gelu|silu|sigmoid|tanh")
        self.assertTrue(all(row in kept for row in plain[2 : 2 + len(kept)]))

    def test_tune_all_reads_the_lists(self):
        for seed in range(1, 4):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "drawn.csv")
                path.write_text(drawn(seed), encoding="utf-8")
                command = [
                    TUNE_ALL,
                    str(path),
                    "--dry-run",
                    "--wide",
                    "--device",
                    "host",
                    "--cache",
                    f"{folder}/cache.db",
                ]
                result = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("drawn 200\n", result.stdout)


if __name__ == "__main__":
    unittest.main()

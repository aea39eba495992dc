#!/usr/bin/env python3
"""Tests that tools/plot/plot_bench.py plots runs of tunedgemm bench and reports wrong files.

Skipped (77) if no Python has matplotlib."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from plotting import PYTHON, main

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "plot" / "plot_bench.py"


def contender(name: str, us: float, flops: float) -> dict:
    return {
        "contender": name,
        "median_us": us,
        "p20_us": us * 0.98,
        "p80_us": us * 1.02,
        "tflops": flops / us * 1e-6,
        "of_roofline": 0.8,
        "clock_mhz": None,
        "max_error": 0.1,
    }


def row(m: int, n: int, k: int, types="f16→f16", vendor=True) -> dict:
    flops = 2.0 * m * n * k
    contenders = [contender("tuned", 10, flops)]
    if vendor:
        contenders += [contender("cublaslt 0", 12, flops), contender("cublaslt 1", 9, flops)]
    return {
        "name": "",
        "types": types,
        "layout": "nn",
        "m": m,
        "n": n,
        "k": k,
        "batch": 1,
        "contenders": contenders,
    }


def document(rows: list[dict]) -> dict:
    return {
        "device": "A GPU",
        "compiler": "nvrtc 13.0",
        "driver": "580",
        "vendor": "cuBLASLt 13.1.0",
        "began_at": "2026-01-02 03:04:05",
        "rounds": 11,
        "cool_down_ms": 20,
        "rows": rows,
    }


SQUARES = [row(size, size, size) for size in (256, 384, 512)]


class PlotBench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name: str, content) -> str:
        path = self.folder / name
        path.write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
        )
        return str(path)

    def run_script(self, *arguments: str):
        return subprocess.run([PYTHON, str(SCRIPT), *arguments], capture_output=True, text=True)

    def plot(self, *arguments: str):
        return self.run_script(*arguments, "-o", str(self.folder / "picture"))

    def wrong_contents(self):
        """Pairs of a wrong document and its error message."""
        for change, sentence in (
            (lambda row: row.pop("m"), "KeyError('m')"),
            (lambda row: row.update(types=None), "TypeError"),
            (lambda row: row.update(contenders=[{"contender": "tuned"}]), "KeyError('median_us')"),
            (lambda row: row["contenders"][0].update(p80_us="9"), "TypeError"),
            (
                lambda row: row["contenders"][0].update(p80_us=0),
                "ValueError('the contender tuned has",
            ),
        ):
            wrong = row(8, 8, 8)
            change(wrong)
            yield document([wrong]), sentence
        yield [], "TypeError"
        yield "{", "JSONDecodeError"

    def picture(self, *arguments: str) -> str:
        """The content of the SVG, which has the picture's text as text."""
        result = self.plot(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))  # no warning of the layout
        self.assertEqual((self.folder / "picture.png").read_bytes()[:4], b"\x89PNG")
        return (self.folder / "picture.svg").read_text(encoding="utf-8")

    def test_draws_the_providers_of_a_run(self):
        text = self.picture(self.write("a.json", document(SQUARES)))
        for expected in (
            ">0.90 times as fast as cuBLASLt best of 8 (median; 0.90 to 0.90 over 3 sizes)<",
            ">f16→f16 nn on A GPU, 2026-01-02, nvrtc 13.0, cuBLASLt 13.1.0; median of 11",
            ">roofline at the measured clock<",
            "M = N = K (elements)",
            "TFLOP/s",
            ">libtunedgemm<",
            ">cuBLASLt default<",
            ">cuBLASLt best of 8<",
        ):
            self.assertIn(expected, text)

    def test_overlays_runs_under_their_labels(self):
        first, second = (self.write(name, document(SQUARES)) for name in ("a.json", "b.json"))
        text = self.picture(first, second, "--labels", "before,after")
        self.assertIn("libtunedgemm, before", text)
        self.assertIn("libtunedgemm, after", text)
        self.assertIn("libtunedgemm, b", self.picture(first, second))
        self.assertEqual(self.plot(first, second, "--labels", "same,same").returncode, 2)

    def test_files_of_the_same_name_are_labelled_by_path(self):
        (self.folder / "old").mkdir()
        first, second = (self.write(name, document(SQUARES)) for name in ("a.json", "old/a.json"))
        text = self.picture(first, second)
        self.assertIn("libtunedgemm, " + second, text)
        result = self.plot(first, first)
        self.assertEqual(result.returncode, 2)
        self.assertIn("give each a different name by --labels", result.stderr)

    def test_draws_a_panel_for_each_type_and_any_shapes(self):
        rows = SQUARES + [row(m, 4096, 1024, "bf16→bf16") for m in (1, 16)]
        rows += [row(8, 9, 10, "f32→f32"), row(10, 9, 8, "f32→f32", vendor=False)]
        text = self.picture(self.write("a.json", document(rows)))
        for expected in ("bf16→bf16 nn", "M (elements; N = 4096, K = 1024)", "to the power of 1/3"):
            self.assertIn(expected, text)

    def test_draws_runs_without_a_vendor(self):
        text = self.picture(
            self.write("a.json", document([row(8, 8, 8, vendor=False)]) | {"vendor": None})
        )
        self.assertNotIn("cuBLASLt", text)

    def test_draws_small_rates_of_a_host(self):
        slow = row(8, 8, 8, vendor=False)
        identity = "x86_64-linux-gnu-g++-12 1305592-1744025177 for avx512f+avx512vl+avx2+fma+f16c"
        device = {"device": "A CPU", "vendor": None, "compiler": identity}
        text = self.picture(self.write("a.json", document([slow]) | device))
        self.assertIn(">GFLOP/s<", text)
        self.assertIn(">2026-01-02, g++ 12; median of 11 interleaved rounds<", text)

    def test_breaks_long_lines(self):
        text = self.picture(
            self.write("a.json", document(SQUARES) | {"device": 20 * "long " + "name"})
        )
        self.assertIn(" long</text>", text)
        self.assertIn(" long name, 2026-01-02, nvrtc 13.0", text)

    def test_draws_the_providers_of_bench_triton(self):
        rows = [row(size, size, size, vendor=False) for size in (256, 384)]
        for one in rows:
            one["contenders"] += [
                contender("triton", 15, 2.0 * one["m"] ** 3),
                contender("cublas", 11, 2.0 * one["m"] ** 3),
            ]
        text = self.picture(
            self.write("a.json", document(rows) | {"vendor": "Triton 3.6.0, cuBLAS"})
        )
        for expected in (">libtunedgemm<", ">Triton<", ">cuBLAS<", "Triton 3.6.0, cuBLAS"):
            self.assertIn(expected, text)
        self.assertNotIn("cuBLASLt", text)

    def test_a_check_draws_nothing(self):
        result = self.run_script(self.write("a.json", document(SQUARES)), "--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertFalse((self.folder / "picture.png").exists())
        self.assertEqual(self.run_script(self.write("a.json", document(SQUARES))).returncode, 2)

    def test_wrong_files_are_reported(self):
        for content, sentence in (
            ("no json", "is not what `tunedgemm bench --json` writes"),
            ({"rows": []}, "is not what"),
            (document([]), "no shape with a result"),
        ):
            result = self.plot(self.write("wrong.json", content))
            self.assertEqual(result.returncode, 1)
            self.assertIn(sentence, result.stderr)
        for content, sentence in self.wrong_contents():
            result = self.run_script(self.write("wrong.json", content), "--check")
            self.assertEqual(result.returncode, 1, content)
            self.assertIn(
                "wrong.json is not what `tunedgemm bench --json` writes: " + sentence, result.stderr
            )
            self.assertNotIn("Traceback", result.stderr)
        result = self.plot(str(self.folder / "nowhere.json"))
        self.assertIn("nowhere.json cannot be read: No such file", result.stderr)


if __name__ == "__main__":
    main()

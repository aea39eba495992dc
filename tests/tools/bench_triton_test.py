#!/usr/bin/env python3
"""tools/bench_triton.py without a GPU: its options, what it misses, its table and its files."""
import argparse
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import types
import unittest
from unittest import mock

from triton_race_fakes import ROOT, TIMES, FakeGpu, FakeTorch, FakeTriton, InFolder, make_fake_contenders

import bench_triton
from triton_race import results
from triton_race.kind import KINDS

F16, E5M2 = KINDS["f16"], KINDS["e5m2"]
EXPECTS_THREE = "import sys; sys.exit(len(sys.argv) != 4)"  # the JSON, -o and the prefix


class Options(unittest.TestCase):
    def parse(self, *arguments: str) -> argparse.Namespace:
        return bench_triton.parse(list(arguments))

    def test_defaults(self):
        options = self.parse()
        self.assertEqual((options.sizes[0], options.sizes[-1], len(options.sizes)), (256, 4096, 31))
        self.assertEqual(options.types, [F16, E5M2])
        self.assertEqual((options.rounds, options.cool_down_ms, options.library, options.json), (11, 20, None, None))

    def test_sizes_are_lists_and_ranges(self):
        self.assertEqual(self.parse("--sizes", "512,1000").sizes, [512, 1000])
        self.assertEqual(self.parse("--sizes", "7,256:600:128").sizes, [7, 256, 384, 512])
        self.assertEqual(self.parse("--types", "e5m2").types, [E5M2])

    def test_a_picture_needs_json(self):
        self.assertEqual(self.parse("--plot", "a/b").json, pathlib.Path("a/b.json"))
        self.assertEqual(self.parse("--plot", "a/b", "--json", "c").json, pathlib.Path("c"))

    def test_wrong_options_end_with_2(self):
        for wrong in ("--sizes=0", "--sizes=", "--sizes=1:2", "--sizes=512:256:1", "--sizes=1:9:0", "--sizes=-5",
                      "--sizes=²", "--sizes=99999", "--sizes=a", "--types=f32", "--types=", "--rounds=0",
                      "--cool-down-ms=-1", "--else"):
            with self.subTest(wrong), self.assertRaises(SystemExit) as stop, contextlib.redirect_stderr(io.StringIO()):
                self.parse(wrong)
            self.assertEqual(stop.exception.code, 2)


class WhatIsMissing(InFolder):
    def told(self, modules: dict, *arguments: str) -> str:
        errors = io.StringIO()
        with mock.patch.dict(sys.modules, modules), contextlib.redirect_stderr(errors):
            self.assertEqual(bench_triton.main(list(arguments)), 3)
        self.assertEqual(errors.getvalue().count("\n"), 1)
        return errors.getvalue()

    def torch(self, has_gpu: bool) -> dict:
        return {"torch": types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: has_gpu))}

    def test_is_told_in_a_sentence_with_status_3(self):
        self.assertIn("PyTorch cannot be imported", self.told({"torch": None}))
        self.assertIn("sees no GPU", self.told(self.torch(False)))
        self.assertIn("Triton cannot be imported", self.told(self.torch(True) | {"triton": None}))
        modules = self.torch(True) | {"triton": types.ModuleType("triton")}
        self.assertIn("libtunedgemm.so cannot be used", self.told(modules, f"--library={self.folder}/no.so"))
        with mock.patch.object(bench_triton, "PYTHONS", ()):
            self.assertIn("matplotlib", self.told({}, "--plot", "picture"))

    def test_as_a_program(self):
        (self.folder / "torch.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
        result = subprocess.run([sys.executable, str(ROOT / "tools" / "bench_triton.py")], capture_output=True, text=True,
                                env=os.environ | {"PYTHONPATH": str(self.folder)})
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertIn("bench_triton.py: PyTorch cannot be imported (not here)", result.stderr)


class Results(InFolder):
    def bench(self, gpu, *arguments: str) -> tuple[int, list[str], str]:
        options = bench_triton.parse(["--cool-down-ms=0", "--rounds=3", f"--json={self.folder / 'a.json'}",
                                      f"--csv={self.folder / 'a.csv'}", *arguments])
        library = types.SimpleNamespace(toolchain=lambda: ("nvrtc 13.0", "580"))
        run = bench_triton.describe_run(gpu, library, "Triton 3, cuBLAS", options)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as progress:
            status = bench_triton.bench(gpu, make_fake_contenders, run, options)
        return status, out.getvalue().splitlines(), progress.getvalue()

    def test_table_means_and_progress(self):
        status, lines, progress = self.bench(FakeGpu(TIMES), "--sizes=256,512")
        self.assertEqual(status, 0)
        self.assertEqual(lines[0].split(), ["size", "types", "tuned", "TFLOP/s", "triton", "cuBLAS", "tuned/triton",
                                            "tuned/cuBLAS"])
        self.assertEqual(lines[1].split(), ["256", "f16→f16", "3.355", "2.237", "4.194", "1.50x", "0.80x"])
        self.assertEqual(lines[3].split(), ["256", "e5m2→f16", "fast", "3.355", "2.237", "-", "1.50x", "-"])
        self.assertEqual(lines[5:], [
            "f16→f16, tuned over triton: geometric mean 1.500x over 2 sizes, least 1.500x at 256",
            "f16→f16, tuned over cuBLAS: geometric mean 0.800x over 2 sizes, least 0.800x at 256",
            "e5m2→f16 fast, tuned over triton: geometric mean 1.500x over 2 sizes, least 1.500x at 256"])
        self.assertIn("1/4  256 f16→f16 nn: 3.355 TFLOP/s, 1.50x triton, 0.80x cuBLAS", progress)

    def test_files_are_those_of_tunedgemm_bench(self):
        self.bench(FakeGpu(TIMES), "--sizes=256")
        text = (self.folder / "a.json").read_text(encoding="utf-8")
        document = json.loads(text)
        writer = (ROOT / "tools" / "tunedgemm" / "bench_files.cpp").read_text(encoding="utf-8")
        row = document["rows"][0]
        for field in [*document, *row, *row["contenders"][0]]:
            self.assertIn(f'"{field}"' if field != "rows" else '\\"rows\\"', writer)
        begin, end = (writer.index(f"to_json(const {of})") for of in ("BenchContender& contender", "BenchRow& row"))
        of_contender = writer[begin:end]
        self.assertEqual(list(row["contenders"][0]), re.findall(r'\{"(\w+)",', of_contender))
        self.assertEqual(document["device"], "A GPU")
        self.assertEqual(len([line for line in text.splitlines() if '"layout"' in line]), 2)
        with (self.folder / "a.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
        header = ",".join(lines[0])
        cuts = [0, header.index("name"), header.index("median_us"), len(header)]  # it stands on three lines there
        for begin, end in zip(cuts, cuts[1:]):
            self.assertIn(header[begin:end], writer)
        self.assertEqual(len(lines), 1 + 3 + 2)
        first = dict(zip(lines[0], lines[1], strict=True))
        self.assertEqual((first["contender"], first["median_us"], first["of_roofline"], first["kernel"]),
                         ("tuned", "10.0", "", "kernel of tuned"))
        self.assertEqual(lines[2][-1], "kernel of triton")

    def test_a_failed_shape_is_told_and_the_others_go_on(self):
        gpu = FakeGpu(TIMES)
        gpu.operands = mock.Mock(side_effect=[MemoryError("no room"), ["a copy"]])
        status, lines, progress = self.bench(gpu, "--sizes=256,512", "--types=f16")
        self.assertEqual(status, 1)
        self.assertIn("no result: MemoryError: no room", progress)
        self.assertIn("over 1 size, least 1.500x at 512", lines[-2])
        rows = json.loads((self.folder / "a.json").read_text(encoding="utf-8"))["rows"]
        self.assertEqual([row["failure"] for row in rows], ["MemoryError: no room", None])
        self.assertEqual(self.bench(FakeGpu(TIMES, {"triton": 2}), "--sizes=256")[0], 1)

    def test_an_interrupt_keeps_what_is_done(self):
        gpu = FakeGpu(TIMES)
        gpu.operands = mock.Mock(side_effect=[["a copy"], KeyboardInterrupt])
        status, lines, _ = self.bench(gpu, "--sizes=256,512", "--types=f16")
        self.assertEqual((status, len(lines)), (130, 4))
        self.assertEqual(len(json.loads((self.folder / "a.json").read_text(encoding="utf-8"))["rows"]), 1)

    def test_a_file_that_cannot_be_written_is_told(self):
        with self.assertRaises(OSError):
            results.ResultFiles({}, None, self.folder / "nowhere" / "a.json")

    def test_the_whole_program(self):
        fake, torch = FakeTriton(), FakeTorch()
        fake.triton.__version__, torch.__version__ = "3", "2"
        torch.cuda.is_available, torch.cuda.stream = lambda: True, lambda stream: contextlib.nullcontext()
        opened = types.SimpleNamespace(toolchain=lambda: ("nvrtc 13.0", "580"), close=mock.Mock())
        with (mock.patch.dict(sys.modules, fake.modules | {"torch": torch}),
              mock.patch.object(bench_triton, "open_library", return_value=opened),
              mock.patch.object(bench_triton, "Gpu", return_value=mock.Mock(wraps=FakeGpu(TIMES), stream=1)) as made,
              mock.patch.object(bench_triton, "contender_makers", lambda gpu, library, kind, sets: make_fake_contenders(kind, sets)),
              mock.patch.object(bench_triton, "plotter", return_value=[sys.executable, "-c", EXPECTS_THREE]),
              contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO())):
            made.return_value.name = "A GPU"
            self.assertEqual(bench_triton.main(["--sizes=64", "--cool-down-ms=0", "--plot", str(self.folder / "b")]), 0)
        self.assertIn("geometric mean 1.500x", out.getvalue())
        opened.close.assert_called_once_with()
        document = json.loads((self.folder / "b.json").read_text(encoding="utf-8"))
        self.assertEqual(document["vendor"], "Triton 3, cuBLAS of PyTorch 2")


if __name__ == "__main__":
    unittest.main()

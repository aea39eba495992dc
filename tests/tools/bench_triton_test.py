#!/usr/bin/env python3
"""Tests bench_triton.py without a GPU: options, errors, records, the use of the C interface.

With the path of libtunedgemm.so as its argument, it also multiplies on the host.
"""

import contextlib
import ctypes
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "measure"))
import bench_triton

LIBRARY = sys.argv.pop() if len(sys.argv) > 1 else None
CC = shutil.which(os.environ.get("CC", "cc"))
STRUCTS = {"tunedgemm_problem": bench_triton.Problem, "tunedgemm_buffers": bench_triton.Buffers}
FIELDS = set(
    re.findall(
        r'\{"(\w+)",',
        (ROOT / "tools" / "tunedgemm" / "bench_output.cpp").read_text(encoding="utf-8"),
    )
)


class Options(unittest.TestCase):
    def test_defaults(self):
        options = bench_triton.parse([])
        self.assertEqual((options.sizes[0], options.sizes[-1], len(options.sizes)), (256, 4096, 31))
        self.assertEqual(
            (options.types, options.rounds, options.cool_down_ms), (["f16", "e5m2"], 11, 20)
        )
        self.assertEqual((options.library, options.json, options.plot), (None, None, None))

    def test_sizes_are_lists_and_ranges(self):
        self.assertEqual(bench_triton.parse(["--sizes", "512,1000"]).sizes, [512, 1000])
        self.assertEqual(bench_triton.parse(["--sizes", "7,256:600:128"]).sizes, [7, 256, 384, 512])
        self.assertEqual(bench_triton.parse(["--types", "e5m2"]).types, ["e5m2"])

    def test_wrong_options_exit_with_2(self):
        for wrong in (
            "--sizes=0",
            "--sizes=",
            "--sizes=1:2",
            "--sizes=512:256:1",
            "--sizes=1:9:0",
            "--sizes=-5",
            "--sizes=99999",
            "--sizes=a",
            "--types=f32",
            "--types=",
            "--rounds=0",
            "--cool-down-ms=-1",
            "--else",
        ):
            with (
                self.subTest(wrong),
                self.assertRaises(SystemExit) as stop,
                contextlib.redirect_stderr(io.StringIO()),
            ):
                bench_triton.parse([wrong])
            self.assertEqual(stop.exception.code, 2)


class MissingParts(unittest.TestCase):
    def run_with(self, modules: dict[str, str], *arguments: str) -> subprocess.CompletedProcess:
        """Runs the script with the given modules first on the path."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in modules.items():
                pathlib.Path(folder, name).write_text(text, encoding="utf-8")
            return subprocess.run(
                [sys.executable, str(ROOT / "tools" / "measure" / "bench_triton.py"), *arguments],
                capture_output=True,
                text=True,
                env=os.environ | {"PYTHONPATH": folder},
            )

    def test_are_reported_with_status_3(self):
        gpu = "class cuda:\n    is_available = lambda: {}\n"
        for modules, sentence in (
            (
                {"torch.py": "raise ImportError('not here')\n"},
                "PyTorch and Triton are needed (not here)",
            ),
            (
                {"torch.py": gpu.format(True), "triton.py": "raise ImportError('no Triton')\n"},
                "(no Triton)",
            ),
        ):
            result = self.run_with(modules, "--sizes=64")
            self.assertEqual(
                (result.returncode, result.stdout, result.stderr.count("\n")),
                (3, "", 1),
                result.stderr,
            )
            self.assertIn("bench_triton.py: ", result.stderr)
            self.assertIn(sentence, result.stderr)

    def test_help_needs_no_modules(self):
        result = self.run_with({"torch.py": "raise ImportError('not here')\n"}, "--help")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("--sizes", result.stdout)


class Records(unittest.TestCase):
    def test_have_the_fields_of_tunedgemm_bench(self):
        record = bench_triton.contender_record(
            "tuned", "mma stages=3", [5.0, 1.0, 4.0, 2.0, 3.0], 256, 0.25
        )
        self.assertLessEqual(record.keys(), FIELDS)
        self.assertEqual(
            (record["median_us"], record["kernel"], record["max_error"]), (3, "mma stages=3", 0.25)
        )
        self.assertAlmostEqual(record["p20_us"], 1.8)
        self.assertAlmostEqual(record["p80_us"], 4.2)
        self.assertAlmostEqual(record["tflops"], 2 * 256**3 / 3 * 1e-6)

    def test_with_one_sample(self):
        record = bench_triton.contender_record("cublas", "", [7.0], 256, 0)
        self.assertEqual(
            (record["p20_us"], record["median_us"], record["p80_us"], record["kernel"]),
            (7, 7, 7, None),
        )

    def test_bounds_are_far_below_the_results(self):
        self.assertLess(bench_triton.KINDS["f16"][5](4096), 0.01)
        self.assertLess(bench_triton.KINDS["e5m2"][5](4096), 0.05)


class Binding(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    @unittest.skipUnless(CC, "there is no C compiler")
    def test_structs_and_types_match_the_header(self):
        values = {
            f"TUNEDGEMM_TYPE_{name.upper()}": kind[0] for name, kind in bench_triton.KINDS.items()
        }
        values |= {
            "TUNEDGEMM_STATUS_OK": 0,
            "TUNEDGEMM_ORDER_ROW_MAJOR": 0,
            "TUNEDGEMM_ORDER_COLUMN_MAJOR": 1,
        }
        for struct, mirror in STRUCTS.items():
            values[f"sizeof({struct})"] = ctypes.sizeof(mirror)
            for field, *_ in mirror._fields_:
                values[f"offsetof({struct}, {field})"] = getattr(mirror, field).offset
                values[f"sizeof((({struct}*)0)->{field})"] = getattr(mirror, field).size
        prints = "".join(f'printf("%ld\\n", (long)({expression}));' for expression in values)
        source, program = self.folder / "sizes.c", self.folder / "sizes"
        source.write_text(
            "#include <stdio.h>\n#include <tunedgemm/tunedgemm.h>\nint main(void) "
            f"{{ {prints} return 0; }}\n"
        )
        subprocess.run(
            [CC, f"-I{ROOT}/runtime/include", str(source), "-o", str(program)], check=True
        )
        printed = subprocess.run(
            [program], capture_output=True, text=True, check=True
        ).stdout.split()
        self.assertEqual(dict(zip(values, map(int, printed), strict=True)), values)

    def test_a_missing_library_is_refused(self):
        with self.assertRaises(OSError):
            bench_triton.Library(str(self.folder / "no.so"))

    @unittest.skipUnless(LIBRARY, "no library was given")
    def test_multiplies(self):
        os.environ |= {
            "TUNEDGEMM_CACHE": str(self.folder / "cache.db"),
            "TUNEDGEMM_POLICY": "compile",
            "CUDA_VISIBLE_DEVICES": "",
        }
        library, size = bench_triton.Library(LIBRARY), 8
        self.assertIn("device", library.report)
        ones, twos = (
            (ctypes.c_uint16 * size**2)(*[bits] * size**2) for bits in (0x3C00, 0x4000)
        )  # 1 and 2 in f16
        d = (ctypes.c_uint16 * size**2)()
        launch, kernel = library.contender(
            "f16", size, [tuple(map(ctypes.addressof, (ones, twos, d)))], None
        )
        launch(0)
        self.assertEqual(set(d), {0x4C00})  # 16
        self.assertIn("=", kernel())
        launch, _ = library.contender("f16", size, [(None, None, None)], None)
        with self.assertRaisesRegex(RuntimeError, "the pointer d is null"):
            launch(0)


if __name__ == "__main__":
    unittest.main()

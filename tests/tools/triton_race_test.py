#!/usr/bin/env python3
"""tools/triton_race without a GPU: the binding against the C header, the Triton kernel's configs, graphs and the race."""
import ctypes
import importlib
import math
import os
import pathlib
import shutil
import subprocess
import sys
import types
import unittest
from unittest import mock

from triton_race_fakes import ROOT, TIMES, FakeGpu, FakeTorch, FakeTriton, InFolder, make_fake_contenders

from triton_race import contenders, gpu, library, race
from triton_race.kind import KINDS
from triton_race.missing import Missing

CC = shutil.which(os.environ.get("CC", "cc"))
FAKE_LIBRARY = pathlib.Path(__file__).resolve().parent / "fake_tunedgemm" / "fake_tunedgemm.c"
F16, E5M2 = KINDS["f16"], KINDS["e5m2"]
STRUCTS = {"tunedgemm_context_options": library.ContextOptions, "tunedgemm_problem": library.Problem,
           "tunedgemm_buffers": library.Buffers}
ENUMERATORS = {"TUNEDGEMM_F16": library.TYPE_F16, "TUNEDGEMM_ROW_MAJOR": library.ROW_MAJOR,
               "TUNEDGEMM_COLUMN_MAJOR": library.COLUMN_MAJOR, "TUNEDGEMM_BACKEND_CUDA": library.BACKEND_CUDA,
               "TUNEDGEMM_POLICY_TUNE": library.POLICY_TUNE, "TUNEDGEMM_OK": 0,
               **{f"TUNEDGEMM_{kind.name.upper()}": kind.number for kind in KINDS.values()}}
FAKE_STREAM = 0x5eed


class Binding(InFolder):
    def compile(self, source: pathlib.Path, *options: str) -> str:
        if CC is None:
            self.skipTest("there is no C compiler")
        result = self.folder / "result.so"
        include = ROOT / "runtime" / "include"
        subprocess.run([CC, "-Wall", "-Werror", f"-I{include}", *options, str(source), "-o", str(result)], check=True)
        return str(result)

    def compile_text(self, text: str, *options: str) -> str:
        source = self.folder / "source.c"
        source.write_text(text, encoding="utf-8")
        return self.compile(source, *options)

    def test_structs_and_enumerators_are_the_header_s(self):
        values = dict(ENUMERATORS)
        for struct, mirror in STRUCTS.items():
            values[f"sizeof({struct})"] = ctypes.sizeof(mirror)
            for field, *_ in mirror._fields_:
                values[f"offsetof({struct}, {field})"] = getattr(mirror, field).offset
                values[f"sizeof((({struct}*)0)->{field})"] = getattr(mirror, field).size
        prints = "".join(f'printf("%ld\\n", (long)({expression}));' for expression in values)
        program = self.compile_text("#include <stdio.h>\n#include <tunedgemm/tunedgemm.h>\n"
                                    f"int main(void) {{ {prints} return 0; }}")
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(dict(zip(values, map(int, printed), strict=True)), values)

    def open_fake(self, **options) -> library.Library:
        return library.Library(self.compile(FAKE_LIBRARY, "-shared", "-fPIC"), **options)

    def test_calls_what_the_header_declares(self):
        fake = self.open_fake()
        self.assertEqual(fake.toolchain(), ("nvrtc 13.0", "driver 580"))
        memory = (ctypes.c_int64 * 3)()
        d = ctypes.addressof(memory)
        sets = [gpu.Operands(*(types.SimpleNamespace(data_ptr=lambda: d, shape=(48, 48)) for _ in range(3)))]
        zeros = mock.Mock(return_value=types.SimpleNamespace(data_ptr=lambda: 0x400))
        fake_gpu = types.SimpleNamespace(stream=types.SimpleNamespace(cuda_stream=FAKE_STREAM), synchronize=mock.Mock(),
                                         zeros=zeros)
        for kind, text in ((F16, "48x48x48 types 3 3 3 orders 0 0 0"), (E5M2, "48x48x48 types 6 6 3 orders 0 1 0")):
            contender = contenders.contender_makers(fake_gpu, fake, kind, sets)["tuned"]()
            memory[0] = 0
            contender.launch(0)
            self.assertEqual((memory[0], contender.kernel()), (512, text))
        zeros.assert_called_with(512)
        fake_gpu.synchronize.assert_called()
        fake.close()

    def test_a_report_of_another_form_names_no_toolchain(self):
        fake = self.open_fake()
        for report, toolchain in ((b"", ("unknown", "unknown")), (b"toolchain\n", ("unknown", "unknown")),
                                  (b"device  a\xff\ntoolchain nvrtc 13.0\n", ("nvrtc 13.0", "unknown"))):
            def write_report(_context, buffer, _size, report=report):
                buffer.value = report
            with mock.patch.object(fake._library, "tunedgemm_context_report", write_report):
                self.assertEqual(fake.toolchain(), toolchain)

    def test_tells_what_the_library_tells(self):
        fake = self.open_fake()
        buffers = fake.buffers(1, 2, 3)
        with self.assertRaisesRegex(library.LibraryError, "a launch: bad: stream 0x5"):
            fake.run(fake.plan(F16, 16, buffers), buffers, 5)
        with self.assertRaisesRegex(library.LibraryError, "no device: backend 1"):
            self.open_fake(backend=1)

    def test_another_library_is_refused(self):
        with self.assertRaisesRegex(Missing, "tunedgemm_context_options_init"):
            library.Library(self.compile_text("int nothing;", "-shared", "-fPIC"))

    def test_finds_the_newest_that_was_built(self):
        with mock.patch.object(library, "ROOT", self.folder):
            self.assertEqual(library.find_library(), "libtunedgemm.so")
            for age, folder in enumerate(("build/dev", "build/release", "build-other")):
                path = self.folder / folder / "runtime" / "libtunedgemm.so"
                path.parent.mkdir(parents=True)
                path.touch()
                os.utime(path, (1000 - age, 1000 - age))
            self.assertEqual(library.find_library(), str(self.folder / "build/dev/runtime/libtunedgemm.so"))


def import_matmul(fake: FakeTriton):
    """The module anew, upon the fake."""
    with mock.patch.dict(sys.modules, fake.modules):
        sys.modules.pop("triton_race.triton_matmul", None)
        return importlib.import_module("triton_race.triton_matmul")


class TritonMatmul(unittest.TestCase):
    def test_has_the_tutorial_s_configs(self):
        fake = FakeTriton()
        import_matmul(fake)
        [(key, configs)] = fake.tunings
        self.assertEqual(key, ["m", "n", "k"])
        found = {(*(one.kwargs[f"BLOCK_{letter}"] for letter in "MNK"), one.num_stages, one.num_warps) for one in configs}
        self.assertEqual(len(configs), 16)
        self.assertEqual(found, {
            (128, 256, 64, 3, 8), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4),
            (128, 32, 32, 4, 4), (64, 32, 32, 5, 2), (32, 64, 32, 5, 2), (128, 256, 128, 3, 8), (256, 128, 128, 3, 8),
            (256, 64, 128, 4, 4), (64, 256, 128, 4, 4), (128, 128, 128, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4),
            (128, 32, 64, 4, 4)})
        self.assertEqual({one.kwargs["GROUP_M"] for one in configs}, {8})

    def test_launches_with_the_strides_of_its_operands(self):
        fake = FakeTriton()
        matmul = import_matmul(fake)
        a, b, d = (types.SimpleNamespace(shape=shape, stride=lambda strides=strides: strides) for shape, strides in
                   (((300, 64), (64, 1)), ((64, 500), (1, 64)), ((300, 500), (500, 1))))
        matmul.multiply(a, b, d)
        self.assertEqual(fake.launches, [((3 * 2,), (a, b, d, 300, 500, 64, 64, 1, 1, 64, 500, 1))])
        self.assertEqual(matmul.config_text(), "block_m=128 block_n=256 block_k=64 group_m=8 stages=3 warps=8")


class OnTheGpu(unittest.TestCase):
    def test_a_graph_times_the_launches_after_its_first(self):
        torch = FakeTorch()
        graph = gpu.Gpu(torch).graph(lambda copy: torch.log.append(copy), copies=3, launches=4)
        self.assertEqual(torch.log, ["capture the stream", 2, "event on the stream", 0, 1, 2, 0, "event on the stream",
                                     "end of capture"])
        torch.log.clear()
        self.assertEqual(graph.sample_us(), 750)
        self.assertEqual(torch.log, ["replay", "synchronize"])

    def test_operands_exceed_twice_the_cache(self):
        sets = gpu.Gpu(FakeTorch()).operands(F16, 10)
        self.assertEqual(len(sets), 6)  # of 400 bytes of inputs each
        self.assertEqual((sets[0].a.dtype, sets[0].b.dtype, sets[0].d.dtype), ("float16", "float16", "float16"))
        self.assertIsNot(sets[0].a, sets[1].a)
        sets = gpu.Gpu(FakeTorch()).operands(E5M2, 10)
        self.assertEqual((len(sets), sets[0].a.dtype, sets[0].b), (11, "float8_e5m2", "transposed float8_e5m2"))
        self.assertEqual(gpu.copies_for(10**9, 1000), 2)
        self.assertEqual(gpu.copies_for(2, 10**8), gpu.MOST_COPIES)


class Race(unittest.TestCase):
    def race(self, gpu, kind=F16, make_contenders=make_fake_contenders, rounds=4) -> dict:
        return race.race(gpu, make_contenders, kind, 256, rounds, 0)

    def test_statistics(self):
        values = [5.0, 1.0, 4.0, 2.0, 3.0]
        self.assertEqual([race.quantile(values, part) for part in (0, 0.2, 0.5, 0.8, 1)], [1, 1.8, 3, 4.2, 5])
        self.assertEqual(race.quantile([7.0], 0.8), 7)

    def test_a_sample_is_two_milliseconds_and_every_copy(self):
        self.assertEqual(race.launches_for(100, 2), 20)
        self.assertEqual(race.launches_for(100, 50), 50)
        self.assertEqual(race.launches_for(5000, 1), 1)
        self.assertEqual(race.launches_for(0, 2), race.MOST_LAUNCHES)

    def test_a_row_has_every_contender(self):
        gpu = FakeGpu(TIMES)
        row = self.race(gpu)
        self.assertEqual([contender["contender"] for contender in row["contenders"]], ["tuned", "triton", "cublas"])
        ours = row["contenders"][0]
        self.assertEqual((ours["median_us"], ours["p20_us"], ours["p80_us"], ours["max_error"]), (10, 10, 10, 0.25))
        self.assertAlmostEqual(ours["tflops"], 2 * 256**3 / 10 * 1e-6)
        self.assertEqual((row["kernel"], row["failure"]), ("kernel of tuned", None))
        self.assertIn("triton runs kernel of triton", row["remarks"])
        self.assertEqual(gpu.poisoned, 3)
        self.assertEqual(gpu.launches, {race.PROBE_LAUNCHES, 2000 // 8})

    def test_rounds_are_interleaved_and_the_first_is_not_counted(self):
        gpu = FakeGpu(TIMES)
        with mock.patch.object(race, "contender_json", side_effect=lambda checked, size: len(checked.samples_us)):
            self.assertEqual(self.race(gpu, rounds=6)["contenders"], [6, 6, 6])
        rounds = [tuple(gpu.replays[begin:begin + 3]) for begin in range(6, len(gpu.replays), 3)]
        self.assertEqual(len(rounds), 7)
        self.assertEqual({frozenset(one) for one in rounds}, {frozenset(TIMES)})
        self.assertGreater(len(set(rounds)), 1)

    def test_the_device_rests_before_each_sample(self):
        with mock.patch.object(race.time, "sleep") as sleep:
            race.race(FakeGpu(TIMES), make_fake_contenders, E5M2, 256, 3, 20)
        self.assertEqual(sleep.mock_calls, [mock.call(0.02)] * 2 * 4)

    def test_a_wrong_result_is_not_raced(self):
        for wrong in (1.01, math.nan, math.inf):
            row = self.race(FakeGpu(TIMES, {"triton": wrong}))
            self.assertEqual([contender["contender"] for contender in row["contenders"]], ["tuned", "cublas"])
            self.assertIn("no triton: ArithmeticError: the result is wrong", row["remarks"][0])
            self.assertIsNone(row["failure"])
        self.assertIn("nan times the error bound", self.race(FakeGpu(TIMES, {"tuned": math.nan}))["failure"])

    def test_what_a_contender_raises_is_told_with_its_cause(self):
        def make_contenders(kind, sets):
            def fail():
                try:
                    raise ValueError("the first")
                finally:
                    raise RuntimeError("the\nsecond")
            return make_fake_contenders(kind, sets) | {"tuned": fail}
        row = self.race(FakeGpu(TIMES), make_contenders=make_contenders)
        self.assertEqual(row["failure"], "ValueError: the first; then RuntimeError: the second")
        self.assertEqual([contender["contender"] for contender in row["contenders"]], ["triton", "cublas"])
        row = self.race(FakeGpu(TIMES, dict.fromkeys(TIMES, math.nan)))
        self.assertEqual((row["contenders"], len(row["remarks"])), ([], 3))

    def test_a_shape_is_spelled_as_the_cache_spells_it(self):
        row = self.race(FakeGpu(TIMES), E5M2)
        self.assertEqual((row["types"], row["layout"]), ("e5m2→f16 fast", "nt"))
        self.assertEqual(row["problem"], (
            "m=256 n=256 k=256 batch=1 a=e5m2,row,256,0,16 b=e5m2,col,256,0,16 c=f16,row,256,0,16 d=f16,row,256,0,16 "
            "c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=fast regime=cold"))
        self.assertIn("a=f16,row,258,0,4 b=f16,row,258,0,4", F16.problem_text(258))

    def test_bounds_are_far_below_the_results(self):
        self.assertLess(F16.slack(4096), 0.01)
        self.assertLess(E5M2.slack(4096), 0.05)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests tools/measure/bench_heuristics.py on the host, with a fake of NVIDIA's cost model.

The argument is the program tunedgemm."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "measure"))
import bench_heuristics

SCRIPT = ROOT / "tools" / "measure" / "bench_heuristics.py"
TUNEDGEMM = sys.argv.pop() if len(sys.argv) > 1 else "tunedgemm"
LIST = """# a comment
name,types,layout,m,n,k,order_d
first,f32,nn,24,16,8,
second,f32,nt,16,24,8,col
"""
# Its tiles are as large as the problem.
FAKE = """
import types
class Names:
    def __class_getitem__(cls, name): return name
NvMatmulHeuristicsMatmulLayout = NvMatmulHeuristicsNvidiaGpu = Names
class NvMatmulHeuristicsTarget: CUTLASS3 = 4
class NvMatmulHeuristicsFlags: PERF_MODEL_BASED_AUTO_TUNING = 8
class NvMatmulHeuristicsInterfaceEx:
    asked = False
    def __init__(self, target, gpu, flags): assert gpu == "H100_SXM"
    def makeNvMatmulHeuristicsProblem(self, *problem): return problem
    def get(self, problem, count, precision):
        m, n, k, layout, batch = problem
        expected = "NN_ROW_MAJOR" if n == 16 and not self.asked else "NT_ROW_MAJOR"
        assert (precision, layout) == ("SSS", expected)
        self.asked = True
        tile = {"cta_tile_m": m, "cta_tile_n": n, "cta_tile_k": k}
        rest = {"cluster_m": 1, "cluster_n": 1, "split_k": 1}
        return [{"runtime": runtime, "kernel": types.SimpleNamespace(stages=stages, **tile, **rest)}
                for runtime, stages in ((2.0, 3), (1.0, 4))]
"""


class Heuristics(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.list = self.folder / "list.csv"
        self.list.write_text(LIST, encoding="utf-8")

    def run_script(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, str(SCRIPT), str(self.list), *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder)},
        )

    def test_types(self):
        for row, expected in (
            ({"types": "f16"}, "HSH"),
            ({"types": "bf16->f32"}, "TSS"),
            ({"types": "tf32"}, "SFS"),
            ({"types": "f32", "numerics": "ieee"}, "SSS"),
            ({"types": "f64"}, "DDD"),
            ({"types": "s8"}, "BII"),
            ({"types": "e4m3xe5m2"}, "QRHSH"),
            ({"types": "e5m2", "output": "bf16"}, "RRTST"),
        ):
            self.assertEqual(bench_heuristics.precision(row), expected)

    def test_a_column_major_result_is_computed_as_its_transpose(self):
        row = {"m": "3", "n": "5", "k": "7", "layout": "nn"}
        self.assertEqual(bench_heuristics.canonical(row), (3, 5, 7, "nn"))
        self.assertEqual(bench_heuristics.canonical(row | {"order_d": "col"}), (5, 3, 7, "tt"))
        self.assertEqual(
            bench_heuristics.canonical(row | {"order_d": "col", "layout": "nt"}), (5, 3, 7, "nt")
        )

    def test_proposals_are_stored_and_raced(self):
        (self.folder / "nvMatmulHeuristics.py").write_text(FAKE, encoding="utf-8")
        proposed = self.run_script("--propose", "proposals.json", "--gpu", "H100_SXM")
        self.assertEqual(proposed.returncode, 0, proposed.stderr)
        proposals = json.loads((self.folder / "proposals.json").read_text(encoding="utf-8"))
        self.assertEqual([len(one) for one in proposals], [2, 2])
        self.assertIn(
            "block_m=24 block_n=16 block_k=8 stages=4", proposals[0][0]
        )  # the faster one first
        raced = self.run_script(
            "--proposals",
            "proposals.json",
            "--command",
            TUNEDGEMM,
            "--json",
            "results.json",
            "--",
            "--device",
            "host",
            "--rigor",
            "quick",
            "--rounds",
            "1",
            "--cool-down-ms",
            "0",
            "--cache",
            "cache.db",
        )
        self.assertEqual(raced.returncode, 0, raced.stderr)
        self.assertRegex(raced.stdout, r"problems +2 +2 +2 +2\n")
        rows = json.loads((self.folder / "results.json").read_text(encoding="utf-8"))["rows"]
        self.assertEqual([row["name"] for row in rows], ["first", "second"])
        names = [one["contender"] for one in rows[0]["contenders"]]
        self.assertEqual(names[:5], ["tuned", "heuristics", "heuristics of 8", "untuned", "model"])

    def test_a_missing_cost_model_is_reported(self):
        (self.folder / "nvMatmulHeuristics.py").write_text(
            "raise ImportError('not here')\n", encoding="utf-8"
        )
        result = self.run_script("--propose", "proposals.json")
        self.assertEqual(result.returncode, 3)
        self.assertIn("nvidia-matmul-heuristics is needed (not here)", result.stderr)


if __name__ == "__main__":
    unittest.main()

"""front_blas_test.py TOOLS LIBRARIES starts a program that multiplies with numpy beside the
preloaded library: before, recorded, with tuned products, and off. Exit status 77: no numpy."""

import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    sys.exit(77)

# Products of all layouts, checked against f64 sums, and one in a forked child.
PROGRAM = """
import os, sys
import numpy as np

random = np.random.default_rng(1)

def check(a, b, out=None):
    d = np.matmul(a, b, out=out)
    exact = np.einsum("mk,kn->mn", a.astype("f8"), b.astype("f8"))
    bound = np.einsum("mk,kn->mn", abs(a).astype("f8"), abs(b).astype("f8"))
    assert np.all(abs(d - exact) <= 8 * len(b) * np.finfo(a.dtype).eps * bound), "wrong result"
    return d

for type in "f4", "f8":
    a, b = random.random((48, 64)).astype(type), random.random((64, 80)).astype(type)
    for _ in range(3):
        check(a, b)
        check(np.asfortranarray(a), b)
        check(a, np.asfortranarray(b))
        check(a[:, :32], b[:32, 8:72])
        check(a, b, np.full((48, 80), np.nan, type))
a, b = a[:17, :19], b[:19, :23]
check(a, b)
sys.stdout.flush()
if os.fork() == 0:
    check(a, b)
    os._exit(0)
assert os.wait()[1] == 0
print("right")
"""


class FrontBlas(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name) / "cache.db"
        program = pathlib.Path(folder.name) / "program.py"
        program.write_text(PROGRAM)
        self.program = [sys.executable, str(program)]
        self.environment = os.environ | {
            "TUNEDGEMM_CACHE": str(self.cache),
            "OPENBLAS_NUM_THREADS": "1",
        }

    def run_all(self, command, **variables):
        result = subprocess.run(
            [str(word) for word in command],
            env=self.environment | variables,
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def run_program(self, *prefix, **variables):
        result = self.run_all([*prefix, *self.program], **variables)
        self.assertEqual(result.stdout, "right\n")
        return result.stderr

    def sql(self, statement):
        with sqlite3.connect(self.cache) as connection:
            return connection.execute(statement).fetchall()

    def test_numpy(self):
        self.run_program()
        recorded = self.run_program(TOOLS / "tunedgemm", "record", "--")
        found = re.search(r"(\d+) products recorded in 31 calls of (OpenBLAS [^;]+)", recorded)
        if found is None:
            self.skipTest("numpy uses another BLAS: " + recorded)
        self.assertEqual(len(self.sql("select * from missing")), int(found[1]))
        self.assertIn("tune-all --device host --from-requests --against openblas", recorded)
        self.run_all(
            [TOOLS / "tune-all", "--device", "host", "--from-requests", "--rigor", "quick",
             "--candidates", "2"],
            TUNEDGEMM_THREADS="1",
        )  # fmt: skip
        # As if tune-all had raced the winners against this OpenBLAS.
        self.sql(f"update winner set vendor = '{found[2]}', vendor_us = 2 * median_us")
        served = self.run_program(TOOLS / "tunedgemm", "run", "--")
        self.assertIn("31 of 31 calls of OpenBLAS", served)
        # Waking several threads takes longer than these products gain; with other threads than
        # those of the tuning, nothing is tuned.
        self.environment["OPENBLAS_NUM_THREADS"] = "2"
        self.assertIn("0 of 31 calls", self.run_program(TOOLS / "tunedgemm", "run", "--"))

    def test_off(self):
        front = LIBRARIES / "libtunedgemm_blas.so"
        self.assertEqual(self.run_program(LD_PRELOAD=str(front), TUNEDGEMM_FRONT="off"), "")
        self.assertFalse(self.cache.exists())


if __name__ == "__main__":
    TOOLS, LIBRARIES = (pathlib.Path(folder) for folder in sys.argv[1:3])
    print(f"numpy {numpy.__version__} of {numpy.__file__}")
    unittest.main(argv=sys.argv[:1])

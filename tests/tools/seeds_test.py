#!/usr/bin/env python3
"""Runs every command of tools/SEEDS.md that the host device can run, at a small size.

The argument is the folder of the programs."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = sys.argv.pop() if len(sys.argv) > 1 else ""
QUICK = "--device host --rigor quick"
BENCH = f"{QUICK} --rounds 1 --cool-down-ms 0"
ORDER = (
    "tunedgemm order 574 574 574 "
    '--config "block_m=64 block_n=64 block_k=64 group_m=3" --at-a-time 9'
)
# The command in SEEDS.md, the command to run, and the texts that its output must contain.
COMMANDS = {
    "tunedgemm bench 197 133 1031 --types f16 --layout tn --lda 200": (
        f"tunedgemm bench 197 133 1031 --types f16 --layout tn --lda 200 {BENCH}",
        ["f16→f16", "tn", "197x133x1031"],
    ),
    f"{ORDER} --svg order.svg": (
        f"{ORDER} --compare --wide",
        [
            "9 x 9 tiles of 64 x 64, each 9 blocks deep",
            "3 rows, 3 columns 0.882 MB",
            "54 486",
            "1 row, 9 columns 1.47 MB",
            "90 810",
            "27 30 33 36 39 42 45 48 51",
        ],
    ),
    "tunedgemm bench 4096 4096 4096 --types f16 --configs triton-tutorial": (
        f"tunedgemm bench 32 32 32 --types f16 --configs triton-tutorial {BENCH}",
        ["32x32x32", "triton-tutorial takes no part"],
    ),
    "tune-all --types f16 --m 1024 --n 4096 --k 1024 --activation leaky_relu --bias col": (
        (
            f"tune-all --types f16 --m 16 --n 24 --k 8 --activation leaky_relu --bias col {QUICK} "
            "--budget-seconds 60 --candidates 3"
        ),
        ["16x24x8", "leaky_relu", "bias/col"],
    ),
    "tunedgemm bench 4096 4096 4096 --types e5m2 --layout nt": (
        f"tunedgemm bench 24 16 32 --types e5m2 --layout nt {BENCH}",
        ["e5m2→f16", "nt", "24x16x32"],
    ),
    "tunedgemm bench --sweep squares --plot squares": (
        f"tunedgemm bench --sizes 16:32:16 --types f16 {BENCH} --json squares.json",
        ["16x16x16", "32x32x32"],
    ),
    "tunedgemm ladder --device host": (
        f"tunedgemm ladder 64 48 40 {QUICK} --rounds 1",
        ["naive_mnk", "reordered_mkn", "transposed_b", "blocked", "tuned"],
    ),
    "tunedgemm ladder --plot ladder": (
        f"tunedgemm ladder 40 24 16 {QUICK} --rounds 1 --json ladder.json",
        ["naive_mnk", "tuned"],
    ),
}
NEED_A_GPU = {"tunedgemm ladder", "tools/measure/bench_triton.py --plot triton"}


class Seeds(unittest.TestCase):
    def test_every_command_is_run_here_or_needs_a_gpu(self):
        cells = [
            line.split(" | ")[2]
            for line in (ROOT / "tools" / "SEEDS.md").read_text(encoding="utf-8").splitlines()
            if line.startswith("| ") and not line.startswith("| part")
        ]
        printed = {command for cell in cells for command in re.findall("`([^`]+)`", cell)}
        self.assertEqual(printed, COMMANDS.keys() | NEED_A_GPU)

    def test_commands(self):
        for printed, (command, parts) in COMMANDS.items():
            with self.subTest(printed), tempfile.TemporaryDirectory() as folder:
                environment = os.environ | {
                    "PATH": f"{TOOLS}:{os.environ['PATH']}",
                    "TUNEDGEMM_CACHE": f"{folder}/cache.db",
                }
                result = subprocess.run(
                    command, shell=True, cwd=folder, capture_output=True, text=True, env=environment
                )
                output = " ".join((result.stdout + result.stderr).split())
                self.assertEqual(result.returncode, 0, output)
                for part in parts:
                    self.assertIn(part, output)


if __name__ == "__main__":
    if not shutil.which("c++"):
        print("skipped: there is no C++ compiler")
        sys.exit(77)
    unittest.main()

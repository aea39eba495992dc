#!/usr/bin/env python3
"""Times grouped products, as the experts of a mixture have them, beside PyTorch's.

    python3 tools/measure/bench_grouped.py [--cases zipf-8 odd] [--types bf16] [--json FILE]

`ours` is tunedgemm.grouped_matmul, `torch` is torch._grouped_mm or torch._scaled_grouped_mm, and
`batch` is tunedgemm.matmul of 3 dimensions, where all groups have one size. B is the transposed
view of (groups, N, K), and results are bf16. e4m3 has scales of rows and columns, and fast sums;
e4m3-block has those of 1 x 128 and 128 x 128 elements, as DeepGEMM, and no rival here. The first
call of ours tunes. The first, the last and a few other rows of each group are checked by float32
products. Then each round takes one sample of every way in random order: launches in one CUDA graph,
about three milliseconds, over copies of the operands that exceed twice the L2 cache. Exit status: 0
success; 1 a case has no result of ours; 2 there is no GPU, or the command line is wrong.
"""

import argparse
import collections
import itertools
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

import tunedgemm.torch

SEED, ROWS_CHECKED, PROBE_LAUNCHES, SAMPLE_US, BLOCK = 20261128, 4, 8, 3000, 128
TYPES = ["bf16", "e4m3", "e4m3-block"]
# Groups x rows of each x N x K.
EQUAL = """8x1024x4096x4096 4x8192x4096x7168 8x4096x4096x4096 64x256x2048x1408 128x512x1536x2048
    4x8192x7168x2048 32x192x6144x7168 256x16x4096x7168 128x64x1536x2048 8x16x14336x4096
    16x4x5120x8192"""
Case = tuple[list[int], int, int]  # rows of each group, N, K
Way = Callable[[int], torch.Tensor]  # multiplies one of the copies of the operands


def drawn_rows(draw: random.Random, groups: int, rows: int, power: int) -> list[int]:
    """Draws a group for each row, with chances of 1 / rank ** power."""
    chances = [1 / rank**power for rank in range(1, groups + 1)]
    draw.shuffle(chances)
    counts = collections.Counter(draw.choices(range(groups), chances, k=rows))
    return [counts[group] for group in range(groups)]


def all_cases() -> dict[str, Case]:
    draw, cases = random.Random(SEED), {}
    for name in EQUAL.split():
        groups, rows, n, k = map(int, name.split("x"))
        cases[name] = [rows] * groups, n, k
    return cases | {
        "zipf-8": (drawn_rows(draw, 8, 8192, 1), 4096, 4096),
        "zipf-64": (drawn_rows(draw, 64, 16384, 1), 2048, 1408),
        "zipf-128": (drawn_rows(draw, 128, 32768, 1), 1536, 2048),
        "zipf-256": (drawn_rows(draw, 256, 8192, 1), 4096, 2048),
        "even-chances": (drawn_rows(draw, 128, 8192, 0), 2048, 768),
        "4-to-1": ([2048, 512] * 4, 4096, 4096),
        "odd": (draw.sample([1, 3, 17, 127, 129, 255, 257, 511] * 2, 16), 4096, 2048),
        "quarter-empty": (draw.sample([0] * 16 + [341] * 48, 64), 2048, 1408),
        "one-group": ([0] * 5 + [8192, 0, 0], 4096, 4096),
    }


def expanded(scales: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """A scale for each element, or a row or column of scales, from those of blocks."""
    for dimension in (0, 1):
        if 1 < scales.shape[dimension] < matrix.shape[dimension]:
            scales = scales.repeat_interleave(BLOCK, dimension)
            scales = scales.narrow(dimension, 0, matrix.shape[dimension])
    return scales


class Operands:
    """Copies of A and B, the scales, and the ways to multiply them."""

    def __init__(self, kind: str, case: Case, device: str) -> None:
        self.rows, self.n, self.k = case
        self.kind, groups, m = kind, len(self.rows), sum(self.rows)
        dtype = torch.bfloat16 if kind == "bf16" else torch.float8_e4m3fn
        set_bytes = dtype.itemsize * self.k * (m + groups * self.n)
        cache = torch.cuda.get_device_properties(0).L2_cache_size if device == "cuda" else 0
        copies = range(max(2, 2 * cache // set_bytes + 1))

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(shape, dtype=torch.bfloat16, device=device).to(dtype)

        self.a = [draw(m, self.k) for _ in copies]
        self.b = [draw(groups, self.n, self.k).transpose(1, 2) for _ in copies]
        depth, width = (
            (-(-self.k // BLOCK), -(-self.n // BLOCK)) if kind == "e4m3-block" else (1, self.n)
        )
        self.scale_a = torch.empty((m, depth), device=device).uniform_(0.5, 1.5)
        self.scale_b = torch.empty((groups, depth, width), device=device).uniform_(0.5, 1.5)
        self.out = torch.empty((m, self.n), dtype=torch.bfloat16, device=device)
        self.ends = torch.tensor(self.rows, device=device).cumsum(0, dtype=torch.int32)

    def ways(self) -> dict[str, Way]:
        a, b, options = self.a, self.b, {"offs": self.ends, "out_dtype": torch.bfloat16}
        scales: dict[str, Any] = {}
        if self.kind != "bf16":
            scales = {"scale_a": self.scale_a, "scale_b": self.scale_b}
        if self.kind == "e4m3-block":
            scales["numerics"] = "promoted"
        ways: dict[str, Way] = {
            "ours": lambda i: tunedgemm.grouped_matmul(
                a[i], b[i], self.ends, out=self.out, **scales
            )
        }
        if self.kind == "bf16":
            ways["torch"] = lambda i: torch._grouped_mm(a[i], b[i], **options)
        elif self.kind == "e4m3":
            vectors = self.scale_a.squeeze(1), self.scale_b.squeeze(1)
            ways["torch"] = lambda i: torch._scaled_grouped_mm(
                a[i], b[i], *vectors, use_fast_accum=True, **options
            )
        if len(set(self.rows)) == 1:
            groups, rows = len(self.rows), self.rows[0]
            batch, out = [x.view(groups, rows, -1) for x in a], self.out.view(groups, rows, -1)
            of_batch = dict(scales)
            if scales:
                of_batch["scale_a"] = self.scale_a.view(groups, rows, -1)
            ways["batch"] = lambda i: tunedgemm.matmul(batch[i], b[i], out=out, **of_batch)
        return ways

    def check(self, way: Way) -> None:
        """Raises for a wrong result. The limits are those of bench_triton.py."""
        torch.full_like(self.out, math.nan)  # the result gets this memory, unless it is self.out
        self.out.fill_(math.nan)
        limit = 2**-8 if self.kind == "bf16" else 2**-6 * (1 + self.k / 4096)
        d = way(0).view_as(self.out)
        for group, (end, count) in enumerate(zip(itertools.accumulate(self.rows), self.rows)):
            sample = random.Random(group).sample(range(count), min(ROWS_CHECKED, count))
            some = [*range(count)[:1], *range(count)[-1:], *sample]
            rows = slice(end - count, end)
            left, right = self.a[0][rows].float()[some], self.b[0][group].float()
            if self.kind != "bf16":
                left *= expanded(self.scale_a[rows][some], left)
                right *= expanded(self.scale_b[group], right)
            exact = left @ right
            errors = (d[rows][some].float() - exact).abs() / (self.k**0.5 + exact.abs())
            if not (errors <= limit).all():  # also raises for NaN
                worst = errors.max().item() / limit
                raise ArithmeticError(f"group {group} is wrong: {worst:.3g} times the error bound")


def timer(way: Way, copies: int, launches: int, device: str) -> Callable[[], float]:
    """Returns a function that measures the time of a launch in us."""

    def run() -> None:
        for index in range(launches):
            way(index % copies)

    if device == "cuda":
        graph = torch.cuda.CUDAGraph()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
            run()

    def sample() -> float:
        if device == "cpu":
            start = time.perf_counter()
            run()
            return (time.perf_counter() - start) / launches * 1e6
        graph.replay()  # keeps the GPU busy until the host has launched the timed one
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / launches * 1e3

    return sample


def race(kind: str, case: Case, device: str, rounds: int, row: dict[str, Any]) -> None:
    """Adds the medians in us to the row. A way that fails is left out with a remark."""
    operands = Operands(kind, case, device)
    ways, copies, fastest_us = {}, len(operands.a), math.inf
    for name, way in operands.ways().items():
        try:
            operands.check(way)  # tunes, which a capture does not allow
            probe = timer(way, copies, PROBE_LAUNCHES, device)
            fastest_us, ways[name] = min(fastest_us, probe(), probe()), way
        except Exception as error:  # still time the others
            row["remarks"].append(f"no {name}: {' '.join(str(error).split())[:200]}")
    wanted = 1 if device == "cpu" else SAMPLE_US / fastest_us
    launches = copies * math.ceil(wanted / copies)
    timers = {name: timer(way, copies, launches, device) for name, way in ways.items()}
    row["samples_us"] = {name: [] for name in ways}
    order = random.Random(SEED)
    for _ in range(rounds):
        for name in order.sample(list(ways), len(ways)):
            row["samples_us"][name].append(timers[name]())
    row["us"] = {name: statistics.median(each) for name, each in row["samples_us"].items()}


def summary(rows: list[dict[str, Any]], kind: str, other: str) -> str:
    us = {row["name"]: row["us"] for row in rows if row["types"] == kind and other in row["us"]}
    ratios = [(each[other] / each["ours"], name) for name, each in us.items() if "ours" in each]
    if not ratios:
        return f"{kind}, {other}/ours: -"
    mean, (least, name) = statistics.geometric_mean(ratio for ratio, _ in ratios), min(ratios)
    return f"{kind}, {other}/ours: mean {mean:.3f} of {len(ratios)}, least {least:.3f} ({name})"


def main() -> int:
    cases = all_cases()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=cases, default=list(cases), metavar="NAME")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES[:2])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", metavar="FILE", help="write all results and samples there")
    parser.add_argument("--tiny", action="store_true", help="small cases, on the CPU")
    options = parser.parse_args()
    if not (options.tiny or torch.cuda.is_available()):
        print("bench_grouped.py: PyTorch finds no GPU; use one, or --tiny", file=sys.stderr)
        return 2
    device = "cpu" if options.tiny else "cuda"
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(SEED)
    rows: list[dict[str, Any]] = []
    run = {
        "device": "CPU" if options.tiny else torch.cuda.get_device_name(),
        "versions": f"PyTorch {torch.__version__}, tunedgemm {tunedgemm.__version__}",
        "began_at": time.strftime("%Y-%m-%d %H:%M:%S"),
        "seed": SEED,
        "rounds": options.rounds,
    }
    print(*(f"{name}: {value}" for name, value in run.items()), sep="; ")
    print(f"{'':28}{'us':>10}{'TFLOP/s':>9}{'torch/ours':>12}{'batch/ours':>12}")
    stream = None if options.tiny else torch.cuda.Stream()
    for kind, name in itertools.product(options.types, options.cases):
        counts, n, k = cases[name]
        if options.tiny:
            counts, n, k = [-(-count // 128) for count in counts], n // 512 * 16, k // 512 * 16
        row: dict[str, Any] = {"name": name, "types": kind, "rows": counts, "n": n, "k": k}
        row |= {"us": {}, "remarks": []}
        try:
            with torch.cuda.stream(stream):
                race(kind, (counts, n, k), device, options.rounds, row)
        except Exception as error:  # out of memory, for example
            row["remarks"].append(f"{type(error).__name__}: {error}")
        torch.cuda.empty_cache()
        rows.append(row)
        us = row["us"].get("ours", math.inf)
        row["tflops"] = 2e-6 * sum(counts) * n * k / us
        line = f"{kind:11}{name:17}{us:10.1f}{row['tflops']:9.1f}"
        for other in ("torch", "batch"):
            line += f"{row['us'][other] / us:12.3f}" if other in row["us"] else f"{'-':>12}"
        print(line, *row["remarks"], sep="\n    ", flush=True)
        if options.json:  # complete after every case
            lines = ",\n".join(map(json.dumps, rows))  # a row each, for people and for diffs
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(f'{json.dumps(run)[:-1]}, "rows": [\n{lines}\n]}}\n')
    for kind, other in itertools.product(options.types, ("torch", "batch")):
        print(summary(rows, kind, other))
    return int(any("ours" not in row["us"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())

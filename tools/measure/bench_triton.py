#!/usr/bin/env python3
"""Races our winners against Triton's matmul, and for f16 against cuBLAS, in one process.

    tools/measure/bench_triton.py --library build/release/runtime/libtunedgemm.so --plot triton

`tuned` is libtunedgemm through its C interface, `triton` the kernel of Triton's matmul tutorial
with that tutorial's NVIDIA configs, `cublas` torch.matmul (f16 only). `tuned` and `triton` tune
before they are timed. Results are f16; for e5m2 B is transposed. Every result is checked. Then each
round takes one sample of every contender in random order: launches in one CUDA graph, about two
milliseconds of the fastest contender, over copies of the operands that exceed twice the L2 cache.
The JSON has the format of `tunedgemm bench`. Exit status: 0 success; 1 a contender has no result; 2
the command line is wrong; 3 PyTorch, a GPU or the library is missing.
"""

import argparse
import ctypes
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from ctypes import byref, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

try:
    import torch
    import triton
    import triton.language as tl

    MISSING = (
        ""
        if torch.cuda.is_available()
        else "PyTorch finds no GPU; run this where nvidia-smi shows one"
    )
except ImportError as import_error:
    MISSING = (
        f"PyTorch and Triton are needed ({import_error}); run this with a Python that has them"
    )

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST_SIZE, SAMPLE_US, PROBE_LAUNCHES, MOST_LAUNCHES, MOST_COPIES = 32768, 2000, 16, 1024, 4096
# For each type: its number in tunedgemm.h, PyTorch's name, bytes, its name in results, the layout,
# and the error bound of an element of D, relative to sqrt(K) plus the element's magnitude. The
# bound is larger for fp8, because tensor cores keep only about 14 bits of a sum of fp8 products.
KINDS: dict[str, Any] = {
    "f16": (3, "float16", 2, "f16→f16", "nn", lambda k: 2**-9),
    "e5m2": (6, "float8_e5m2", 1, "e5m2→f16 fast", "nt", lambda k: 2**-6 * (1 + k / 4096)),
}
Launch = Callable[[int], object]  # on one of the copies of the operands
if not MISSING:

    @triton.autotune(
        key=["m", "n", "k"],
        configs=[
            triton.Config(
                {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8},
                num_stages=stages,
                num_warps=warps,
            )
            for m, n, k, stages, warps in (
                (128, 256, 64, 3, 8),
                (64, 256, 32, 4, 4),
                (128, 128, 32, 4, 4),
                (128, 64, 32, 4, 4),
                (64, 128, 32, 4, 4),
                (128, 32, 32, 4, 4),
                (64, 32, 32, 5, 2),
                (32, 64, 32, 5, 2),
                (128, 256, 128, 3, 8),
                (256, 128, 128, 3, 8),
                (256, 64, 128, 4, 4),
                (64, 256, 128, 4, 4),
                (128, 128, 128, 4, 4),
                (128, 64, 64, 4, 4),
                (64, 128, 64, 4, 4),
                (128, 32, 64, 4, 4),
            )
        ],
    )
    @triton.jit
    def triton_matmul(  # type: ignore[no-untyped-def]  # Triton compiles it
        a,
        b,
        d,
        m,
        n,
        k,
        a_stride_m,
        a_stride_k,
        b_stride_k,
        b_stride_n,
        d_stride_m,
        d_stride_n,
        BLOCK_M: tl.constexpr,
        BLOCK_N: tl.constexpr,
        BLOCK_K: tl.constexpr,
        GROUP_M: tl.constexpr,
    ):
        """D = A B. Tiles run in groups of GROUP_M rows, column by column within a group."""
        tile, group_tiles = tl.program_id(axis=0), GROUP_M * tl.cdiv(n, BLOCK_N)
        first_row = tile // group_tiles * GROUP_M
        height = min(tl.cdiv(m, BLOCK_M) - first_row, GROUP_M)
        m0, n0 = (
            (first_row + tile % group_tiles % height) * BLOCK_M,
            tile % group_tiles // height * BLOCK_N,
        )
        # Rows and columns past the end wrap around, so that only K needs a mask.
        rows, columns = (m0 + tl.arange(0, BLOCK_M)) % m, (n0 + tl.arange(0, BLOCK_N)) % n
        depth = tl.arange(0, BLOCK_K)
        a_tile = a + rows[:, None] * a_stride_m + depth[None, :] * a_stride_k
        b_tile = b + depth[:, None] * b_stride_k + columns[None, :] * b_stride_n
        accumulators = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(k, BLOCK_K)):
            accumulators = tl.dot(
                tl.load(a_tile, mask=depth[None, :] < k - step * BLOCK_K, other=0.0),
                tl.load(b_tile, mask=depth[:, None] < k - step * BLOCK_K, other=0.0),
                accumulators,
            )
            a_tile, b_tile = a_tile + BLOCK_K * a_stride_k, b_tile + BLOCK_K * b_stride_k
        rows, columns = m0 + tl.arange(0, BLOCK_M), n0 + tl.arange(0, BLOCK_N)
        d_tile = d + rows[:, None] * d_stride_m + columns[None, :] * d_stride_n
        tl.store(
            d_tile, accumulators.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n)
        )


class Problem(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_int64) for name in "m n k batch".split()),
        *(
            (name, c_int32)
            for name in "type_a type_b type_d numerics order_a order_b order_c order_d".split()
        ),
        *((name, c_int64) for name in "lda ldb ldc ldd".split()),
        *((f"batch_stride_{name}", c_int64) for name in "abcd"),
        *(
            (name, c_int32)
            for name in (
                "activation bias invariant sm_limit scaling_a scaling_b group_kind rows_per_group"
            ).split()
        ),
    ]


class Buffers(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_void_p) for name in "a b c d bias scale_a scale_b".split()),
        ("alpha", c_double),
        ("beta", c_double),
        ("slope", c_float),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
        *(
            (f"scale_{stride}_{name}", c_int64)
            for stride in ("stride", "k_stride", "batch_stride")
            for name in "ab"
        ),
        ("groups", c_void_p),
    ]


class Library:
    """libtunedgemm with a default context; tunedgemm.h documents the functions."""

    def __init__(self, path: str | None):
        built = sorted(
            ROOT.glob("build/*/runtime/libtunedgemm.so"), key=lambda file: file.stat().st_mtime
        )
        self.c, self.context = (
            ctypes.CDLL(path or str(built[-1] if built else "libtunedgemm.so")),
            c_void_p(),
        )
        self.c.tunedgemm_plan_description.restype = self.c.tunedgemm_error_message.restype = (
            c_char_p
        )
        self.check(self.c.tunedgemm_context_create(None, byref(self.context)))
        text = ctypes.create_string_buffer(1 << 16)
        self.c.tunedgemm_context_report(self.context, text, c_size_t(len(text)))
        self.report = dict(
            line.split(maxsplit=1)
            for line in text.value.decode(errors="replace").splitlines()
            if " " in line
        )

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(self.c.tunedgemm_error_message().decode(errors="replace"))

    def contender(self, types: str, size: int, addresses: list, stream: int | None) -> tuple:
        """Tunes. Returns a function that launches on a copy of A, B and D, and one that names the
        kernel."""
        number, problem, plan, copies = (
            KINDS[types][0],
            Problem(struct_size=ctypes.sizeof(Problem), batch=1, numerics=-1),
            c_void_p(),
            [Buffers(struct_size=ctypes.sizeof(Buffers), alpha=1) for _ in addresses],
        )
        for buffers, (a, b, d) in zip(copies, addresses):
            buffers.a, buffers.b, buffers.d = a, b, d
        problem.m = problem.n = problem.k = size
        problem.type_a, problem.type_b, problem.type_d = number, number, KINDS["f16"][0]
        problem.order_b = int(KINDS[types][4] == "nt")  # column-major
        self.check(
            self.c.tunedgemm_plan_create(
                self.context, byref(problem), byref(copies[0]), None, byref(plan)
            )
        )
        return (
            lambda copy: self.check(
                self.c.tunedgemm_run(plan, byref(copies[copy]), c_void_p(stream))
            ),
            lambda: self.c.tunedgemm_plan_description(plan).decode(errors="replace"),
        )


def contenders(library: Library, types: str, size: int, sets: list) -> dict[str, Callable[[], Any]]:
    """Maps names to makers; a maker returns a function that launches on a copy of the operands, and
    one that names the kernel."""

    def launch_triton(copy: int) -> None:
        (a, b, d), strides = (
            sets[copy],
            [stride for matrix in sets[copy] for stride in matrix.stride()],
        )

        def grid(knobs: dict) -> tuple[int]:
            return (triton.cdiv(size, knobs["BLOCK_M"]) * triton.cdiv(size, knobs["BLOCK_N"]),)

        triton_matmul[grid](a, b, d, size, size, size, *strides)

    addresses = [[matrix.data_ptr() for matrix in one] for one in sets]
    makers: dict[str, Callable[[], Any]] = {
        "tuned": lambda: library.contender(
            types, size, addresses, torch.cuda.current_stream().cuda_stream
        ),
        "triton": lambda: (launch_triton, lambda: str(triton_matmul.best_config)),
        "cublas": lambda: (
            lambda copy: torch.matmul(*sets[copy][:2], out=sets[copy][2]),
            lambda: "",
        ),
    }
    if types != "f16":
        del makers["cublas"]  # torch.matmul lacks fp8
    return makers


def operand_sets(types: str, size: int) -> list:
    """Copies of random A and B, and of D; the inputs together exceed twice the L2 cache."""
    _, name, element_bytes, _, layout, _ = KINDS[types]
    copies, sets = (
        torch.cuda.get_device_properties(0).L2_cache_size // (size * size * element_bytes) + 1,
        [],
    )
    for _ in range(min(max(copies, 2), MOST_COPIES)):
        a, b, d = (
            torch.randn((size, size), device="cuda").to(getattr(torch, kind))
            for kind in (name, name, "float16")
        )
        sets.append((a, b.T if layout == "nt" else b, d))
    return sets


def graph_timer(launch: Launch, copies: int, launches: int) -> Callable[[], float]:
    """Returns a function that measures the time of a launch in us, from launches over the copies
    between two events in one graph."""
    graph, begin, end = (
        torch.cuda.CUDAGraph(),
        *(torch.cuda.Event(enable_timing=True, external=True) for _ in range(2)),
    )
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="relaxed"):
        launch(copies - 1)  # untimed, because it starts on an idle device
        begin.record()
        for index in range(launches):
            launch(index % copies)
        end.record()

    def sample_us() -> float:
        graph.replay()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e3 / launches

    return sample_us


def admit(launch: Launch, sets: list, bound: float) -> tuple[float, float]:
    """Runs a graph; returns the largest error relative to the bound and the time of a launch.
    Raises for a wrong result."""
    launch(0)  # tunes, which a capture does not allow
    torch.cuda.synchronize()
    sample_us, (a, b, d) = graph_timer(launch, len(sets), PROBE_LAUNCHES), sets[0]
    d.fill_(float("nan"))
    us, expected = max(sample_us(), sample_us()), a.float().double() @ b.float().double()
    error = (
        ((d.double() - expected).abs() / (bound * (len(a) ** 0.5 + expected.abs()))).max().item()
    )
    if not error <= 1:  # also fails on NaN
        raise ArithmeticError(f"the result is wrong: {error:.3g} times the error bound")
    return error, us


def contender_record(
    name: str, kernel: str, samples_us: list[float], size: int, error: float
) -> dict:
    """In the format of `tunedgemm bench --json`."""
    us = statistics.quantiles(samples_us * (1 + (len(samples_us) == 1)), n=10, method="inclusive")
    return {
        "contender": name,
        "kernel": kernel or None,
        "median_us": us[4],
        "p20_us": us[1],
        "p80_us": us[7],
        "tflops": 2e-6 * size**3 / us[4],
        "of_roofline": None,
        "clock_mhz": None,
        "max_error": error,
    }


def race(library: Library, types: str, size: int, rounds: int, cool_down_ms: int) -> dict:
    """The row. A contender that fails is left out with a remark."""
    row: dict[str, Any] = {
        "name": "",
        "types": KINDS[types][3],
        "layout": KINDS[types][4],
        "epilogue": "",
        "m": size,
        "n": size,
        "k": size,
        "batch": 1,
        "kernel": "",
        "failure": None,
        "remarks": [],
        "contenders": [],
    }
    racing: list[Any] = []
    order = random.Random(1)
    try:
        sets = operand_sets(types, size)
        for name, make in contenders(library, types, size, sets).items():
            try:
                launch, kernel = make()
                racing.append(
                    (name, launch, kernel, *admit(launch, sets, KINDS[types][5](size)), [])
                )
            except Exception as error:  # still race the others
                row["remarks"].append(
                    f"no {name}: {type(error).__name__}: {' '.join(str(error).split())}"
                )
        launches = max(
            min(int(SAMPLE_US / min(us for *_, us, _ in racing)), MOST_LAUNCHES), len(sets)
        )
        timers = [
            (samples, graph_timer(launch, len(sets), launches)) for _, launch, *_, samples in racing
        ]
        for is_counted in [False] + rounds * [True]:  # a graph's first replay is slower
            for samples, sample_us in order.sample(timers, len(timers)):
                time.sleep(cool_down_ms / 1e3)
                us = sample_us()
                if is_counted:
                    samples.append(us)
    except Exception as error:  # out of memory, for example
        return row | {"failure": f"{type(error).__name__}: {error}"}
    for name, _, kernel, largest_error, _, samples in racing:
        record = contender_record(name, kernel(), samples, size, largest_error)
        row["contenders"].append(record)
        row["remarks"] += [f"{name} runs {kernel()}"] * bool(kernel())
        row["kernel"] = kernel() if name == "tuned" else row["kernel"]
    return row if row["kernel"] else row | {"failure": row["remarks"][0]}


def sizes(text: str) -> list[int]:
    """512,1024 or 256:4096:128, or both joined by commas."""
    ranges = [
        [int(number) for number in (part if ":" in part else f"{part}:{part}:1").split(":")]
        for part in text.split(",")
    ]
    numbers = [size for first, last, step in ranges for size in range(first, last + 1, step)]
    if not numbers or min(numbers) < 1 or max(numbers) > LARGEST_SIZE:
        raise argparse.ArgumentTypeError(
            f'"{text}" is not a list of sizes from 1 to {LARGEST_SIZE}'
        )
    return numbers


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", type=sizes, default="256:4096:128", help="M = N = K; default: %(default)s"
    )
    parser.add_argument(
        "--types",
        type=lambda text: text.split(","),
        default="f16,e5m2",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        choices=range(1, 1001),
        metavar="1..1000",
        default=11,
        help="default: %(default)s",
    )
    parser.add_argument(
        "--cool-down-ms",
        type=int,
        choices=range(10001),
        metavar="0..10000",
        default=20,
        help="default: %(default)s",
    )
    parser.add_argument(
        "--library",
        metavar="FILE",
        help="default: the newest libtunedgemm.so in a build folder, or the loader's",
    )
    parser.add_argument(
        "--json",
        type=pathlib.Path,
        metavar="FILE",
        help="write results to FILE, for tools/plot/plot_bench.py",
    )
    parser.add_argument(
        "--plot",
        metavar="PREFIX",
        help="draw PREFIX.png and PREFIX.svg; without --json also write PREFIX.json",
    )
    options = parser.parse_args(arguments)
    if not set(options.types) <= KINDS.keys():
        parser.error(f"argument --types: choose from {', '.join(KINDS)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options, status = parse(arguments), 0
    file = options.json or pathlib.Path(f"{options.plot}.json")
    try:
        if MISSING:
            raise OSError(MISSING)
        library = Library(options.library)
    except (OSError, RuntimeError) as error:
        print(f"bench_triton.py: {error}", file=sys.stderr)
        return 3
    compiler, _, driver = library.report["toolchain"].partition(", ")
    run = {
        "device": torch.cuda.get_device_name(0),
        "compiler": compiler,
        "driver": driver,
        "vendor": f"Triton {triton.__version__}, cuBLAS of PyTorch {torch.__version__}",
        "rounds": options.rounds,
        "began_at": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        "cool_down_ms": options.cool_down_ms,
        "rows": [],
    }
    print(*list(run.values())[:-1], sep=", ", file=sys.stderr)
    for types, size in [(types, size) for types in options.types for size in options.sizes]:
        with torch.cuda.stream(torch.cuda.Stream()):
            row = race(library, types, size, options.rounds, options.cool_down_ms)
        run["rows"].append(row)
        status |= len(row["contenders"]) < (3 if types == "f16" else 2)
        speeds = [f"{one['contender']} {one['tflops']:.4g} TFLOP/s" for one in row["contenders"]]
        print(
            f"{size} {row['types']}:",
            row["failure"] or ", ".join(speeds),
            *row["remarks"],
            sep="\n    ",
            flush=True,
        )
        if options.json or options.plot:  # complete after every row
            file.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.plot:
        plot = [sys.executable, ROOT / "tools" / "plot" / "plot_bench.py", file, "-o", options.plot]
        status |= subprocess.run(plot, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Races our winners against Triton's matmul, and against cuBLAS where that has the types, in one process.

    tools/bench_triton.py --json triton.json --plot triton
    tools/bench_triton.py --sizes 512,1024 --types e5m2 --library build/release/runtime/libtunedgemm.so

The contenders: `tuned` is libtunedgemm through its C interface, where the first call of a shape tunes it; `triton` is the
block-level kernel of Triton's matmul tutorial, autotuned over that tutorial's configs for NVIDIA; `cublas` is
torch.matmul, for f16 alone. Sums are f32 and results f16; for e5m2 B is given transposed (layout nt).

Every result is checked. Then each round takes one sample of every contender in a shuffled order: launches in one CUDA
graph, about two milliseconds of the fastest contender, over copies of the operands that exceed twice the L2 cache.
The JSON is that of `tunedgemm bench`. Needs PyTorch 2.9, Triton, a GPU and libtunedgemm.so.

Exit status: 0 good; 1 a contender has no result; 2 the command line is wrong; 3 what it needs is missing; 130 interrupted,
and what is done is kept.
"""
import argparse
import datetime
import importlib
import pathlib
import subprocess
import sys
import time

from triton_race import results
from triton_race.contenders import contender_makers
from triton_race.gpu import Gpu
from triton_race.kind import KINDS, Kind
from triton_race.library import Library, LibraryError, find_library
from triton_race.missing import Missing
from triton_race.race import race, row_json, sentence_of

LARGEST_SIZE = 32768  # the Triton kernel's offsets have 32 bits
PYTHONS = (sys.executable, "/usr/bin/python3")  # Debian's matplotlib is in Debian's Python


def sizes(text: str) -> list[int]:
    """512,1024 or 256:4096:128, or both joined by commas."""
    found = []
    for part in text.split(","):
        numbers = part.split(":")
        if len(numbers) not in (1, 3) or not all(number.isascii() and number.isdecimal() for number in numbers):
            raise argparse.ArgumentTypeError(f'"{part}" is neither a size nor first:last:step, such as 256:4096:128')
        first, last, step = map(int, numbers if len(numbers) == 3 else numbers * 2 + ["1"])
        if not (1 <= first <= last <= LARGEST_SIZE and step >= 1):
            raise argparse.ArgumentTypeError(f'"{part}" has no sizes from 1 to {LARGEST_SIZE}, the least first')
        found += range(first, last + 1, step)
    return found


def kinds(text: str) -> list[Kind]:
    unknown = [name for name in text.split(",") if name not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f'"{unknown[0]}" is not one of {", ".join(KINDS)}')
    return [KINDS[name] for name in text.split(",")]


def whole_number(least: int, most: int):
    def number(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f'"{text}" is not a whole number from {least} to {most}')
        return int(text)
    return number


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=sizes, default="256:4096:128", help="M = N = K; default: %(default)s")
    parser.add_argument("--types", type=kinds, default="f16,e5m2", help="default: %(default)s")
    parser.add_argument("--rounds", type=whole_number(1, 1000), default=11, help="timed rounds; default: %(default)s")
    parser.add_argument("--cool-down-ms", type=whole_number(0, 10000), default=20,
                        help="how long the device cools down before each sample; default: %(default)s")
    parser.add_argument("--library", metavar="FILE",
                        help="libtunedgemm.so; default: the newest in a build folder, or the loader's")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="what tools/plot_bench.py draws")
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE", help="the same, a line for each contender")
    parser.add_argument("--plot", metavar="PREFIX",
                        help="draws PREFIX.png and PREFIX.svg; without --json it writes PREFIX.json too")
    options = parser.parse_args(arguments)
    if options.plot and not options.json:
        options.json = pathlib.Path(f"{options.plot}.json")
    return options


def needed(module: str, name: str):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Missing(f"{name} cannot be imported ({error}); run this with a Python that has it") from error


def open_torch():
    torch = needed("torch", "PyTorch")
    if not torch.cuda.is_available():
        raise Missing("PyTorch sees no GPU; run this where nvidia-smi shows one, with a PyTorch built for CUDA")
    return torch


def open_library(path: str | None) -> Library:
    try:
        return Library(path or find_library())
    except LibraryError as error:
        raise Missing(f"libtunedgemm cannot use the GPU: {error}") from error


def plotter(prefix: str | None) -> list[str] | None:
    """The command's beginning, found before anything is measured."""
    if prefix is None:
        return None
    for python in PYTHONS:
        if pathlib.Path(python).exists() and subprocess.run([python, "-c", "import matplotlib"],
                                                            capture_output=True).returncode == 0:
            return [python, str(pathlib.Path(__file__).resolve().with_name("plot_bench.py"))]
    raise Missing("no Python here has matplotlib, which --plot needs; give --json and draw later by plot_bench.py")


def describe_run(gpu, library, versions: str, options: argparse.Namespace) -> dict:
    compiler, driver = library.toolchain()
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"device": gpu.name, "compiler": compiler, "driver": driver, "vendor": versions,
            "began_at": f"{now:%Y-%m-%d %H:%M:%S}", "rounds": options.rounds, "cool_down_ms": options.cool_down_ms}


def bench(gpu, make_contenders, run: dict, options: argparse.Namespace) -> int:
    """All shapes, and the exit status."""
    files, rows, is_interrupted = results.ResultFiles(run, options.csv, options.json), [], False
    shapes = [(kind, size) for kind in options.types for size in options.sizes]
    begin = time.monotonic()
    try:
        for kind, size in shapes:
            try:
                row = race(gpu, make_contenders, kind, size, options.rounds, options.cool_down_ms)
            except Exception as error:  # too large for the memory, say; what is done is worth keeping
                row = row_json(kind, size) | {"failure": sentence_of(error)}
            rows.append(row)
            files.add(row)
            left = (time.monotonic() - begin) / len(rows) * (len(shapes) - len(rows))
            told = [f"tuned runs {row['kernel']}", *row["remarks"]] if row["kernel"] else row["remarks"]
            print(f"{len(rows)}/{len(shapes)}  {size} {kind.types} {kind.layout}: {results.result_text(row)}  "
                  f"({left / 60:.1f} min left)", *told, sep="\n    ", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted; what is done is kept", file=sys.stderr)
        is_interrupted = True
    for line in (*results.table_lines(rows), *results.mean_lines(rows)):
        print(line, flush=True)
    wanted = sum(len(make_contenders(kind, [])) for kind, _ in shapes)
    return 130 if is_interrupted else int(sum(len(row["contenders"]) for row in rows) < wanted)


def run_race(options: argparse.Namespace) -> int:
    drawing = plotter(options.plot)
    torch = open_torch()
    triton = needed("triton", "Triton")
    library = open_library(options.library)
    gpu = Gpu(torch)
    run = describe_run(gpu, library, f"Triton {triton.__version__}, cuBLAS of PyTorch {torch.__version__}", options)
    print(f"{run['device']}, {run['compiler']}, {run['vendor']}; {options.rounds} interleaved rounds, each sample after "
          f"{options.cool_down_ms} ms of cool-down; medians", file=sys.stderr, flush=True)
    with torch.cuda.stream(gpu.stream):
        status = bench(gpu, lambda kind, sets: contender_makers(gpu, library, kind, sets), run, options)
    library.close()
    if drawing and subprocess.run([*drawing, str(options.json), "-o", options.plot]).returncode != 0:
        return max(status, 1)
    return status


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        return run_race(options)
    except Missing as error:
        print(f"bench_triton.py: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"bench_triton.py: the results cannot be written: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

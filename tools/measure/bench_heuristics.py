#!/usr/bin/env python3
"""Races the configs that NVIDIA's public cost model (PyPI: nvidia-matmul-heuristics) proposes
against our winner and our cost model.

    bench_heuristics.py drawn.csv --command build/release/tools/tunedgemm -- --rigor normal

or, without a GPU, and then on the GPU's machine:

    bench_heuristics.py drawn.csv --gpu H200_SXM --propose proposals.json
    bench_heuristics.py drawn.csv --proposals proposals.json --json results.json

The list is a CSV file with a header. Each problem that the cost model knows is one run of
`tunedgemm bench`, which gets the options after "--". The contenders are our winner (`tuned`), the
kernel of a call without a winner (`untuned`), our cost model's choice (`model`), our kernel nearest
to NVIDIA's first proposal (`heuristics`), and the fastest of our kernels nearest to its first eight
(`heuristics of 8`). "Nearest" compares the CTA tile, k tile, stages, cluster and split-K slices
(`tunedgemm bench --configs`): the race compares choices, not NVIDIA's kernels. Exit status: 0
success; 1 a problem has no result; 2 the command line is wrong; 3 the cost model is missing.
"""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

FIRST, BEST, OTHERS = "heuristics", "heuristics of 8", ["untuned", "model"]
PROPOSALS, SLOW = 8, 0.8
LETTERS = {
    "f16": "H",
    "bf16": "T",
    "f32": "S",
    "f64": "D",
    "e4m3": "Q",
    "e5m2": "R",
    "s8": "B",
    "s32": "I",
}
OUTPUTS = {"e4m3": "f16", "e5m2": "f16", "s8": "s32"}


def read_list(path: str) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        return list(
            csv.DictReader(line for line in file if line.strip() and not line.startswith("#"))
        )


def precision(row: dict) -> str:
    """The cost model's name for the types: of A, B, C, the products and D."""
    inputs, _, output = row["types"].partition("->")
    a, _, b = inputs.replace("i8", "s8").partition("x")
    uses_tf32 = a == "tf32" or row.get("numerics") in ("tf32", "emulated")
    a, b = ("f32" if name == "tf32" else name for name in (a, b or a))
    d = LETTERS[output or row.get("output") or OUTPUTS.get(a, a)]
    products = "F" if uses_tf32 else {"f64": "D", "s8": "I"}.get(a, "S")
    if LETTERS[a] in "QR":
        return LETTERS[a] + LETTERS[b] + d + products + d
    return LETTERS[a] + products + d


def canonical(row: dict) -> tuple[int, int, int, str]:
    """M, N, K and the layout for a row-major D. Our kernels compute the transpose of a column-major
    one."""
    m, n, k, layout = int(row["m"]), int(row["n"]), int(row["k"]), row.get("layout") or "nn"
    if row.get("order_d") != "col":
        return m, n, k, layout
    a, b = ("n" if letter == "t" else "t" for letter in layout)
    return n, m, k, b + a


def propose(rows: list[dict], gpu: str) -> list[list[str]]:
    """The proposals for each problem as configs, the best first; none for types that the cost model
    does not know."""
    from nvMatmulHeuristics import (
        NvMatmulHeuristicsFlags,
        NvMatmulHeuristicsInterfaceEx,
        NvMatmulHeuristicsMatmulLayout,
        NvMatmulHeuristicsNvidiaGpu,
        NvMatmulHeuristicsTarget,
    )

    heuristics = NvMatmulHeuristicsInterfaceEx(
        NvMatmulHeuristicsTarget.CUTLASS3,
        gpu=NvMatmulHeuristicsNvidiaGpu[gpu],
        flags=NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
    )
    proposals = []
    for row in rows:
        m, n, k, layout = canonical(row)
        problem = heuristics.makeNvMatmulHeuristicsProblem(
            m,
            n,
            k,
            NvMatmulHeuristicsMatmulLayout[layout.upper() + "_ROW_MAJOR"],
            int(row.get("batch") or 1),
        )
        found = sorted(
            heuristics.get(problem, PROPOSALS, precision=precision(row)),
            key=lambda one: one["runtime"],
        )
        proposals.append(
            [
                f"block_m={kernel.cta_tile_m} block_n={kernel.cta_tile_n} "
                f"block_k={kernel.cta_tile_k} stages={kernel.stages} cluster_m={kernel.cluster_m} "
                f"cluster_n={kernel.cluster_n} split_k={kernel.split_k} swap_ab=0"
                for kernel in (one["kernel"] for one in found)
            ]
        )
    return proposals


def bench(row: dict, configs: list[str], command: str, arguments: list[str]) -> dict:
    """The row that `tunedgemm bench` writes."""
    with tempfile.TemporaryDirectory() as folder:
        shape, result = pathlib.Path(folder, "shape.csv"), pathlib.Path(folder, "result.json")
        with open(shape, "w", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerow(row)
        call = [command, "bench", "--list", str(shape), "--json", str(result)]
        for name, lines in ((FIRST, configs[:1]), (BEST, configs)):
            path = pathlib.Path(folder, f"{name}.txt")
            path.write_text("\n".join(lines), encoding="utf-8")
            call += ["--configs", str(path)]
        done = subprocess.run(
            call + [f"--against={name}" for name in OTHERS] + arguments,
            capture_output=True,
            text=True,
            check=False,
        )
        rows = json.loads(result.read_text(encoding="utf-8"))["rows"] if result.exists() else []
        return (
            rows[0]
            if rows
            else {"failure": done.stderr.strip().splitlines()[-1:], "contenders": []}
        )


def speeds(result: dict) -> dict[str, float]:
    """The speed of each contender relative to `tuned`."""
    times = {one["contender"]: one["median_us"] for one in result["contenders"]}
    return {name: times["tuned"] / us for name, us in times.items()} if "tuned" in times else {}


def print_summary(results: list[tuple[dict, dict]]) -> None:
    names = [*OTHERS, FIRST, BEST]
    relative = [(row, speeds(result)) for row, result in results]
    print(f"{'speed relative to tuned':44}" + "".join(f"{name:>17}" for name in names))
    for row, speed in relative:
        if any(speed.get(name, 1) < SLOW for name in names):
            text = (
                f"{row.get('name') or ''} {row['types']} {row.get('layout') or ''} "
                f"{row['m']}x{row['n']}x{row['k']}"
            )
            print(
                f"{text[:43]:44}"
                + "".join(
                    f"{speed[name]:17.2f}" if name in speed else f"{'-':>17}" for name in names
                )
            )
    columns = [[speed[name] for _, speed in relative if name in speed] for name in names]
    for title, figure in (
        ("problems", len),
        (f"below {SLOW}", lambda all: sum(one < SLOW for one in all)),
        ("least", lambda all: round(min(all), 3)),
        ("geometric mean", lambda all: round(math.exp(sum(map(math.log, all)) / len(all)), 3)),
    ):
        print(
            f"{title:44}"
            + "".join(f"{figure(column) if column else '-':>17}" for column in columns)
        )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="bench_heuristics.py LIST [options] [-- options of tunedgemm bench]",
    )
    parser.add_argument("list", metavar="LIST", help="a list of shapes (CSV with a header)")
    parser.add_argument(
        "--command",
        metavar="FILE",
        default="tunedgemm",
        help="the program tunedgemm; default: %(default)s",
    )
    parser.add_argument(
        "--gpu", default="H200_SXM", help="the cost model's name of the GPU; default: %(default)s"
    )
    parser.add_argument(
        "--propose", metavar="FILE", type=pathlib.Path, help="only write the proposals to FILE"
    )
    parser.add_argument(
        "--proposals", metavar="FILE", type=pathlib.Path, help="take the proposals from FILE"
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=pathlib.Path,
        help="write the results to FILE after each problem",
    )
    arguments = sys.argv[1:] if arguments is None else arguments
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, bench_arguments = parser.parse_args(arguments[:end]), arguments[end + 1 :]
    rows = read_list(options.list)
    try:
        proposals = (
            json.loads(options.proposals.read_text(encoding="utf-8"))
            if options.proposals
            else propose(rows, options.gpu)
        )
    except ImportError as error:
        print(f"bench_heuristics.py: nvidia-matmul-heuristics is needed ({error})", file=sys.stderr)
        return 3
    if len(proposals) != len(rows):
        parser.error(
            f"{options.proposals} has proposals for {len(proposals)} problems, {options.list} has "
            f"{len(rows)} problems"
        )
    if options.propose:
        options.propose.write_text(json.dumps(proposals, indent=1) + "\n", encoding="utf-8")
        return 0
    results = []
    for number, (row, configs) in enumerate(zip(rows, proposals), 1):
        result = bench(row, configs, options.command, bench_arguments)
        results.append((row, result))
        print(
            f"{number}/{len(rows)} {row.get('name') or ''}: {result['failure'] or speeds(result)}",
            file=sys.stderr,
        )
        if options.json:
            options.json.write_text(
                json.dumps({"rows": [one for _, one in results]}, indent=1) + "\n", encoding="utf-8"
            )
    print_summary(results)
    return 0 if all(speeds(result) for _, result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

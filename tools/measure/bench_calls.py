#!/usr/bin/env python3
"""Prints the time that a call takes of the calling thread: PyTorch's operators, tunedgemm's, and
tunedgemm.matmul.

    python3 tools/measure/bench_calls.py [--size 64] [--dtype bfloat16]

Needs the package (pip install .) and PyTorch. The matrices are small, so that a GPU finishes before
the next call: the call is timed, not the kernel. The columns are timed in turn; each shows the
median of its rounds."""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import tunedgemm.torch

ROUNDS = 21


def calls_of(a: torch.Tensor, bias: torch.Tensor) -> dict[str, Callable[[], object]]:
    """The timed calls, by name."""
    out, plan, operators = torch.empty_like(a), tunedgemm.plan(a, a), torch.ops.tunedgemm
    ends, matrix = torch.tensor([len(a)], dtype=torch.int32, device=a.device), a.unsqueeze(0)
    return {
        "torch.mm": lambda: torch.mm(a, a),
        "torch.ops.tunedgemm.mm": lambda: operators.mm.default(a, a),
        "torch.ops.tunedgemm.mm.no_grad": lambda: operators.mm.no_grad(a, a),
        "torch.mm, out": lambda: torch.mm(a, a, out=out),
        "torch.ops.tunedgemm.mm.out": lambda: operators.mm.out(a, a, out=out),
        "torch.nn.functional.linear": lambda: torch.nn.functional.linear(a, a, bias),
        "torch.ops.tunedgemm.linear": lambda: operators.linear.default(a, a, bias),
        "torch.ops.tunedgemm.linear.no_grad": lambda: operators.linear.no_grad(a, a, bias),
        "torch._grouped_mm": lambda: torch._grouped_mm(a, matrix, offs=ends),
        "torch.ops.tunedgemm.grouped_mm": lambda: operators.grouped_mm.default(a, matrix, ends),
        "torch.ops.tunedgemm.grouped_mm.no_grad": lambda: operators.grouped_mm.no_grad(
            a, matrix, ends
        ),
        "tunedgemm.matmul": lambda: tunedgemm.matmul(a, a),
        "tunedgemm.matmul, out": lambda: tunedgemm.matmul(a, a, out=out),
        "plan.run, out": lambda: plan.run(a, a, out=out),
    }


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def microseconds(call: Callable[[], object], count: int = 500) -> float:
    """The mean time of `count` calls, fewer than a GPU's queue of launches holds."""
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    seconds = time.perf_counter() - start
    synchronize()
    return 1e6 * seconds / count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", type=int, default=64, help="rows and columns of all matrices (64)"
    )
    parser.add_argument("--dtype", default="bfloat16" if torch.cuda.is_available() else "float32")
    arguments = parser.parse_args()
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        a = torch.rand((arguments.size, arguments.size)).to(getattr(torch, arguments.dtype))
        bias = torch.rand(arguments.size).to(a.dtype)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            calls = calls_of(a, bias)
            rounds = [
                {name: microseconds(call) for name, call in calls.items()} for _ in range(ROUNDS)
            ]
        print(f"{mode.__name__}, us a call")
        for name in calls:
            print(f"  {name:36}{statistics.median(each[name] for each in rounds):7.2f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Draws a list of random problems, for `tune-all LIST` and `tunedgemm bench --list LIST`. The same
seed draws the same list.

    tools/measure/draw_shapes.py --seed 7 --count 100 > drawn.csv

Every thirteenth problem has the same types. Extents are log-uniform from 16 to 16384, but M is 1 in
one problem of six and 2 to 64 in another one of six. A third of the extents are multiples of 8, up
to another third of 64, some others primes. A fifth of A and B have padded rows. A quarter of the
problems have a batch, and likewise a column-major D, a C that is read, a bias, an activation. With
--plain, only those problems are drawn that any library computes."""

import argparse
import csv
import itertools
import math
import random
import sys

TYPES = [
    ("f16", ""),
    ("f32", "ieee"),
    ("e4m3", "fast"),
    ("tf32", ""),
    ("bf16", ""),
    ("f64", ""),
    ("s8", ""),
    ("f32", "emulated"),
    ("e5m2", "fast"),
    ("f16->f32", ""),
    ("e4m3xe5m2", "fast"),
    ("bf16->f32", ""),
    ("e4m3->bf16", "promoted"),
]
ACTIVATIONS = [
    "relu",
    "leaky_relu",
    "gelu_tanh",
    "gelu_erf",
    "silu",
    "sigmoid",
    "tanh",
    "relu_squared",
]
FIELDS = [
    "name",
    "types",
    "numerics",
    "layout",
    "m",
    "n",
    "k",
    "batch",
    "lda",
    "ldb",
    "order_d",
    "beta",
    "bias",
    "activation",
]
LEAST_EXTENT, LARGEST_EXTENT, LARGEST_BATCH, MOST_ELEMENTS = 16, 16384, 64, 2**27


def log_uniform(draw: random.Random, least: int, most: int) -> int:
    return min(int(math.exp(draw.uniform(math.log(least), math.log(most + 1)))), most)


def is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))


def extent(draw: random.Random) -> int:
    size, kind = log_uniform(draw, LEAST_EXTENT, LARGEST_EXTENT), draw.randrange(12)
    if kind < 8:
        multiple = 64 if kind < 4 and size > 64 else 8
        return -(-size // multiple) * multiple
    while kind == 8 and not is_prime(size):
        size += 1
    return size


def sizes(draw: random.Random, most_gflops: float) -> dict:
    while True:
        m, n, k = (extent(draw) for _ in range(3))
        m = [1, log_uniform(draw, 2, 64), m, m, m, m][draw.randrange(6)]
        batch = log_uniform(draw, 2, LARGEST_BATCH) if draw.randrange(4) == 0 else 1
        if (
            2e-9 * m * n * k * batch <= most_gflops
            and batch * max(m * k, k * n, m * n) <= MOST_ELEMENTS
        ):
            return {"m": m, "n": n, "k": k, "batch": batch}


def problem(draw: random.Random, number: int, most_gflops: float) -> dict:
    types, numerics = TYPES[number % len(TYPES)]
    layout, fields = draw.choice(["nn", "nt", "tn", "tt"]), sizes(draw, most_gflops)
    for name, letter, row_major, column_major in (
        ("lda", layout[0], "k", "m"),
        ("ldb", layout[1], "n", "k"),
    ):
        if draw.randrange(5) == 0:
            fields[name] = fields[row_major if letter == "n" else column_major] + draw.choice(
                [1, 2, 8, 64]
            )
    for name, values in (
        ("order_d", ["col"]),
        ("beta", ["1", "other"]),
        ("bias", ["row", "col"]),
        ("activation", ACTIVATIONS),
    ):
        if draw.randrange(4) == 0:
            fields[name] = draw.choice(values)
    return {
        "name": f"drawn {number + 1}",
        "types": types,
        "numerics": numerics,
        "layout": layout,
    } | fields


def is_plain(fields: dict) -> bool:
    """Whether cuBLASLt usually has a kernel."""
    has_plain_types = fields["types"][0] != "e" and fields["numerics"] != "emulated"
    return has_plain_types and "bias" not in fields and "activation" not in fields


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--count", type=int, default=100, help="default: %(default)s")
    parser.add_argument(
        "--most-gflops",
        type=float,
        default=30,
        help="the most 10^9 operations of a problem; default: %(default)s",
    )
    parser.add_argument(
        "--plain", action="store_true", help="no fp8, no emulated f32, no bias and no activation"
    )
    options = parser.parse_args()
    draw = random.Random(options.seed)
    print(
        f"# draw_shapes.py --seed {options.seed} --count {options.count} --most-gflops "
        f"{options.most_gflops:g}{' --plain' if options.plain else ''}"
    )
    drawn = (problem(draw, number, options.most_gflops) for number in itertools.count())
    wanted = (fields for fields in drawn if not options.plain or is_plain(fields))
    rows = csv.DictWriter(sys.stdout, FIELDS, lineterminator="\n")
    rows.writeheader()
    rows.writerows(itertools.islice(wanted, options.count))
    return 0


if __name__ == "__main__":
    sys.exit(main())

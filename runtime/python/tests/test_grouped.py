"""tunedgemm.grouped_matmul beside a loop over the groups."""

import ml_dtypes
import numpy
import pytest

import tunedgemm
from support import run_in_threads

RNG = numpy.random.default_rng()
LIMITS = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-1}
M, N, K, G = 13, 7, 9, 4
UNTOUCHED = -77.0
ENDS = {
    "uneven": [3, 4, 9, 13],
    "empty groups": [0, 5, 5, 13],
    "one row": [0, 0, 1, 1],
    "all empty": [0, 0, 0, 0],
    "one group": [13, 13, 13, 13],
    "a tail": [2, 3, 3, 8],
}


def draw(*shape, dtype="float32"):
    return RNG.uniform(-1, 1, shape).astype(getattr(ml_dtypes, dtype, dtype))


RANGES = {
    "gaps": [[1, 4], [4, 5], [7, 8], [10, 12]],
    "in any order": [[9, 13], [0, 2], [6, 8], [3, 3]],
    "empty groups": [[0, 0], [13, 13], [2, 9], [5, 4]],
    "all rows": [[0, 3], [3, 6], [6, 9], [9, 13]],
    "numbers outside": [[-9, 2], [3, 5], [20, 30], [8, 99]],
}


def numbers(values):
    return numpy.array(values, "int32")


def parts(ends):
    return list(zip([0, *ends[:-1]], ends, strict=True))


def wide(array):
    return array.astype("float64")


def by_rows(a, b, ends, d, bias=None):
    """The product in float64; rows behind the last group are those of d."""
    d = wide(d)
    for group, (begin, end) in enumerate(parts(ends)):
        d[begin:end] = wide(a[begin:end]) @ wide(b[group])
        if bias is not None:
            d[begin:end] += wide(bias[group])
    return d


def by_counts(a, b, counts, d):
    d = wide(d)
    for group, count in enumerate(counts):
        d[group, :count] = wide(a[group, :count]) @ wide(b[group])
    return d


def by_ranges(a, b, ranges, d):
    d = wide(d)
    for group, (begin, end) in enumerate(numpy.clip(ranges, 0, len(a))):
        d[begin:end] = wide(a[begin:end]) @ wide(b[group])
    return d


def by_depth(a, b, ends):
    return numpy.stack([wide(a[:, i:j]) @ wide(b[i:j]) for i, j in parts(ends)])


def check(d, expected, limit=1e-5):
    assert d.shape == expected.shape
    numpy.testing.assert_allclose(wide(d), expected, rtol=limit, atol=limit)


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("has_leading_zero", [False, True])
def test_ends_of_rows(kind, has_leading_zero):
    a, b, out = draw(M, K), draw(G, K, N), numpy.full((M, N), UNTOUCHED, "float32")
    ends = ENDS[kind]
    expected = by_rows(a, b, ends, out)
    given = numbers([0, *ends] if has_leading_zero else ends)
    assert tunedgemm.grouped_matmul(a, b, given, out=out) is out
    check(out, expected)
    assert (out[ends[-1] :] == UNTOUCHED).all()
    new = tunedgemm.grouped_matmul(a, b, given)
    check(new[: ends[-1]], expected[: ends[-1]])


@pytest.mark.parametrize("counts", [[3, 0, 13, 1], [0, 0, 0, 0], [13, 13, 13, 13], [1, 5, 7, 0]])
def test_counts_of_rows(counts):
    a, b, out = draw(G, M, K), draw(G, K, N), numpy.full((G, M, N), UNTOUCHED, "float32")
    expected = by_counts(a, b, counts, out)
    tunedgemm.grouped_matmul(a, b, counts=numbers(counts), out=out)
    check(out, expected)
    assert tunedgemm.grouped_matmul(a, b, counts=numbers(counts)).shape == (G, M, N)


@pytest.mark.parametrize("kind", RANGES)
def test_ranges_of_rows(kind):
    a, b, out = draw(M, K), draw(G, K, N), numpy.full((M, N), UNTOUCHED, "float32")
    ranges = RANGES[kind]
    expected = by_ranges(a, b, ranges, out)
    assert tunedgemm.grouped_matmul(a, b, ranges=numbers(ranges), out=out) is out
    check(out, expected)
    assert ((out == UNTOUCHED) == (expected == UNTOUCHED)).all()
    bias, rows = draw(G, N), draw(M, N)
    given = numbers(ranges[:3])
    d = tunedgemm.grouped_matmul(
        a, b[:3], ranges=given, bias=bias[:3], activation="relu", out=rows.copy(), rows_per_group=2
    )
    ones = numpy.concatenate([a, numpy.ones((M, 1))], 1)
    sums = by_ranges(ones, numpy.concatenate([b, bias[:, None]], 1), ranges[:3], rows)
    unused = by_ranges(a, b, ranges[:3], numpy.full((M, N), UNTOUCHED)) == UNTOUCHED
    check(d, numpy.where(unused, rows, numpy.maximum(sums, 0)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float8_e4m3fn"])
def test_unused_rows_are_zero_if_asked_for(dtype):
    a, b, right = draw(M, K, dtype=dtype), draw(G, K, N, dtype=dtype), draw(M, N, dtype=dtype)
    counts = numbers([3, 0, 13, 1])
    options = {"zero_unused": True, "out_dtype": "float32" if "float8" in dtype else None}
    for _ in range(3):  # memory of earlier results comes back
        for groups, expected in (
            ({"ends": numbers(ENDS["a tail"])}, by_rows(a, b, ENDS["a tail"], numpy.zeros((M, N)))),
            (
                {"ranges": numbers(RANGES["gaps"])},
                by_ranges(a, b, RANGES["gaps"], numpy.zeros((M, N))),
            ),
        ):
            d = tunedgemm.grouped_matmul(a, b, **groups, **options)
            check(d, expected, LIMITS.get(dtype, 1e-5))
            assert not d[(expected == 0).all(1)].any()
        batch = numpy.broadcast_to(a, (G, M, K))
        d = tunedgemm.grouped_matmul(batch, b, counts=counts, **options)
        check(d, by_counts(batch, b, counts, numpy.zeros((G, M, N))), LIMITS.get(dtype, 1e-5))
        d = tunedgemm.grouped_matmul(a.T, right, numbers(ENDS["a tail"]), **options)
        check(d, by_depth(a.T, right, ENDS["a tail"]), LIMITS.get(dtype, 1e-5))


@pytest.mark.parametrize("kind", ENDS)
def test_ends_along_k(kind):
    a, b = draw(N, M), draw(M, K)
    check(tunedgemm.grouped_matmul(a, b, numbers(ENDS[kind])), by_depth(a, b, ENDS[kind]))


@pytest.mark.parametrize("dtype", LIMITS)
def test_types(dtype):
    ends, counts = ENDS["uneven"], [3, 0, 13, 1]
    a, b = draw(M, K, dtype=dtype), draw(G, K, N, dtype=dtype)
    d = tunedgemm.grouped_matmul(a, b, numbers(ends))
    assert d.dtype == a.dtype
    check(d, by_rows(a, b, ends, d), LIMITS[dtype])
    batch, out = draw(G, M, K, dtype=dtype), draw(G, M, N, dtype=dtype)
    d = tunedgemm.grouped_matmul(batch, b, counts=numbers(counts), out=out)
    check(d, by_counts(batch, b, counts, out), LIMITS[dtype])
    right = draw(M, N, dtype=dtype)
    d = tunedgemm.grouped_matmul(a.T, right, numbers(ends))
    check(d, by_depth(a.T, right, ends), LIMITS[dtype])


def test_layouts_and_epilogue():
    ends = ENDS["a tail"]
    a, b, bias = draw(K, M).T, draw(G, N, K).transpose(0, 2, 1), draw(G, N)
    strided = numpy.full((M, 2 * N), UNTOUCHED, "float32")
    out = strided[:, :N]
    expected = numpy.maximum(by_rows(a, b, ends, numpy.zeros((M, N)), bias), 0)
    tunedgemm.grouped_matmul(a, b, numbers(ends), bias=bias, activation="relu", out=out)
    check(out[: ends[-1]], expected[: ends[-1]])
    assert (strided[:, N:] == UNTOUCHED).all() and (strided[ends[-1] :] == UNTOUCHED).all()
    shared = draw(K, N)
    broadcast = numpy.broadcast_to(shared, (G, K, N))
    d = tunedgemm.grouped_matmul(a, broadcast, numbers(ends), rows_per_group=3)
    check(d[: ends[-1]], (wide(a) @ wide(shared))[: ends[-1]])


def test_gradients_are_added_along_k():
    a, b, ends = draw(M, K), draw(M, N), ENDS["empty groups"]
    out = draw(G, K, N)
    expected = wide(out) + 2 * by_depth(a.T, b, ends)
    tunedgemm.grouped_matmul(a.T, b, numbers(ends), out=out, alpha=2.0, beta=1.0)
    check(out, expected)


def test_numbers_may_change_between_calls():
    a, b = draw(M, K), draw(G, K, N)
    given = numbers(ENDS["uneven"])
    for ends in ENDS.values():
        given[:] = ends
        out = numpy.full((M, N), UNTOUCHED, "float32")
        check(tunedgemm.grouped_matmul(a, b, given, out=out), by_rows(a, b, ends, out))


def test_random_groups():
    for _ in range(20):
        m, n, k, groups = (int(RNG.integers(1, 40)) for _ in range(4))
        ends = sorted(RNG.integers(0, m + 1, groups).tolist())
        a, b = draw(m, k), draw(groups, k, n)
        d = tunedgemm.grouped_matmul(a, b, numbers(ends), out=numpy.zeros((m, n), "float32"))
        check(d, by_rows(a, b, ends, numpy.zeros((m, n))))


def test_nothing_is_multiplied():
    none = numbers([])
    assert tunedgemm.grouped_matmul(draw(3, 4), draw(0, 4, 5), none).shape == (3, 5)
    assert tunedgemm.grouped_matmul(draw(3, 4), draw(4, 5), none).shape == (0, 3, 5)
    assert tunedgemm.grouped_matmul(draw(0, 4), draw(2, 4, 5), numbers([0, 0])).shape == (0, 5)
    no_ranges = numbers(numpy.empty((0, 2)))
    d = tunedgemm.grouped_matmul(draw(3, 4), draw(0, 4, 5), ranges=no_ranges, zero_unused=True)
    assert d.shape == (3, 5) and not d.any()
    assert not tunedgemm.grouped_matmul(draw(3, 0), draw(0, 5), numbers([0, 0])).any()


def draw_scales(*shape):
    return numpy.exp2(RNG.integers(-8, 9, shape) + RNG.random(shape)).astype("float32")


def check_scaled(d, left, right):
    """Beside the sums of products of scaled matrices, which are in float64."""
    assert (abs(wide(d) - left @ right) <= 1e-2 * (abs(left) @ abs(right))).all()


def test_float8_has_a_scale_for_each_row_and_column():
    ends, counts = ENDS["uneven"], [3, 0, 13, 1]
    a, b = draw(M, K, dtype="float8_e4m3fn"), draw(G, K, N, dtype="float8_e4m3fn")
    options = {"out_dtype": "float32", "numerics": "promoted"}
    rows, columns = draw_scales(M, 1), draw_scales(G, 1, N)
    d = tunedgemm.grouped_matmul(a, b, numbers(ends), scale_a=rows, scale_b=columns, **options)
    for group, (i, j) in enumerate(parts(ends)):
        check_scaled(d[i:j], (wide(a) * rows)[i:j], (wide(b) * columns)[group])
    ranges = numbers(RANGES["gaps"])
    d = tunedgemm.grouped_matmul(a, b, ranges=ranges, scale_a=rows, scale_b=columns, **options)
    for group, (i, j) in enumerate(ranges):
        check_scaled(d[i:j], (wide(a) * rows)[i:j], (wide(b) * columns)[group])
    a, rows = draw(G, M, K, dtype="float8_e4m3fn"), draw_scales(G, M, 1)
    d = tunedgemm.grouped_matmul(
        a, b, counts=numbers(counts), scale_a=rows, scale_b=columns, **options
    )
    for group, count in enumerate(counts):
        check_scaled(d[group, :count], (wide(a) * rows)[group, :count], (wide(b) * columns)[group])
    a, b = draw(K, M, dtype="float8_e4m3fn"), draw(M, N, dtype="float8_e4m3fn")
    rows = draw_scales(G, K, 1)
    d = tunedgemm.grouped_matmul(a, b, numbers(ends), scale_a=rows, scale_b=columns, **options)
    for group, (i, j) in enumerate(parts(ends)):
        check_scaled(d[group], wide(a)[:, i:j] * rows[group], wide(b)[i:j] * columns[group])


def test_float8_has_scales_of_blocks():
    m, n, k, ends = 150, 200, 300, [20, 20, 140, 150]
    a, b = draw(m, k, dtype="float8_e4m3fn"), draw(G, k, n, dtype="float8_e4m3fn")
    rows, blocks = draw_scales(m, 3), draw_scales(G, 3, 2)
    d = tunedgemm.grouped_matmul(
        a, b, numbers(ends), scale_a=rows, scale_b=blocks, out_dtype="float32"
    )
    left = wide(a) * rows.repeat(128, 1)[:, :k]
    right = wide(b) * blocks.repeat(128, 1)[:, :k].repeat(128, 2)[..., :n]
    for group, (i, j) in enumerate(parts(ends)):
        check_scaled(d[i:j], left[i:j], right[group])


A, B, FOUR_ENDS = draw(M, K), draw(G, K, N), numbers([1, 2, 3, 4])
FOUR_RANGES, NOT_PACKED = numbers(RANGES["gaps"]), numpy.asfortranarray(numbers(RANGES["gaps"]))


@pytest.mark.parametrize(
    "arguments,options,message",
    [
        ((A, B), {}, "0 of ends, counts and ranges are given; give one"),
        ((A, B, FOUR_ENDS), {"counts": FOUR_ENDS}, "2 of ends, counts and ranges are given"),
        ((A, B, FOUR_ENDS), {"ranges": FOUR_RANGES}, "2 of ends, counts and ranges are given"),
        ((A, B), {"counts": FOUR_ENDS, "ranges": FOUR_RANGES}, "2 of ends, counts and ranges are"),
        ((A, B), {"ranges": FOUR_ENDS}, r"\(4\); .* packed, with a begin and an end for each of"),
        ((A, B), {"ranges": FOUR_RANGES[:3]}, r"ranges has the shape \(3, 2\); it must be packed"),
        ((A, B), {"ranges": FOUR_RANGES[:, :1]}, r"ranges has the shape \(4, 1\); it must be"),
        ((A, B), {"ranges": NOT_PACKED}, r"ranges has the shape \(4, 2\); it must be packed"),
        ((A, B), {"ranges": FOUR_RANGES[:, ::-1]}, r"the shape \(4, 2\); it must be packed"),
        ((A, B), {"ranges": FOUR_RANGES.astype("int64")}, "ranges has elements of int64; pass an"),
        ((A[None], B), {"ranges": FOUR_RANGES}, "ranges divide an a of 2 dimensions for a b of 3,"),
        ((A, B[0]), {"ranges": FOUR_RANGES}, "ranges divide an a of 2 dimensions for a b of 3,"),
        (
            (A, B, FOUR_ENDS),
            {"zero_unused": True, "out": draw(M, N)},
            "zero_unused is for a new result .* out or stream is given; zero out before the call",
        ),
        ((A, B, FOUR_ENDS), {"zero_unused": True, "stream": 0}, "zero out before the call"),
        ((A, B, FOUR_ENDS), {"zero_unused": "yes"}, "zero_unused is a str; give True or False"),
        (
            (A, B, FOUR_ENDS.astype("int64")),
            {},
            "ends has elements of int64; pass an array of int32",
        ),
        ((A, B, FOUR_ENDS.astype("float32")), {}, "ends has elements of float32; pass an array of"),
        (
            (A, B, numpy.repeat(FOUR_ENDS, 2)[::2]),
            {},
            r"ends has the shape \(4\); it must be packed",
        ),
        ((A, B, FOUR_ENDS[:3]), {}, r"the shape \(3\);.* for each of the 4 matrices of b"),
        ((A, B, FOUR_ENDS[None]), {}, r"ends has the shape \(1, 4\); it must be packed"),
        ((A[None], B, FOUR_ENDS), {}, "ends divide an a of 2 dimensions, but the shape of a is"),
        ((A, B), {"counts": FOUR_ENDS}, "counts divide batches a and b of 3 dimensions, but"),
        ((draw(3, M, K), B), {"counts": FOUR_ENDS}, "a has 3 matrices, but b has 4"),
        ((A[:, 1:], B, FOUR_ENDS), {}, "a of shape .* has 8 columns, but b"),
        ((A, B, FOUR_ENDS), {"out": draw(G, M, N)}, "out has .* but there are 4 products in one"),
        ((A, B, FOUR_ENDS), {"bias": draw(N)}, r"bias has the shape \(7\); .*the shape \(4, 7\)"),
        ((A, B, FOUR_ENDS), {"out": draw(N, M).T}, "groups of rows need a row-major D"),
        ((A, B, FOUR_ENDS), {"rows_per_group": -1}, "rows_per_group is -1"),
        ((A, B, FOUR_ENDS), {"rows_per_group": "1"}, "rows_per_group is a str"),
        ((A, B, [1, 2, 3, 4]), {}, "ends is a list"),
    ],
)
def test_wrong_calls(arguments, options, message):
    with pytest.raises((ValueError, TypeError, tunedgemm.Error), match=message):
        tunedgemm.grouped_matmul(*arguments, **options)


def test_float8_scales_that_do_not_fit():
    a, b = draw(M, K, dtype="float8_e4m3fn"), draw(G, K, N, dtype="float8_e4m3fn")
    with pytest.raises(ValueError, match="scale_a must be an array of one float32, or of one for"):
        tunedgemm.grouped_matmul(a, b, FOUR_ENDS, scale_a=draw_scales(G, M, 1))


def test_threads():
    a, b, given, out = A, B, numbers(ENDS["uneven"]), by_rows(A, B, ENDS["uneven"], A[:, :N])
    run_in_threads(lambda: check(tunedgemm.grouped_matmul(a, b, given), out), threads=4)

"""tunedgemm.matmul beside numpy: shapes, layouts, types, epilogues."""

import datetime
import gc

import ml_dtypes
import numpy
import pytest

import tunedgemm
from support import run_in_threads

RNG = numpy.random.default_rng()
TYPES = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-1}


def draw(shape, dtype="float32"):
    if dtype == "int8":
        return RNG.integers(-128, 128, shape, dtype)
    return RNG.uniform(-1, 1, shape).astype(getattr(ml_dtypes, dtype, dtype))


def check(d, expected, limit):
    assert numpy.isfinite(d.astype("float64")).all()
    numpy.testing.assert_allclose(d.astype("float64"), expected, rtol=limit, atol=limit)


@pytest.mark.parametrize(
    "m,n,k",
    [(1, 1, 1), (1, 37, 129), (67, 1, 31), (64, 96, 33), (129, 65, 17), (5, 7, 0), (0, 4, 3)],
)
def test_shapes(m, n, k):
    a, b = draw((m, k)), draw((k, n))
    check(tunedgemm.matmul(a, b), a.astype("float64") @ b.astype("float64"), 1e-5)


@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype):
    a, b = draw((33, 40), dtype), draw((40, 21), dtype)
    d = tunedgemm.matmul(a, b)
    assert d.dtype == a.dtype
    check(d, a.astype("float64") @ b.astype("float64"), TYPES[dtype])


@pytest.mark.parametrize(
    "dtype_a,dtype_b", [("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float8_e5m2")]
)
def test_float8_gives_float16(dtype_a, dtype_b):
    a, b = draw((16, 48), dtype_a), draw((48, 24), dtype_b)
    scale = numpy.array([0.5], "float32")
    d = tunedgemm.matmul(a, b, scale_a=scale)
    assert d.dtype == numpy.float16
    check(d, 0.5 * a.astype("float64") @ b.astype("float64"), 2e-2)


SCALES = {  # (M, 1) and (1, N): one for each row of a, and for each column of b
    "packed": lambda m, n: (draw_scales(m, 1), draw_scales(1, n)),
    "strided": lambda m, n: (draw_scales(m, 3)[:, 1:2], draw_scales(n, 2).T[1:]),
    "broadcast": lambda m, n: (numpy.broadcast_to(draw_scales(1, 1), (m, 1)), draw_scales(n, 1).T),
    "one of a matrix": lambda m, n: (draw_scales(m, 1), numpy.float32([3])),
    "none": lambda m, n: (None, draw_scales(1, n)),
}


def draw_scales(*shape):
    return numpy.exp2(RNG.integers(-8, 9, shape) + RNG.random(shape)).astype("float32")


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("order", ["row-major", "column-major"])
@pytest.mark.parametrize("m", [1, 19])
def test_float8_has_a_scale_for_each_row(kind, order, m):
    n = 24
    a, b = draw((m, 48), "float8_e4m3fn"), draw((48, n), "float8_e5m2")
    scale_a, scale_b = SCALES[kind](m, n)
    out = numpy.empty((m, n) if order == "row-major" else (n, m), "float32")
    out = out if order == "row-major" else out.T
    tunedgemm.matmul(a, b, out=out, scale_a=scale_a, scale_b=scale_b, numerics="promoted")
    wide = (1 if scale_a is None else scale_a) * a.astype("float64")
    exact = wide @ (b.astype("float64") * scale_b)
    bound = 1e-3 * (abs(wide) @ abs(b.astype("float64") * scale_b))
    assert (abs(out - exact) <= bound).all()


K_OF_BLOCKS = 300  # the last block is short
BLOCK_SCALES = {  # for m = 150 and n = 200
    "1 x 128, 128 x 128": lambda: (draw_scales(150, 3), draw_scales(3, 2)),
    "1 x 128 twice": lambda: (draw_scales(150, 3), draw_scales(3, 200)),
    "128 x 128 twice": lambda: (draw_scales(2, 3), draw_scales(3, 2)),
    "columns of scales": lambda: (draw_scales(3, 150).T, draw_scales(2, 3).T),
    "padded": lambda: (draw_scales(4, 152).T[:150], draw_scales(2, 4).T),
    "blocks and rows": lambda: (draw_scales(150, 3), draw_scales(1, 200)),
    "blocks of one matrix": lambda: (None, draw_scales(3, 2)),
}


def expanded(scales, rows, columns):
    """The scale of each element of a matrix; the blocks of a padded matrix end with it."""
    factors = [
        1 if extent == given else extent if given == 1 else 128
        for extent, given in zip((rows, columns), scales.shape, strict=True)
    ]
    return numpy.kron(scales.astype("float64"), numpy.ones(factors))[:rows, :columns]


@pytest.mark.parametrize("kind", BLOCK_SCALES)
@pytest.mark.parametrize("order", ["row-major", "column-major"])
def test_float8_has_scales_of_blocks(kind, order):
    m, n, k = 150, 200, K_OF_BLOCKS
    a, b = draw((m, k), "float8_e4m3fn"), draw((k, n), "float8_e4m3fn")
    scale_a, scale_b = BLOCK_SCALES[kind]()
    out = numpy.empty((m, n) if order == "row-major" else (n, m), "float32")
    out = out if order == "row-major" else out.T
    tunedgemm.matmul(a, b, out=out, scale_a=scale_a, scale_b=scale_b)
    left = a.astype("float64") * (1 if scale_a is None else expanded(scale_a, m, k))
    right = b.astype("float64") * expanded(scale_b, k, n)
    assert (abs(out - left @ right) <= 1e-3 * (abs(left) @ abs(right))).all()


def test_scales_of_blocks_say_what_is_wrong():
    a, b = draw((150, 300), "float8_e4m3fn"), draw((300, 200), "float8_e4m3fn")
    with pytest.raises(ValueError, match=r"row of a, \(150, 1\).*\(150, 3\).*\(2, 3\).*\(150, 2\)"):
        tunedgemm.matmul(a, b, scale_a=draw_scales(150, 2))
    with pytest.raises(ValueError, match=r"column of b, \(1, 200\).*\(3, 200\).*\(3, 2\)"):
        tunedgemm.matmul(a, b, scale_b=draw_scales(200, 3))
    with pytest.raises(tunedgemm.Error, match="numerics fast cannot scale blocks"):
        tunedgemm.matmul(a, b, scale_a=draw_scales(150, 3), numerics="fast")


def test_each_matrix_of_a_batch_has_its_scales():
    a, b = draw((3, 7, 16), "float8_e4m3fn"), draw((3, 16, 5), "float8_e4m3fn")
    scale_a, scale_b = draw_scales(3, 7, 1), draw_scales(1, 5)
    d = tunedgemm.matmul(a, b, scale_a=scale_a, scale_b=scale_b, out_dtype="float32")
    wide, right = scale_a * a.astype("float64"), b.astype("float64") * scale_b
    assert (abs(d - wide @ right) <= 1e-2 * (abs(wide) @ abs(right))).all()


def test_int8_gives_exact_int32():
    a, b = draw((19, 70), "int8"), draw((70, 23), "int8")
    d = tunedgemm.matmul(a, b)
    assert d.dtype == numpy.int32
    numpy.testing.assert_array_equal(d, a.astype("int32") @ b.astype("int32"))


def test_out_dtype():
    a, b = draw((9, 12), "float16"), draw((12, 8), "float16")
    for wanted in ("float32", numpy.float32, numpy.dtype("float32")):
        d = tunedgemm.matmul(a, b, out_dtype=wanted)
        assert d.dtype == numpy.float32
        assert tunedgemm.matmul(a, b, out=d, out_dtype=wanted) is d
        check(d, a.astype("float64") @ b.astype("float64"), 1e-4)


def test_views_are_layouts():
    wide = draw((60, 90))
    b = draw((30, 25))
    padded = wide[10:50, 20:50]
    for a in (padded, numpy.ascontiguousarray(padded.T).T, padded[:1], padded[:, :30]):
        check(tunedgemm.matmul(a, b), a.astype("float64") @ b.astype("float64"), 1e-5)
    transposed = draw((25, 30)).T
    check(
        tunedgemm.matmul(padded, transposed),
        padded.astype("float64") @ transposed.astype("float64"),
        1e-5,
    )


def test_out_may_be_a_view_and_its_surroundings_stay():
    a, b = draw((6, 5)), draw((5, 4))
    for order in ("C", "F"):
        around = numpy.full((10, 9), numpy.nan, "float32", order)
        out = around[2:8, 3:7]
        assert tunedgemm.matmul(a, b, out=out) is out
        check(out, a.astype("float64") @ b.astype("float64"), 1e-5)
        around[2:8, 3:7] = numpy.nan
        assert numpy.isnan(around).all()


def test_batches():
    a, b, shared = draw((3, 8, 6)), draw((3, 6, 7)), draw((6, 7))
    check(tunedgemm.matmul(a, b), a.astype("float64") @ b.astype("float64"), 1e-5)
    check(tunedgemm.matmul(a, shared), a.astype("float64") @ shared.astype("float64"), 1e-5)
    check(tunedgemm.matmul(draw((8, 6)), b[:0]), numpy.empty((0, 8, 7)), 1e-5)
    spread = numpy.broadcast_to(shared, (3, 6, 7))
    check(tunedgemm.matmul(a, spread), a.astype("float64") @ shared.astype("float64"), 1e-5)


def test_epilogue():
    a, b, c = draw((12, 9)), draw((9, 15)), draw((12, 15))
    exact = a.astype("float64") @ b.astype("float64")
    columns, rows = draw(15), draw((12, 1))
    check(
        tunedgemm.matmul(a, b, bias=columns, activation="relu"),
        numpy.maximum(exact + columns, 0),
        1e-5,
    )
    check(tunedgemm.matmul(a, b, bias=rows), exact + rows, 1e-5)
    check(
        tunedgemm.matmul(a, b, activation="leaky_relu", slope=0.25),
        numpy.where(exact < 0, 0.25 * exact, exact),
        1e-5,
    )
    check(tunedgemm.matmul(a, b, c=c, alpha=-2, beta=0.5), -2 * exact + 0.5 * c, 1e-5)
    halves = [one.astype(ml_dtypes.bfloat16) for one in (a, b, c)]
    check(tunedgemm.matmul(*halves[:2], c=halves[2], beta=1), exact + c, 5e-2)
    out = c.copy()
    tunedgemm.matmul(a, b, out=out, beta=3)
    check(out, exact + 3 * c.astype("float64"), 1e-5)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_of_an_invariant_product_have_the_same_bits_for_every_m(dtype):
    a, b = draw((40, 700), dtype), draw((700, 9), dtype)
    whole = tunedgemm.matmul(a, b, invariant=True)
    for first, end in ((0, 1), (7, 8), (3, 20), (39, 40)):
        rows = tunedgemm.matmul(a[first:end], b, invariant=True)
        assert rows.tobytes() == whole[first:end].tobytes()


def test_a_plan_tells_its_class_and_its_sms():
    a, b = draw((4, 6)), draw((6, 5))
    plan = tunedgemm.plan(a, b, invariant=True, sm_limit=3)
    assert "invariant, class in_order, on 3 SMs" in plan.description
    assert (plan.run(a, b) == tunedgemm.matmul(a, b, invariant=True)).all()


def test_plan():
    a, b = draw((20, 30)), draw((30, 10))
    plan = tunedgemm.plan(a, b, activation="relu")
    assert "(" in plan.description and repr(plan).startswith("<tunedgemm.Plan ")
    for _ in range(3):
        a = draw((20, 30))
        check(plan.run(a, b), numpy.maximum(a.astype("float64") @ b.astype("float64"), 0), 1e-5)
    with pytest.raises(ValueError, match="other shapes, strides or types"):
        plan.run(draw((21, 30)), b)


def test_a_plan_keeps_the_type_of_its_out():
    a, b = draw((8, 8), "bfloat16"), draw((8, 8), "bfloat16")
    plan = tunedgemm.plan(a, b, out=numpy.empty((8, 8), "float32"))
    check(plan.run(a, b), a.astype("float64") @ b.astype("float64"), 1e-5)
    out = numpy.empty((8, 8), "float32")
    assert plan.run(a, b, out=out) is out
    with pytest.raises(ValueError, match="out_dtype is float32, but out has elements of bfloat16"):
        plan.run(a, b, out=draw((8, 8), "bfloat16"))


def test_context_and_its_end(tmp_path):
    a, b = draw((8, 8)), draw((8, 8))
    file = tmp_path / "cache.db"
    with tunedgemm.Context(
        "host", cache=str(file), policy="tune", rigor="quick", candidates=2, threads=1
    ) as context:
        check(
            tunedgemm.matmul(a, b, context=context), a.astype("float64") @ b.astype("float64"), 1e-5
        )
        plan = tunedgemm.plan(a, b, context=context)
        assert "tuned" in plan.description
        info = plan.info
        assert (
            info.origin == "tuned"
            and 0 < info.low_us <= info.median_us <= info.high_us
            and info.expected_loss == 0
        )
        assert (
            0
            <= (datetime.datetime.now(datetime.timezone.utc) - info.tuned_at).total_seconds()
            < 600
        )
        assert (
            info.candidates >= 2
            and info.spent_seconds > 0
            and info.tuned_m is None
            and "++" in info.tuned_with
            and (info.vendor_us, info.vendor) == (None, None)
        )
        assert "host" in context.report() or str(file) in context.report()
    assert file.exists()
    for use in (
        lambda: plan.run(a, b),
        lambda: plan.description,
        lambda: plan.info,
        context.report,
        lambda: tunedgemm.matmul(a, b, context=context),
    ):
        with pytest.raises(ValueError, match="closed"):
            use()
    context.close()


def test_the_info_of_a_plan_that_was_not_tuned():
    a, b = draw((8, 8)), draw((8, 8))
    with tunedgemm.Context("host", cache="", policy="stored") as context:
        info = tunedgemm.plan(a, b, context=context).info
        assert info.origin == "linked_in"
        assert (info.median_us, info.expected_loss, info.tuned_at, info.tuned_with) == (
            None,
            None,
            None,
            None,
        )
        assert tunedgemm.plan(a[:0], b, context=context).info.origin == "nothing"


def test_a_plan_outlives_the_name_of_its_context():
    a, b = draw((8, 8)), draw((8, 8))
    plan = tunedgemm.plan(a, b, context=tunedgemm.Context("host", cache=""))
    gc.collect()
    check(plan.run(a, b), a.astype("float64") @ b.astype("float64"), 1e-5)


def test_threads():
    a, b = draw((64, 64)), draw((64, 64))
    exact = a.astype("float64") @ b.astype("float64")
    run_in_threads(lambda: check(tunedgemm.matmul(a, b), exact, 1e-5), threads=8)

"""tunedgemm.jax beside float64 references and jax.numpy, on the CPU and, if present, a GPU."""

import typing

import numpy
import pytest

import tunedgemm
from support import run_alone, run_in_threads
from tunedgemm import _core

jax = pytest.importorskip("jax")
tunedgemm_jax = pytest.importorskip("tunedgemm.jax", exc_type=ImportError)
jnp = jax.numpy
matmul = tunedgemm_jax.matmul
# jax.numpy is the reference and would use TF32 on a GPU.
jax.config.update("jax_default_matmul_precision", "highest")

RNG = numpy.random.default_rng()
TYPES = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-1}
ACTIVATIONS = {
    "none": lambda z: z,
    "relu": jax.nn.relu,
    "leaky_relu": lambda z: jnp.where(z < 0, 0.01 * z, z),
    "gelu_tanh": lambda z: jax.nn.gelu(z, approximate=True),
    "gelu_erf": lambda z: jax.nn.gelu(z, approximate=False),
    "silu": jax.nn.silu,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
    "relu_squared": lambda z: jnp.square(jax.nn.relu(z)),
}


@pytest.fixture(autouse=True, scope="module")
def linked_in_kernels_on_the_cpu():
    """Saves compiling a hundred kernels for one call each. The programs below compile theirs."""
    _core._close_default_contexts(for_good=False)
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("TUNEDGEMM_POLICY", "stored")
        tunedgemm.plan(numpy.ones((1, 1)), numpy.ones((1, 1)))  # opens the CPU's default context
    yield
    _core._close_default_contexts(for_good=False)


@pytest.fixture(autouse=True, params=["cpu", *(["cuda"] if jax.default_backend() == "gpu" else [])])
def device(request):
    with jax.enable_x64(True), jax.default_device(jax.devices(request.param)[0]):
        yield request.param


def draw(shape, dtype="float32"):
    if dtype == "int8":
        return jnp.asarray(RNG.integers(-128, 128, shape), dtype)
    return jnp.asarray(RNG.uniform(-1, 1, shape), dtype)


def exact(array):
    return numpy.asarray(array, "float64")


def check(d, expected, limit=1e-5):
    assert numpy.isfinite(exact(d)).all() and d.shape == expected.shape
    numpy.testing.assert_allclose(exact(d), exact(expected), rtol=limit, atol=limit)


@pytest.mark.parametrize(
    "m,n,k",
    [
        (1, 1, 1),
        (1, 37, 129),
        (67, 1, 31),
        (64, 96, 33),
        (129, 65, 17),
        (5, 7, 0),
        (0, 4, 3),
        (4, 0, 3),
    ],
)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_shapes_and_transposes(m, n, k, transpose_a, transpose_b):
    a, b = draw((k, m) if transpose_a else (m, k)), draw((n, k) if transpose_b else (k, n))
    d = matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    check(d, exact(a.T if transpose_a else a) @ exact(b.T if transpose_b else b))


def test_invariant_and_sm_limit_are_attributes_of_the_call():
    a, b = draw((20, 40), "float32"), draw((40, 9), "float32")
    check(matmul(a, b, sm_limit=9), exact(a) @ exact(b))
    lowered = jax.jit(lambda a, b: matmul(a, b, invariant=True, sm_limit=9)).lower(a, b).as_text()
    assert "invariant = true" in lowered and "sm_limit = 9" in lowered


@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype):
    a, b = draw((33, 40), dtype), draw((40, 21), dtype)
    d = matmul(a, b)
    assert d.dtype == a.dtype
    check(d, exact(a) @ exact(b), TYPES[dtype])


@pytest.mark.parametrize(
    "dtype_a,dtype_b", [("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float8_e5m2")]
)
def test_float8_gives_float16(dtype_a, dtype_b):
    a, b = draw((16, 48), dtype_a), draw((48, 24), dtype_b)
    d = matmul(a, b, scale_a=jnp.float32(0.5), scale_b=jnp.asarray([3.0], "float32"))
    assert d.dtype == numpy.float16
    check(d, 1.5 * exact(a) @ exact(b), 2e-2)


def test_subnormal_numbers_count():
    a = jnp.full((16, 48), 2.0**-8, "float8_e4m3fn")
    assert (matmul(a, a, transpose_b=True, out_dtype="float32") == 48 * 2.0**-16).all()


def test_int8_gives_exact_int32():
    a, b = draw((19, 70), "int8"), draw((70, 23), "int8")
    d = matmul(a, b)
    assert d.dtype == numpy.int32
    numpy.testing.assert_array_equal(d, exact(a) @ exact(b))


def test_out_dtype():
    a, b = draw((9, 12), "bfloat16"), draw((12, 8), "bfloat16")
    for wanted in ("float32", numpy.float32, jnp.float32, numpy.dtype("float32")):
        d = matmul(a, b, out_dtype=wanted)
        assert d.dtype == numpy.float32
        check(d, exact(a) @ exact(b))
    assert matmul(a, b, out_dtype=jnp.float16).dtype == numpy.float16


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation, dtype):
    a, b = draw((12, 9), dtype), draw((9, 15), dtype)
    check(
        matmul(a, b, activation=activation),
        ACTIVATIONS[activation](exact(a) @ exact(b)),
        5e-2 if dtype == "bfloat16" else 1e-5,
    )


def test_epilogue():
    a, b, c, columns, rows = draw((12, 9)), draw((9, 15)), draw((12, 15)), draw(15), draw((12, 1))
    product = exact(a) @ exact(b)
    check(matmul(a, b, bias=columns, activation="relu"), numpy.maximum(product + exact(columns), 0))
    check(matmul(a, b, bias=columns[None]), product + exact(columns))
    check(matmul(a, b, bias=rows), product + exact(rows))
    check(
        matmul(a, b, activation="leaky_relu", slope=0.25),
        numpy.where(product < 0, 0.25 * product, product),
    )
    check(matmul(a, b, c=c, alpha=-2, beta=0.1), -2 * product + 0.1 * exact(c))
    check(matmul(a, b, c=jnp.full_like(c, jnp.nan)), product)


def test_batches():
    a, b, c, shared = draw((3, 8, 6)), draw((3, 6, 7)), draw((8, 7)), draw((6, 7))
    check(matmul(a, b), exact(a) @ exact(b))
    check(matmul(a, shared), exact(a) @ exact(shared))
    check(matmul(a[0], b, c=c, beta=1), exact(a[0]) @ exact(b) + exact(c))
    check(matmul(a, shared.T, transpose_b=True), exact(a) @ exact(shared))
    check(matmul(a[:1], b[:1]), exact(a[:1]) @ exact(b[:1]))
    check(matmul(a[0], b[:0]), numpy.empty((0, 8, 7)))


def test_numpy_and_jit():
    a, b = numpy.float32(RNG.uniform(-1, 1, (5, 8))), numpy.float32(RNG.uniform(-1, 1, (8, 3)))
    check(matmul(a, b), exact(a) @ exact(b))
    twice = jax.jit(lambda a, b: matmul(matmul(a, b) + 1, b, transpose_b=True))
    for _ in range(3):
        a, b = draw((5, 8)), draw((8, 3))
        check(twice(a, b), (exact(a) @ exact(b) + 1) @ exact(b).T)


def test_vmap():
    a, b, bias, rows, scale = (
        draw((4, 8, 6)),
        draw((4, 6, 7)),
        draw((4, 7)),
        draw((4, 8, 1)),
        draw(4),
    )
    check(jax.vmap(matmul)(a, b), exact(a) @ exact(b))
    check(jax.vmap(matmul, (0, None))(a, b[0]), exact(a) @ exact(b[0]))
    check(
        jax.vmap(matmul, (None, 2), 1)(a[0], jnp.moveaxis(b, 0, 2)),
        numpy.moveaxis(exact(a[0]) @ exact(b), 0, 1),
    )
    product = exact(a) @ exact(b)
    check(
        jax.vmap(lambda a, b, bias: matmul(a, b, bias=bias))(a, b, bias),
        product + exact(bias)[:, None],
    )
    check(jax.vmap(lambda a, b, bias: matmul(a, b, bias=bias))(a, b, rows), product + exact(rows))
    check(
        jax.vmap(lambda scale: matmul(a[0], b[0], scale_b=scale))(scale),
        product[0] * exact(scale)[:, None, None],
    )


def test_vmap_over_batches_and_vmaps():
    a, b, c = draw((2, 3, 5, 4)), draw((2, 3, 4, 6)), draw((2, 5, 6))
    check(jax.vmap(matmul)(a, b), exact(a) @ exact(b))
    check(jax.vmap(matmul, (0, None))(a, b[0]), exact(a) @ exact(b[0]))
    check(jax.vmap(matmul, (0, None))(a, b[0, 0]), exact(a) @ exact(b[0, 0]))
    check(jax.vmap(matmul)(a[:, 0], b), exact(a[:, :1]) @ exact(b))
    check(
        jax.vmap(jax.vmap(matmul, (0, None)), (None, 0))(a[0], b[:, 0]),
        exact(a[0]) @ exact(b[:, :1]),
    )
    added = jax.vmap(lambda a, b, c: matmul(a, b, c=c, beta=1))(a, b, c)
    check(added, exact(a) @ exact(b) + exact(c)[:, None])


def plain(a, b, bias=None, c=None, scale=None, *, activation, transpose_a=False, transpose_b=False):
    """The result of matmul with alpha = 0.5 and beta = 2, computed by jax.numpy."""
    a, b = (
        one.swapaxes(-1, -2) if transposed else one
        for one, transposed in ((a, transpose_a), (b, transpose_b))
    )
    z = (
        0.5 * (1 if scale is None else scale) * (a @ b)
        + (0 if c is None else 2 * c)
        + (0 if bias is None else bias)
    )
    return ACTIVATIONS[activation](z)


def tuned(a, b, bias=None, c=None, scale=None, **options):
    return matmul(
        a, b, bias=bias, c=c, scale_a=scale, alpha=0.5, beta=0 if c is None else 2, **options
    )


def check_gradients(operands, limit=1e-10, **options):
    weights = draw(plain(*operands, **options).shape, "float64")

    def gradients_of(one):
        def weighted(*operands):
            return (weights * one(*operands, **options)).sum()

        return jax.jit(jax.grad(weighted, range(len(operands))))(*operands)

    gradients, expected = gradients_of(tuned), gradients_of(plain)
    for gradient, wanted, operand in zip(gradients, expected, operands):
        assert gradient.dtype == operand.dtype
        check(gradient, wanted, limit)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(
    "batch_a,batch_b",
    [((), ()), ((3,), (3,)), ((3,), ()), ((), (3,)), ((3,), (1,)), ((1,), (1,)), ((0,), ())],
)
def test_gradients(batch_a, batch_b, transpose_a, transpose_b):
    a = draw(batch_a + ((4, 5) if transpose_a else (5, 4)), "float64")
    b = draw(batch_b + ((7, 4) if transpose_b else (4, 7)), "float64")
    check_gradients((a, b), activation="none", transpose_a=transpose_a, transpose_b=transpose_b)


def test_each_activation_of_the_package_is_tested():
    assert ACTIVATIONS.keys() == set(typing.get_args(tunedgemm._matmul.Activation))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_of_activations(activation):
    check_gradients(
        [draw(shape, "float64") for shape in ((5, 4), (4, 7), (7,))], activation=activation
    )


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 5, 4), (4, 7), (7,), (5, 7)),
        ((5, 4), (4, 7), (5, 1), (5, 7)),
        ((5, 4), (3, 4, 7), (5, 1), (3, 5, 7)),
        ((1, 4), (4, 1), (1, 1), (1, 1)),
    ],
)
def test_gradients_of_epilogues(shapes):
    check_gradients([draw(shape, "float64") for shape in shapes], activation="silu")


def test_gradients_of_scales_and_types():
    scale = jnp.float32(0.75)
    a, b = draw((5, 4)), draw((4, 7))
    check_gradients((a, b, draw(7), draw((5, 7)), scale), 1e-4, activation="tanh")
    halves = [one.astype("bfloat16") for one in (a, b)]
    check_gradients(halves, 1e-1, activation="silu")
    gradient = jax.grad(lambda a: matmul(a, halves[1], out_dtype="float32").sum())(halves[0])
    check(gradient, numpy.broadcast_to(exact(halves[1]).sum(1), (5, 4)), 5e-2)


def test_second_derivatives_and_vmapped_gradients():
    a, b = draw((3, 5, 4), "float64"), draw((4, 7), "float64")

    def gradients(one):
        return jax.grad(lambda a, b: one(a, b, activation="gelu_tanh").sum(), (0, 1))

    def vmapped(one):
        return jax.jit(jax.vmap(gradients(one), (0, None)))(a, b)

    def second(one):
        return jax.jit(jax.jacrev(lambda a: gradients(one)(a, b)[0]))(a[0])

    for gradient, wanted in zip(vmapped(tuned), vmapped(plain)):
        check(gradient, wanted, 1e-10)
    check(second(tuned), second(plain), 1e-10)


A, B = numpy.ones((4, 3), "float32"), numpy.ones((3, 5), "float32")


@pytest.mark.parametrize(
    "call,error,message",
    [
        (
            lambda: matmul(A, A),
            ValueError,
            r"a of shape \(4, 3\) has 3 columns, but b of shape \(4, 3\) has 4 rows",
        ),
        (
            lambda: matmul(A, B, transpose_a=True),
            ValueError,
            r"a of shape \(3, 4\) has 4 columns, but b of shape \(3, 5\) has 3 rows",
        ),
        (lambda: matmul(A[0], B), ValueError, r"a has the shape \(3\); it must be a matrix"),
        (lambda: matmul(A[None, None], B), ValueError, r"a has the shape \(1, 1, 4, 3\)"),
        (
            lambda: matmul(A.astype("complex64"), B),
            ValueError,
            "a is complex64; supported are float64",
        ),
        (lambda: matmul(A, B.astype("float16")), ValueError, "A is f32, B is f16"),
        (
            lambda: matmul(A[None].repeat(2, 0), B[None].repeat(3, 0)),
            ValueError,
            "a has 2 matrices, but the batch has 3",
        ),
        (lambda: matmul(A, B, out_dtype="int32"), ValueError, "f32 inputs give an output of"),
        (
            lambda: matmul(A, B, activation="swish"),
            ValueError,
            'activation is "swish"; expected none, relu',
        ),
        (lambda: matmul(A, B, sm_limit=-1), ValueError, "sm_limit is -1; use 0, for all SMs"),
        (lambda: matmul(A, B, numerics="exact"), ValueError, 'numerics is "exact"; expected ieee'),
        (lambda: matmul(A, B, numerics="fast"), ValueError, "numerics fast does not apply to f32"),
        (
            lambda: matmul(A, B, bias=numpy.zeros(4, "f4")),
            ValueError,
            r"bias has the shape \(4\); it must be packed, with the shape \(5,\)",
        ),
        (
            lambda: matmul(A, B, bias=numpy.zeros(5)),
            ValueError,
            "bias must have the element type of out",
        ),
        (lambda: matmul(A, B, beta=1), ValueError, "beta is 1.0, so c must be given"),
        (
            lambda: matmul(A, B, beta=1, c=numpy.zeros((4, 4), "f4")),
            ValueError,
            r"c has the shape \(4, 4\)",
        ),
        (
            lambda: matmul(A, B, beta=1, c=numpy.zeros((2, 4, 5), "f4")),
            ValueError,
            "c has 2 matrices, but the batch has 1",
        ),
        (
            lambda: matmul(A, B, scale_a=numpy.ones(2, "f4")),
            ValueError,
            "scale_a must be an array of one float32",
        ),
        (lambda: matmul(A, B, scale_b=2.0), TypeError, "scale_b is a float; pass an array"),
        (lambda: matmul([[1.0]], B), TypeError, "a is a list; pass an array of JAX"),
        (lambda: matmul(A, None), TypeError, "b is a NoneType"),
        (
            lambda: jax.jit(lambda alpha: matmul(A, B, alpha=alpha))(2.0),
            TypeError,
            "alpha is traced",
        ),
        (
            lambda: jax.grad(
                lambda scale: matmul(A.astype("int8"), B.astype("int8"), scale_a=scale).sum() * 1.0
            )(numpy.float32([1])),
            TypeError,
            "products of int8 have no gradients",
        ),
    ],
)
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_threads():
    a, b = draw((64, 64)), draw((64, 64))
    product = jax.jit(lambda a, b: matmul(a, b, activation="relu"))
    run_in_threads(lambda: check(product(a, b), numpy.maximum(exact(a) @ exact(b), 0)), threads=4)


def test_threads_may_run_the_first_product_of_a_process():
    done = run_alone(
        """
        import jax, numpy, threading, tunedgemm.jax
        a = numpy.ones((300, 300), "float32")
        product = jax.jit(lambda a: tunedgemm.jax.matmul(a, a + 1))
        right = []
        def work():
            right.append((product(a) == 600).all())
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(all(right), len(right))
        """,
        JAX_PLATFORMS="cpu",
    )
    assert (done.returncode, done.stdout) == (0, "True 3\n"), done


def test_failures_of_the_library_are_errors_of_jax():
    done = run_alone(
        """
        import jax, numpy, tunedgemm.jax
        a = numpy.ones((4, 4), "float32")
        try:
            tunedgemm.jax.matmul(a, a).block_until_ready()
        except jax.errors.JaxRuntimeError as error:
            print(error)
        """,
        JAX_PLATFORMS="cpu",
        TUNEDGEMM_POLICY="fail",
        TUNEDGEMM_CACHE="",
    )
    assert done.stdout.startswith("FAILED_PRECONDITION") and "m=4 n=4 k=4" in done.stdout, done


def test_shard_map():
    done = run_alone(
        """
        import jax, numpy, tunedgemm.jax
        from jax.sharding import PartitionSpec as P
        mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
        draw = numpy.random.default_rng().uniform
        a, b = (draw(-1, 1, shape).astype("float32") for shape in ((8, 6), (6, 5)))
        def plain(a, b):
            return jax.numpy.tanh(a @ b)
        def local(a, b):
            return tunedgemm.jax.matmul(a, b, activation="tanh")
        product = jax.shard_map(local, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
        numpy.testing.assert_allclose(jax.jit(product)(a, b), plain(a, b), rtol=1e-5, atol=1e-5)
        gradients = [jax.jit(jax.grad(lambda a, b: one(a, b).sum(), (0, 1)))(a, b)
                     for one in (product, plain)]
        for one, wanted in zip(*gradients):
            numpy.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
        sharded = jax.device_put(a, jax.NamedSharding(mesh, P("x")))
        numpy.testing.assert_allclose(tunedgemm.jax.matmul(sharded, b), a @ b, rtol=1e-5, atol=1e-5)
        print("done")
        """,
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done


@pytest.mark.parametrize(
    "version,handlers,message",
    [
        ("99.0", {"cpu": {}}, "built with jaxlib 99.0, and jaxlib .* is older: update JAX"),
        ("", {}, "built without jaxlib"),
    ],
)
def test_packages_that_do_not_fit_this_jax(version, handlers, message):
    with pytest.raises(ImportError, match=message):
        tunedgemm_jax._register(version, handlers)

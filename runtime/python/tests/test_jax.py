"""Arrays of JAX as inputs; they cannot be outputs."""

import numpy
import pytest

import tunedgemm

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def on_the_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.mark.parametrize(
    "dtype,dtype_of_out",
    [
        ("float32", "float32"),
        ("bfloat16", "float32"),
        ("float8_e4m3fn", "float16"),
        ("int8", "int32"),
    ],
)
def test_inputs(dtype, dtype_of_out):
    integers = numpy.random.default_rng().integers(-3, 4, (2, 24, 24))
    a, b = (jnp.asarray(one, dtype) for one in integers)
    out = numpy.empty((24, 24), dtype_of_out)
    tunedgemm.matmul(a, b, out=out)
    numpy.testing.assert_array_equal(out, integers[0] @ integers[1])


def test_outputs_are_refused():
    a = jnp.ones((4, 4))
    with pytest.raises(
        TypeError,
        match=r"out is missing: arrays of type jax.* cannot be made here; call tunedgemm\.jax\.",
    ):
        tunedgemm.matmul(a, a)
    with pytest.raises(ValueError, match="out is an array of JAX"):
        tunedgemm.matmul(a, a, out=jnp.zeros((4, 4)))

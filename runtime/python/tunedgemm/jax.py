"""Matrix multiplication by tuned kernels inside programs of JAX: eager, under jax.jit, jax.vmap,
jax.grad and jax.shard_map.

    import jax, tunedgemm.jax

    @jax.jit
    def layer(x, weight, bias):  # (batch, in), (out, in), (out,)
        return tunedgemm.jax.matmul(x, weight, transpose_b=True, bias=bias, activation="gelu_tanh")

Importing it needs JAX, and a package that was built with jaxlib installed."""

import functools
import math
import re
from typing import Any, NamedTuple

from . import _core
from ._matmul import Activation, Numerics

try:
    import jax
    import jax.numpy as jnp
    import jaxlib
    import numpy
except ImportError as error:
    raise ImportError(
        "tunedgemm.jax needs JAX: pip install jax, or pip install 'jax[cuda13]' for a GPU"
    ) from error

__all__ = ["matmul"]

_TARGET = "tunedgemm_matmul"


def _register(version, handlers):
    if not handlers:
        raise ImportError(
            "this package was built without jaxlib, so it has no tunedgemm.jax: pip install "
            "jaxlib, then build the package again where pip can see it (pip install "
            "--force-reinstall --no-build-isolation)"
        )
    if _numbers(version) > _numbers(jaxlib.__version__):  # JAX would not start with such handlers
        raise ImportError(
            f"this package was built with jaxlib {version}, and jaxlib {jaxlib.__version__} is "
            "older: update JAX, or build the package with this one (pip install --force-reinstall "
            "--no-build-isolation)"
        )
    for platform, stages in handlers.items():
        jax.ffi.register_ffi_target(_TARGET, stages, platform=platform)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


_register(*_core._jax_handlers())


class _Options(NamedTuple):
    """The arguments that are part of the compiled program."""

    activation: str
    out_dtype: str  # "" for the default until the types are checked
    alpha: float
    beta: float
    slope: float
    numerics: str
    invariant: bool
    sm_limit: int
    transpose_a: bool
    transpose_b: bool

    def without_epilogue(self):
        return self._replace(activation="none", beta=0.0)


class _Operands(NamedTuple):
    """In a custom call each has 3 dimensions: bias is (1, 1, N) or (1, M, 1), a scale (1, 1, 1)."""

    a: jax.Array
    b: jax.Array
    c: jax.Array | None = None
    bias: jax.Array | None = None
    scale_a: jax.Array | None = None
    scale_b: jax.Array | None = None


def matmul(
    a: Any,
    b: Any,
    *,
    bias: Any = None,
    activation: Activation = "none",
    out_dtype: Any = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    c: Any = None,
    numerics: Numerics = "default",
    invariant: bool = False,
    sm_limit: int = 0,
    scale_a: Any = None,
    scale_b: Any = None,
    slope: float = 0.01,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> jax.Array:
    """Multiplies matrices: act(alpha * scale_a * scale_b * a @ b + beta * c + bias).

    The first run of a problem on a device tunes its kernel, which takes seconds, and stores the
    winner in the cache file; later runs launch it on XLA's stream. $TUNEDGEMM_POLICY chooses other
    policies (see tunedgemm.Context). A run under jax.jit tunes before it launches anything, so XLA
    may capture the call in a CUDA graph. Tuning needs free memory on the GPU for its own operands:
    lower $XLA_PYTHON_CLIENT_MEM_FRACTION if it fails.

    a, b: arrays of JAX or numpy, (M, K) and (K, N), or batches of them, (batch, M, K) and (batch,
        K, N); one matrix serves the whole batch. Both have the element type float64, float32,
        float16, bfloat16, int8, or float8_e4m3fn and float8_e5m2 in any mix.
    bias: (N,), a value per column of the result, or (M, 1), a value per row; of the result's type.
    activation: "none", "relu", "leaky_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh" or
        "relu_squared".
    out_dtype: the element type of the result. None: the type of a; float16 for float8, int32 for
        int8.
    alpha, beta, slope: numbers, part of the compiled program. slope is leaky_relu's negative slope.
    c: (M, N) or (batch, M, N), of the result's type: an addend, which beta multiplies.
    numerics: for float32 "ieee", "tf32" or "emulated"; for float8 "fast" or "promoted".
    invariant, sm_limit: as for tunedgemm.matmul().
    scale_a, scale_b: float32, read by the kernel, for the whole batch: one value; or, for float8, a
        matrix as for tunedgemm.matmul().
    transpose_a, transpose_b: a is (K, M), b is (N, K). The kernel reads it without a copy;
        matmul(a, b.T) makes XLA copy b.

    Returns an array of shape (M, N) or (batch, M, N). jax.vmap makes one batched call where the
    operands allow it, else several. This function computes the gradients; float8 and int8 have
    none, and there is no forward mode. Under automatic sharding XLA gathers the operands, so use
    jax.shard_map to multiply the parts. Raises ValueError and TypeError for wrong arguments while
    tracing; failures of the library raise jax.errors.JaxRuntimeError when the result is computed.
    Threads may call it at once."""
    for name, array in (
        ("a", a),
        ("b", b),
        ("c", c),
        ("bias", bias),
        ("scale_a", scale_a),
        ("scale_b", scale_b),
    ):
        if not isinstance(array, (jax.Array, numpy.ndarray)) and (
            array is not None or name in ("a", "b")
        ):
            raise TypeError(f"{name} is a {type(array).__name__}; pass an array of JAX or numpy")
    options = _Options(
        activation,
        "" if out_dtype is None else numpy.dtype(out_dtype).name,
        _number("alpha", alpha),
        _number("beta", beta),
        _number("slope", slope),
        numerics,
        invariant,
        sm_limit,
        bool(transpose_a),
        bool(transpose_b),
    )
    return _matmul(options, _Operands(a, b, c, bias, scale_a, scale_b))


def _number(argument: str, value: Any) -> float:
    if isinstance(value, jax.core.Tracer):
        raise TypeError(
            f"{argument} is traced, but it must be a number, as it is part of the compiled "
            "program; scale_a may be traced"
        )
    return float(value)


@functools.partial(jax.jit, static_argnums=0)
def _matmul(options, operands):
    """matmul() with the types of its arguments known."""
    options, operands = _checked(options, operands)
    is_batched = 3 in (operands.a.ndim, operands.b.ndim)
    d = _product(options, _varying_alike(_as_batches(operands)))
    return d if is_batched else d[0]


def _checked(options, operands):
    """The arguments without a c that is not read, and with the element type of the result. Raises
    ValueError with the library's sentence if they do not fit together."""
    if options.beta == 0:
        operands = operands._replace(c=None)
    elif operands.c is None:
        raise ValueError(f"beta is {options.beta}, so c must be given: the product is added to it")

    def placeholder(name, array, transposed=False):
        shape = (*array.shape[:-2], *array.shape[:-3:-1]) if transposed else array.shape
        return _core.Placeholder(shape, array.dtype.name, transposed=transposed, name=name)

    a = placeholder("a", operands.a, options.transpose_a)
    b = placeholder("b", operands.b, options.transpose_b)
    others = {
        name: placeholder(name, array)
        for name, array in operands._asdict().items()
        if array is not None and name not in "ab"
    }
    for name in ("scale_a", "scale_b"):
        if name in others and getattr(operands, name).ndim > 2:
            raise ValueError(f"{name} has more than two dimensions; one matrix serves the batch")
    options = options._replace(out_dtype=options.out_dtype or _core.result_type(a.dtype))
    out = _core.Placeholder(_core.shape_of_result(a, b), options.out_dtype)
    _core.problem_text(
        a,
        b,
        out,
        activation=options.activation,
        beta=options.beta,
        numerics=options.numerics,
        invariant=options.invariant,
        sm_limit=options.sm_limit,
        **others,
    )
    return options, operands


def _as_batches(operands):
    """The operands with the three dimensions that the custom call expects."""

    def as_batch(array):
        return array if array is None or array.ndim == 3 else array[None]

    bias = operands.bias
    return _Operands(
        as_batch(operands.a),
        as_batch(operands.b),
        as_batch(operands.c),
        bias if bias is None else bias.reshape(1, -1, bias.shape[-1]),
        *(
            one if one is None else one.reshape(1, *(one.shape if one.ndim == 2 else (1, 1)))
            for one in operands[-2:]
        ),
    )


def _extents(options, a, b):
    """((M, K), (K, N))."""
    return (
        a.shape[:-3:-1] if options.transpose_a else a.shape[-2:],
        b.shape[:-3:-1] if options.transpose_b else b.shape[-2:],
    )


def _batch(a: jax.Array, b: jax.Array) -> int:
    return 0 if 0 in (a.shape[0], b.shape[0]) else max(a.shape[0], b.shape[0])


def _varying_alike(operands):
    """Makes the operands vary over the same axes of the mesh, as a custom call under jax.shard_map
    must have them."""
    varying: list[Any] = [
        getattr(jax.typeof(one), "manual_axis_type", None) for one in operands if one is not None
    ]
    if None in varying:
        return operands
    axes = frozenset().union(*(one.varying for one in varying))

    def cast(array):
        missing = tuple(axes - jax.typeof(array).manual_axis_type.varying)
        return jax.lax.pcast(array, missing, to="varying") if missing else array

    return jax.tree.map(cast, operands)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _product(options, operands):
    return _custom_call(options, operands)


def _custom_call(options, operands):
    a, b, c, bias, scale_a, scale_b = operands
    (m, _), (_, n) = _extents(options, a, b)
    attributes = {
        "activation": options.activation,
        "numerics": options.numerics,
        "invariant": options.invariant,
        "sm_limit": numpy.int64(options.sm_limit),
        "transpose_a": options.transpose_a,
        "transpose_b": options.transpose_b,
        "has_c": c is not None,
        "has_bias": bias is not None,
        "has_scale_a": scale_a is not None,
        "has_scale_b": scale_b is not None,
        "alpha": numpy.float64(options.alpha),
        "beta": numpy.float64(options.beta),
        "slope": numpy.float64(options.slope),
    }
    arrays = (one for one in (a, b, c, bias, scale_a, scale_b) if one is not None)
    result = _result((_batch(a, b), m, n), options.out_dtype, a)
    return jax.ffi.ffi_call(_TARGET, result, vmap_method="expand_dims")(*arrays, **attributes)


def _result(shape, dtype, a):
    """The type of a result that varies over a mesh as a does."""
    varying = getattr(jax.typeof(a), "manual_axis_type", None)
    if varying is None or not varying.varying:
        return jax.ShapeDtypeStruct(shape, dtype)
    whole = jax.sharding.NamedSharding(jax.typeof(a).sharding.mesh, jax.sharding.PartitionSpec())
    return jax.ShapeDtypeStruct(shape, dtype, sharding=whole, manual_axis_type=varying)


def _forward(options, operands):
    dtype = operands.a.dtype.name
    if dtype.startswith("float8") or dtype == "int8":
        raise TypeError(
            f"products of {dtype} have no gradients; multiply arrays of another type, or stop the "
            "gradients of all arguments"
        )
    return _product(options, operands), operands


def _backward(options, operands, gradient):
    dz = _through_activation(options, operands, gradient)
    plain = options.without_epilogue()
    factors = {"scale_a": operands.scale_a, "scale_b": operands.scale_b}
    return (
        _Operands(
            a=_gradient_of_a(plain, operands, dz, factors),
            b=_gradient_of_b(plain, operands, dz, factors),
            c=None if operands.c is None else _summed(options.beta * dz, operands.c),
            bias=None if operands.bias is None else _summed(dz, operands.bias),
            scale_a=_gradient_of_scale(plain, operands, dz, "scale_a"),
            scale_b=_gradient_of_scale(plain, operands, dz, "scale_b"),
        ),
    )


# The activations that jax.nn does not have under their names.
_FUNCTIONS = {
    "gelu_tanh": functools.partial(jax.nn.gelu, approximate=True),
    "gelu_erf": functools.partial(jax.nn.gelu, approximate=False),
    "relu_squared": lambda z: jnp.square(jax.nn.relu(z)),
}


def _accumulator(options: _Options) -> str:
    return "float64" if options.out_dtype == "float64" else "float32"


def _through_activation(options, operands, gradient):
    """The gradient of the activation's argument, which is computed again."""
    accumulator = _accumulator(options)
    gradient = gradient.astype(accumulator)
    if options.activation == "none":
        return gradient
    c, bias = (
        None if one is None else one.astype(accumulator) for one in (operands.c, operands.bias)
    )
    z = _product(
        options._replace(activation="none", out_dtype=accumulator),
        operands._replace(c=c, bias=bias),
    )
    activation: Any = _FUNCTIONS.get(options.activation) or getattr(jax.nn, options.activation)
    if options.activation == "leaky_relu":
        activation = functools.partial(activation, negative_slope=options.slope)
    return jax.vjp(activation, z)[1](gradient)[0]


def _summed(gradient, like):
    """The gradient, summed over the dimensions in which `like` was broadcast."""
    shared = tuple(i for i, extent in enumerate(like.shape) if extent == 1 != gradient.shape[i])
    return jnp.sum(gradient, shared, keepdims=True).astype(like.dtype)


def _gradient_product(options, left, right, like, transpose_a, transpose_b, factors):
    """left @ right as the gradient of `like`, which may have served a whole batch."""
    is_summed = like.shape[0] == 1 != _batch(left, right)
    out = _accumulator(options) if is_summed else like.dtype.name
    options = options._replace(out_dtype=out, transpose_a=transpose_a, transpose_b=transpose_b)
    return _summed(
        _product(options, _Operands(left.astype(like.dtype), right.astype(like.dtype), **factors)),
        like,
    )


def _gradient_of_a(options, operands, dz, factors):
    a, b = operands.a, operands.b
    if options.transpose_a:
        return _gradient_product(options, b, dz, a, options.transpose_b, True, factors)
    return _gradient_product(options, dz, b, a, False, not options.transpose_b, factors)


def _gradient_of_b(options, operands, dz, factors):
    a, b = operands.a, operands.b
    if b.shape[0] == 1 != dz.shape[0] and a.shape[0] == dz.shape[0] and not options.transpose_a:
        # The sum over the batch is a part of the sum over rows.
        a, dz = (
            a.reshape(1, math.prod(a.shape[:2]), a.shape[2]),
            dz.reshape(1, math.prod(dz.shape[:2]), dz.shape[2]),
        )
    if options.transpose_b:
        return _gradient_product(options, dz, a, b, True, options.transpose_a, factors)
    return _gradient_product(options, a, dz, b, not options.transpose_a, False, factors)


def _gradient_of_scale(options, operands, dz, name):
    scale = getattr(operands, name)
    if scale is None:
        return None
    product = _product(
        options._replace(out_dtype=_accumulator(options)),
        operands._replace(c=None, bias=None, **{name: None}),
    )
    return jnp.sum(dz * product).astype(scale.dtype).reshape(scale.shape)


_product.defvjp(_forward, _backward)

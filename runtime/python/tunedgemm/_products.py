"""matmul and plan. Arrays may be those of any library, so their types are not told."""

from __future__ import annotations

from typing import Any, Literal

from . import _core
from ._core import Context, Plan

Activation = Literal[
    "none", "relu", "leaky_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh", "relu_squared"
]
Numerics = Literal["default", "ieee", "tf32", "emulated", "fast", "promoted"]
Policy = Literal["default", "tune", "tune_in_background", "compile", "stored", "fail"]


def matmul(
    a: Any,
    b: Any,
    *,
    bias: Any = None,
    activation: Activation | None = None,
    out: Any = None,
    out_dtype: Any = None,
    c: Any = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    scale_a: Any = None,
    scale_b: Any = None,
    slope: float = 0.01,
    numerics: Numerics = "default",
    stream: int | None = None,
    context: Context | None = None,
) -> Any:
    """Multiplies matrices: act(alpha * scale_a * scale_b * a @ b + beta * c + bias).

    The first product with these shapes, strides and types tunes its kernel, which takes seconds
    (see Context for other policies), and stores the winner in the cache file; later ones launch it.
    Arrays are those of numpy, PyTorch, CuPy or any library with DLPack; nothing is copied, and a
    transposed view is a layout of its own. On a GPU the call returns after the launch.

    a, b: (M, K) and (K, N), or batches of them, (batch, M, K) and (batch, K, N); one matrix serves
        the whole batch. Both have the element type float64, float32, float16, bfloat16, int8, or
        float8_e4m3fn and float8_e5m2 in any mix.
    bias: (N,), a value per column of the result, or (M, 1), a value per row; of the result's type.
    activation: None, "relu", "leaky_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh" or
        "relu_squared".
    out: the result, (M, N) or (batch, M, N), on the device of a. None: a new array of a's library.
        It must not overlap an input except c.
    out_dtype: the element type of a new result. None: that of a, float16 for float8, int32 for
        int8.
    c: is multiplied by beta and added. None: out, if beta is not 0.
    scale_a, scale_b: arrays of one float32 on the same device, read by the kernel.
    slope: of leaky_relu.
    numerics: for float32 "ieee", "tf32" or "emulated"; for float8 "fast" or "promoted".
    stream: a CUDA stream as an integer. None: the stream that a's library uses.
    context: None: a context for the device of a, with the default options.

    Returns out. Raises tunedgemm.Error if the library fails, ValueError and TypeError for wrong
    arguments. Threads may call it at once; the GIL is released meanwhile."""
    return _core.matmul(
        a,
        b,
        bias,
        activation or "none",
        out,
        out_dtype,
        c,
        alpha,
        beta,
        scale_a,
        scale_b,
        slope,
        numerics,
        stream,
        context,
    )


def plan(
    a: Any,
    b: Any,
    *,
    bias: Any = None,
    activation: Activation | None = None,
    out: Any = None,
    out_dtype: Any = None,
    c: Any = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    scale_a: Any = None,
    scale_b: Any = None,
    slope: float = 0.01,
    numerics: Numerics = "default",
    policy: Policy = "default",
    name: str | None = None,
    accepted_loss: float = 0.0,
    context: Context | None = None,
) -> Plan:
    """Chooses the kernel of a product, tuning or compiling as the policy says, and launches
    nothing. Of the arrays only shapes, strides, types and alignments matter. Make plans before
    capturing a CUDA graph.

    policy: what to do without a winner: "tune", "tune_in_background", "compile", "stored" or
        "fail". "default": the context's.
    name: names the product in the list of requests (`tunedgemm missing`).
    accepted_loss: with "tune" and "compile" a stored kernel of another M is used if it is expected
        to take at most this share longer than the winner; 0.05 is 5 %.

    The other arguments are those of matmul()."""
    return Plan(
        a,
        b,
        bias,
        activation or "none",
        out,
        out_dtype,
        c,
        alpha,
        beta,
        scale_a,
        scale_b,
        slope,
        numerics,
        policy,
        name,
        accepted_loss,
        context,
    )

"""matmul, grouped_matmul and plan. Arrays may come from any library, so they are typed as Any."""

from __future__ import annotations

from typing import Any, Literal

from . import _core
from ._core import Context, Plan

Activation = Literal[
    "none", "relu", "leaky_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh", "relu_squared"
]
Numerics = Literal["default", "ieee", "tf32", "emulated", "fast", "promoted"]
Policy = Literal["default", "tune", "tune_in_background", "compile", "stored", "fail"]
Rigor = Literal["default", "quick", "normal", "exhaustive"]


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
    invariant: bool = False,
    sm_limit: int = 0,
    stream: int | None = None,
    context: Context | None = None,
) -> Any:
    """Multiplies matrices: act(alpha * scale_a * scale_b * a @ b + beta * c + bias).

    The first call of a problem (shapes, strides, types and fused operations) tunes its kernel,
    which takes seconds (see Context for other policies), and stores the winner in the cache file;
    later calls launch it. Arrays may come from numpy, PyTorch, CuPy or any library with DLPack.
    Nothing is copied; a transposed view is a layout. On a GPU the call returns after the launch.

    a, b: (M, K) and (K, N), or batches of them, (batch, M, K) and (batch, K, N); one matrix serves
        the whole batch. Both have the element type float64, float32, float16, bfloat16, int8, or
        float8_e4m3fn and float8_e5m2 in any mix.
    bias: (N,), a value per column of the result, or (M, 1), a value per row; of the result's type.
    activation: None, "relu", "leaky_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh" or
        "relu_squared".
    out: the result, (M, N) or (batch, M, N), on the device of a. None: a new array of a's library.
        It must not overlap an input except c.
    out_dtype: the element type of a new result. None: the type of a; float16 for float8, int32 for
        int8.
    c: an addend, which beta multiplies. None: out, if beta is not 0.
    scale_a, scale_b: float32 on the same device, read by the kernel: one value; or, for float8, a
        matrix with any strides, or a batch of matrices, of one of the shapes

                                           scale_a                     scale_b
            one for each row or column     (M, 1)                      (1, N)
            for 128 elements of it         (M, ceil(K/128))            (ceil(K/128), N)
            for 128 x 128 elements         (ceil(M/128), ceil(K/128))  (ceil(K/128), ceil(N/128))
    slope: the negative slope of leaky_relu.
    numerics: for float32 "ieee", "tf32" or "emulated"; for float8 "fast" or "promoted".
        The default is "ieee"; "fast", or "promoted" if there are scales of blocks.
    invariant: True: a row of the result has the same bits for every M, in every place, with every
        kernel of this GPU's architecture; a little slower for few rows.
    sm_limit: the SMs of the GPU that the kernel may use, beside others; 0: the context's limit.
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
        invariant,
        sm_limit,
        stream,
        context,
    )


def grouped_matmul(
    a: Any,
    b: Any,
    ends: Any = None,
    *,
    counts: Any = None,
    ranges: Any = None,
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
    invariant: bool = False,
    sm_limit: int = 0,
    rows_per_group: int | None = None,
    zero_unused: bool = False,
    stream: int | None = None,
    context: Context | None = None,
) -> Any:
    """Multiplies G groups of different sizes in one launch, as the experts of a mixture do.

    The shapes say what is divided, and one of `ends`, `counts` and `ranges` into which parts:

                           a           b           result
        ends of rows       (M, K)      (G, K, N)   (M, N)      rows [ends[g-1], ends[g]) by b[g]
        counts of rows     (G, M, K)   (G, K, N)   (G, M, N)   the first counts[g] rows by b[g]
        ranges of rows     (M, K)      (G, K, N)   (M, N)      rows [begin, end) of g by b[g]
        ends along K       (M, K)      (K, N)      (G, M, N)   columns of a by the rows of b

    ends, counts, ranges: int32, packed, (G,), for ranges (G, 2), on the device of a. The kernel
        reads them there, so they may be results of earlier kernels, and change between the replays
        of a CUDA graph. By ends, the first group begins at 0. Groups may be empty. Numbers outside
        the matrix count as its nearest end. Ends of rows may also be (G + 1,), where the first one
        is 0. Ranges are in any order with any gaps, but do not overlap.
    bias: (G, N), packed, of the result's type.
    out: the result. Rows of no group are not written: in a new array they have any values, as in
        PyTorch. An empty group along K gives act(beta * c + bias).
    zero_unused: True: in a new array these rows are 0, since it is zeroed first.
    scale_a, scale_b: as for matmul(), for each group, such as (G, 1, N) for scale_b. scale_a is
        that of all of a where ends or ranges divide its rows, such as (M, 1). Groups along K have
        scales of their own for rows and columns, (G, M, 1) and (G, 1, N), but scales of blocks are
        those of all of a and b.
    rows_per_group: the usual number of rows of a group, for which the kernel is tuned. None: M / G
        for ends and ranges of rows, M for counts. It matters for the speed alone.

    The other arguments are those of matmul(); c has the shape of the result.

    Returns out. Raises tunedgemm.Error if the library fails, ValueError and TypeError for wrong
    arguments. Threads may call it at once; the GIL is released meanwhile."""
    return _core.grouped_matmul(
        a,
        b,
        ends,
        counts,
        ranges,
        bias,
        activation or "none",
        out,
        out_dtype,
        zero_unused,
        c,
        alpha,
        beta,
        scale_a,
        scale_b,
        slope,
        numerics,
        invariant,
        sm_limit,
        rows_per_group,
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
    invariant: bool = False,
    sm_limit: int = 0,
    policy: Policy = "default",
    name: str | None = None,
    accepted_loss: float = 0.0,
    context: Context | None = None,
) -> Plan:
    """Chooses the kernel of a problem, tuning or compiling as the policy says, and launches
    nothing. The contents of the arrays do not matter, only their shapes, strides, types and
    alignments. Make plans before capturing a CUDA graph.

    policy: the way to a kernel without a winner: "tune", "tune_in_background", "compile", "stored"
        or "fail". "default": the context's.
    name: added to the problem's names, which tunedgemm.cache.best() and missing() show.
    accepted_loss: "tune" and "compile" use a stored kernel of another M if it is expected to take
        at most this share longer than the winner; 0.05 is 5 %.

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
        invariant,
        sm_limit,
        policy,
        name,
        accepted_loss,
        context,
    )

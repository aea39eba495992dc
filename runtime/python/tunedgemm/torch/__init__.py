"""Operators of PyTorch that multiply by tuned kernels, on the CPU and on NVIDIA GPUs. They need
PyTorch 2.10.

    import torch, tunedgemm.torch
    y = torch.ops.tunedgemm.linear(x, weight, bias, "relu")

Importing this module defines the operators, which C++ implements:

    mm(a, b, *, out_dtype=None)
        a @ b of matrices
    bmm(a, b, *, out_dtype=None)
        the same for (batch, M, K) and (batch, K, N)
    addmm(input, a, b, *, beta=1, alpha=1, activation="none", out_dtype=None)
        act(alpha * a @ b + beta * input), input broadcast as by torch.addmm
    linear(input, weight, bias=None, activation="none", *, out_dtype=None)
        act(input @ weight.T + bias), input with any leading dimensions
    scaled_mm(a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=True)
        (scale_a * a) @ (b * scale_b) + bias of float8 matrices; the shapes of scales as those of
        tunedgemm.matmul(); scales of blocks ignore use_fast_accum
    grouped_mm(a, b, offs=None, bias=None, out_dtype=None)
        the products of groups, in the forms of torch.nn.functional.grouped_mm. offs are the int32
        ends of the groups, read by the kernel alone. Elements of the result behind the last end are
        not written, and may be anything; gradients there are zero. An a of 2 dimensions may have a
        bias, (groups, N). Rows with gaps between groups: ranges_of_rows
    scaled_grouped_mm(a, b, scale_a, scale_b, offs=None, bias=None, out_dtype=None,
                      use_fast_accum=False)
        the same of float8, with a scale for each row of a and each column of b: (M,) and (N,) of a
        matrix, (groups, M) and (groups, N) of a batch, (groups * M,) and (groups * N,) of two
        matrices
    tuned_linear(input, weight, bias=None, policy="fail")
        linear if the policy finds a kernel, else torch.nn.functional.linear

mm, bmm, addmm, linear and scaled_mm have an overload `.out` with `out=` instead of out_dtype. It
writes a tensor of the right shape and of any strides, and returns nothing, so that torch.compile
can trace it. It has no derivatives. A bias or an addend has the result's type, or is converted from
the inputs'.

Element types are float64, float32, float16, bfloat16, int8 (mm and bmm; the result is int32), and
float8_e4m3fn and float8_e5m2 (the result is float16 unless out_dtype says otherwise). Inputs and
results are on one device; its current stream is used. A transposed view, a slice and a batch
expanded from one matrix are not copied; other strides are copied first, as torch.mm does. float32
is computed in full precision, whatever torch.backends.cuda.matmul says. torch.autocast changes the
types of tuned_linear alone.

The default context of the device (tunedgemm.Context) chooses the kernels. $TUNEDGEMM_POLICY says
what it does with a problem that has no winner: by default it tunes. set_invariant asks for rows
whose bits do not depend on M, set_sm_limit leaves a part of the GPU's SMs to others. Without it
they leave those of torch._C._set_sm_carveout_experimental(), as PyTorch's operators do. Wrong
arguments and failures of the library raise RuntimeError with the library's message. All threads may
call the operators.

mm, bmm, addmm, linear, grouped_mm and tuned_linear have gradients of any order, unless there is an
activation. Gradients put Python in front of each call, even under torch.no_grad(), but not under
torch.inference_mode(). The overloads `.no_grad`, such as torch.ops.tunedgemm.mm.no_grad, have no
derivatives and no Python. torch.compile traces all operators, with static and dynamic shapes; a
FLOP counter knows them.

PyTorch computes forward-mode derivatives (dual numbers) and the transforms of torch.func (grad,
jvp, vmap, hessian): there mm is torch.mm. With an activation, an out_dtype, int8, float8 or
groups they raise NotImplementedError, as do tensors that are not dense and strided."""

from typing import Any

try:
    from ._fields import follow_carveout, set_invariant, set_sm_limit
except ImportError as error:
    raise ImportError("tunedgemm.torch needs PyTorch: pip install 'torch>=2.10'") from error
from ._groups import ranges_of_rows
from ._patch import patch, unpatch
from ._record import Problem, Shapes, record

__all__ = [
    "Problem",
    "Shapes",
    "external_matmul",
    "patch",
    "ranges_of_rows",
    "record",
    "set_invariant",
    "set_sm_limit",
    "unpatch",
]

follow_carveout()


def __getattr__(name: str) -> Any:
    if name == "external_matmul":  # imported when used: TorchInductor takes seconds to import
        from ._inductor import external_matmul

        return external_matmul
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

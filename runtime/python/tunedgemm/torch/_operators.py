"""Defines the operators, which C++ implements, and adds the parts that need Python: shapes of
results for tracing; gradients by the operators themselves; other derivatives and transforms by
PyTorch's operators; the formulas of a FLOP counter. One operator that writes its output would be
less code, but allocating in Python costs each call 3 us (runtime/LABBOOK.md)."""

from __future__ import annotations

import math
import os

import torch
from torch._library.autograd import Info, make_autograd_impl
from torch.autograd import forward_ad
from torch.nn import functional
from torch.utils.flop_counter import register_flop_formula

from .. import _core

_core._register_torch_operators(os.path.join(os.path.dirname(torch.__file__), "lib"))
OPS = torch.ops.tunedgemm
LIBRARY = torch.library.Library("tunedgemm", "IMPL")
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def are_plain(*tensors: torch.Tensor | None) -> bool:
    """Whether no tensor is of a subclass, which may have its own operators. None is plain."""
    return all(one is None or type(one) in (torch.Tensor, torch.nn.Parameter) for one in tensors)


def _new(a, b, shape, out_dtype):
    torch._check(
        a.device == b.device,
        lambda: f"one matrix is on {a.device}, the other one on {b.device}; move it there",
    )
    return torch.empty(
        shape, dtype=out_dtype or getattr(torch, _core.result_type(a.dtype)), device=a.device
    )


def _mm(a, b, *, out_dtype=None):
    torch._check(a.dim() == 2 and b.dim() == 2, lambda: "a and b must be matrices")
    torch._check(
        a.shape[1] == b.shape[0],
        lambda: f"a of shape {tuple(a.shape)} and b of shape {tuple(b.shape)} cannot be multiplied",
    )
    return _new(a, b, (a.shape[0], b.shape[1]), out_dtype)


def _bmm(a, b, *, out_dtype=None):
    torch._check(a.dim() == 3 and b.dim() == 3, lambda: "a and b must be batches of matrices")
    torch._check(
        a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1],
        lambda: f"a of shape {tuple(a.shape)} and b of shape {tuple(b.shape)} cannot be multiplied",
    )
    return _new(a, b, (a.shape[0], a.shape[1], b.shape[2]), out_dtype)


def _addmm(input, a, b, *, beta=1.0, alpha=1.0, activation="none", out_dtype=None):
    return _mm(a, b, out_dtype=out_dtype)


def _linear(input, weight, bias=None, activation="none", *, out_dtype=None):
    torch._check(
        input.dim() > 0 and weight.dim() == 2, lambda: "input must have a dimension, and weight two"
    )
    torch._check(
        input.shape[-1] == weight.shape[1],
        lambda: (
            f"input of shape {tuple(input.shape)} and weight of shape {tuple(weight.shape)} cannot "
            "be multiplied"
        ),
    )
    return _new(input, weight, (*input.shape[:-1], weight.shape[0]), out_dtype)


def _scaled_mm(a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=True):
    return _mm(a, b, out_dtype=out_dtype)


def _grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    torch._check(
        a.dim() in (2, 3) and b.dim() in (2, 3), lambda: "a and b must have 2 or 3 dimensions"
    )
    if a.dim() == b.dim() == 3:
        torch._check(offs is None, lambda: "offs is given, but a and b have 3 dimensions")
        return _bmm(a, b, out_dtype=out_dtype)
    torch._check(offs is not None, lambda: "offs is None; give the end of each group")
    torch._check(
        a.shape[-1] == b.shape[-2],
        lambda: f"a of shape {tuple(a.shape)} and b of shape {tuple(b.shape)} cannot be multiplied",
    )
    m, n = a.shape[-2], b.shape[-1]
    if a.dim() == 3:
        return _new(a, b, (n, m), out_dtype).t()
    return _new(a, b, (m, n) if b.dim() == 3 else (offs.shape[0], m, n), out_dtype)


def _scaled_grouped_mm(
    a, b, scale_a, scale_b, offs=None, bias=None, out_dtype=None, use_fast_accum=False
):
    return _grouped_mm(a, b, offs, bias, out_dtype)


def _tuned_linear(input, weight, bias=None, policy="fail"):
    return functional.linear(input, weight, bias)


def _out(*arguments, out, **options):
    return None


def _refuse_unless_of_pytorch(name, a, out_dtype, activation="none"):
    if a.dtype not in FLOATS or out_dtype is not None or activation != "none":
        raise NotImplementedError(
            f"torch.ops.tunedgemm.{name} has no forward-mode derivatives and no torch.func "
            "transforms of float8, int8, an out_dtype or an activation; use PyTorch's operators "
            "there"
        )


def _mm_of_pytorch(a, b, *, out_dtype=None):
    _refuse_unless_of_pytorch("mm", a, out_dtype)
    return torch.mm(a, b)


def _bmm_of_pytorch(a, b, *, out_dtype=None):
    _refuse_unless_of_pytorch("bmm", a, out_dtype)
    return torch.bmm(a, b)


def _addmm_of_pytorch(input, a, b, *, beta=1.0, alpha=1.0, activation="none", out_dtype=None):
    _refuse_unless_of_pytorch("addmm", a, out_dtype, activation)
    return torch.addmm(input, a, b, beta=beta, alpha=alpha)


def _linear_of_pytorch(input, weight, bias=None, activation="none", *, out_dtype=None):
    _refuse_unless_of_pytorch("linear", input, out_dtype, activation)
    return functional.linear(input, weight, bias)


def _refuse_transforms_of(name):
    def refuse(*arguments, **options):
        raise NotImplementedError(
            f"torch.ops.tunedgemm.{name} has no forward-mode derivatives and no torch.func "
            "transforms; use PyTorch's operators there"
        )

    return refuse


def _refuse_out(*arguments, out, **options):
    raise NotImplementedError(
        "torch.ops.tunedgemm's overloads with out= have no torch.func transforms; call those "
        "without it"
    )


def _rows(x):
    """The vectors along the last dimension of x as the rows of a matrix."""
    return x.flatten(0, -2) if x.dim() > 1 else x.unsqueeze(0)


def _refuse_activation(name):
    if name != "none":
        raise RuntimeError(
            f"activation is '{name}', which has no gradient here; use 'none' and PyTorch's "
            "activation, or torch.no_grad()"
        )


def _save_mm(ctx, inputs, keyword_only_inputs, output):
    ctx.save_for_backward(*inputs)


def _mm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad = grad.to(a.dtype)
    return (
        OPS.mm.default(grad, b.t()) if ctx.needs_input_grad[0] else None,
        OPS.mm.default(a.t(), grad) if ctx.needs_input_grad[1] else None,
    )


def _bmm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad = grad.to(a.dtype)
    return (
        OPS.bmm.default(grad, b.transpose(1, 2)) if ctx.needs_input_grad[0] else None,
        OPS.bmm.default(a.transpose(1, 2), grad) if ctx.needs_input_grad[1] else None,
    )


def _save_addmm(ctx, inputs, keyword_only_inputs, output):
    _refuse_activation(keyword_only_inputs["activation"])
    input, a, b = inputs
    ctx.save_for_backward(a, b)
    ctx.shape, ctx.beta, ctx.alpha = (
        input.shape,
        keyword_only_inputs["beta"],
        keyword_only_inputs["alpha"],
    )


def _addmm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    scaled = (grad if ctx.alpha == 1 else grad * ctx.alpha).to(a.dtype)
    needs_input, needs_a, needs_b = ctx.needs_input_grad[:3]
    return (
        (grad if ctx.beta == 1 else grad * ctx.beta).sum_to_size(ctx.shape)
        if needs_input
        else None,
        OPS.mm.default(scaled, b.t()) if needs_a else None,
        OPS.mm.default(a.t(), scaled) if needs_b else None,
    )


def _save_linear(ctx, inputs, keyword_only_inputs, output):
    input, weight, _, activation = inputs
    _refuse_activation(activation)
    ctx.save_for_backward(input, weight)


def _save_tuned_linear(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])


def _linear_backward_by(linear, mm):
    def backward(ctx, grad):
        input, weight = ctx.saved_tensors
        needs_input, needs_weight, needs_bias = (*ctx.needs_input_grad, False)[:3]
        rows = _rows(grad).to(input.dtype)
        return (
            linear(grad.to(input.dtype), weight.t()) if needs_input else None,
            mm(rows.t(), _rows(input)) if needs_weight else None,
            _rows(grad).sum(0) if needs_bias else None,
            None,
        )

    return backward


tuned_linear_backward = _linear_backward_by(functional.linear, torch.mm)


def _save_grouped_mm(ctx, inputs, output):
    ctx.save_for_backward(*(*inputs, None)[:3])


def _without_tail(product, offs, has_a_batch):
    """Zeros where no group has written. No number leaves the device."""
    if product.dim() == 3 or offs is None:
        return product
    extent = product.shape[1 if has_a_batch else 0]
    tail = torch.arange(extent, device=offs.device) >= offs[-1:].sum()  # 0 without groups
    return product.masked_fill(tail if has_a_batch else tail.unsqueeze(1), 0)


def _grouped_mm_backward(ctx, grad):
    a, b, offs = ctx.saved_tensors
    needs_a, needs_b, _, needs_bias = (*ctx.needs_input_grad, False, False)[:4]
    narrow = grad.to(a.dtype)

    def product(left, right):
        return _without_tail(OPS.grouped_mm.default(left, right, offs), offs, left.dim() == 3)

    def sums_of_groups():
        if b.dim() == 2:
            return grad.sum(1)
        return OPS.grouped_mm.default(grad.new_ones(1, grad.shape[0]), grad, offs).squeeze(1)

    return (
        product(narrow, b.transpose(-2, -1)) if needs_a else None,
        product(a.transpose(-2, -1), narrow) if needs_b else None,
        None,
        sums_of_groups() if needs_bias else None,
        None,
    )


def _refuse_gradient_of(name):
    def refuse(ctx, inputs, output):
        raise RuntimeError(
            f"{name} has no gradient; call it under torch.no_grad() or with tensors that need no "
            "gradient"
        )

    return refuse


def _flops(a, b, *rest, **options):
    return 2 * math.prod(a) * b[-1]


def _addmm_flops(input, a, b, *rest, **options):
    return _flops(a, b)


def _linear_flops(input, weight, *rest, **options):
    return 2 * math.prod(input) * weight[0]


def _grouped_flops(a, b, *rest, **options):
    return _flops(a, b) // (a[0] if len(a) == 3 and len(b) == 2 and a[0] else 1)


def _has_tangent(tensors):
    return any(
        isinstance(one, torch.Tensor) and forward_ad.unpack_dual(one).tangent is not None
        for one in tensors
    )


def _register_gradient(name, backward, save, of_pytorch):
    operator = getattr(OPS, name).default
    by_backward = make_autograd_impl(operator, Info(backward, save))

    def gradient(keyset, *arguments, **options):
        if forward_ad._current_level >= 0 and _has_tangent(arguments):
            return of_pytorch(*arguments, **options)
        if torch.is_grad_enabled():
            return by_backward(keyset, *arguments, **options)
        with torch._C._AutoDispatchBelowAutograd():  # like by_backward, in fewer steps
            return operator.redispatch(
                keyset & torch._C._after_autograd_keyset, *arguments, **options
            )

    LIBRARY.impl(operator, gradient, "Autograd", with_keyset=True)


def _register():
    # In a patched model PyTorch computes untuned problems, also those of the gradients.
    for name, fake, of_pytorch, flops, save, backward in (
        ("mm", _mm, _mm_of_pytorch, _flops, _save_mm, _mm_backward),
        ("bmm", _bmm, _bmm_of_pytorch, _flops, _save_mm, _bmm_backward),
        ("addmm", _addmm, _addmm_of_pytorch, _addmm_flops, _save_addmm, _addmm_backward),
        (
            "linear",
            _linear,
            _linear_of_pytorch,
            _linear_flops,
            _save_linear,
            _linear_backward_by(OPS.linear.default, OPS.mm.default),
        ),
        (
            "tuned_linear",
            _tuned_linear,
            _tuned_linear,
            _linear_flops,
            _save_tuned_linear,
            tuned_linear_backward,
        ),
        (
            "scaled_mm",
            _scaled_mm,
            _refuse_transforms_of("scaled_mm"),
            _flops,
            _refuse_gradient_of("scaled_mm"),
            lambda ctx, grad: None,
        ),
        (
            "grouped_mm",
            _grouped_mm,
            _refuse_transforms_of("grouped_mm"),
            _grouped_flops,
            _save_grouped_mm,
            _grouped_mm_backward,
        ),
        (
            "scaled_grouped_mm",
            _scaled_grouped_mm,
            _refuse_transforms_of("scaled_grouped_mm"),
            _grouped_flops,
            _refuse_gradient_of("scaled_grouped_mm"),
            lambda ctx, grad: None,
        ),
    ):
        register_flop_formula(getattr(OPS, name))(flops)
        _register_gradient(name, backward, save, of_pytorch)
        for overload in ("default", "no_grad", "out"):
            if operator := getattr(getattr(OPS, name), overload, None):
                torch.library.register_fake(operator, _out if overload == "out" else fake)
                LIBRARY.impl(
                    operator,
                    _refuse_out if overload == "out" else of_pytorch,
                    "FuncTorchDynamicLayerFrontMode",
                )
    for operator in (OPS.tuned_linear.default, OPS.tuned_linear.no_grad):
        for key in ("AutocastCPU", "AutocastCUDA"):
            LIBRARY.impl(operator, _tuned_linear, key)
    for key in ("AutogradCPU", "AutogradCUDA"):
        LIBRARY.impl(OPS.tuned_linear.if_served, torch.library.fallthrough_kernel, key)


_register()

"""The shapes of the operators' results, for tracing, and their gradients, by the operators themselves."""
import torch

from .. import _core

OPS = torch.ops.tunedgemm


def _new(a, shape, out_dtype):
    return torch.empty(shape, dtype=out_dtype or getattr(torch, _core.result_type(a.dtype)), device=a.device)


def _mm(a, b, *, out_dtype=None):
    torch._check(a.dim() == 2 and b.dim() == 2, lambda: "a and b must be matrices")
    torch._check(a.shape[1] == b.shape[0], lambda: f"a of shape {tuple(a.shape)} and b of shape {tuple(b.shape)} cannot be multiplied")
    return _new(a, (a.shape[0], b.shape[1]), out_dtype)


def _bmm(a, b, *, out_dtype=None):
    torch._check(a.dim() == 3 and b.dim() == 3, lambda: "a and b must be batches of matrices")
    torch._check(a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1],
                 lambda: f"a of shape {tuple(a.shape)} and b of shape {tuple(b.shape)} cannot be multiplied")
    return _new(a, (a.shape[0], a.shape[1], b.shape[2]), out_dtype)


def _addmm(input, a, b, *, beta=1.0, alpha=1.0, activation="none", out_dtype=None):
    return _mm(a, b, out_dtype=out_dtype)


def _linear(input, weight, bias=None, activation="none", *, out_dtype=None):
    torch._check(input.dim() > 0 and weight.dim() == 2, lambda: "input must have a dimension, and weight two")
    torch._check(input.shape[-1] == weight.shape[1],
                 lambda: f"input of shape {tuple(input.shape)} and weight of shape {tuple(weight.shape)} cannot be multiplied")
    return _new(input, (*input.shape[:-1], weight.shape[0]), out_dtype)


def _scaled_mm(a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=True):
    return _mm(a, b, out_dtype=out_dtype)


def _tuned_linear(input, weight, bias=None, policy="fail"):
    return _linear(input, weight, bias)


def _out(*arguments, out, **options):
    return None


def _rows(x):
    """The matrix whose rows are the vectors of x along its last dimension."""
    return x.flatten(0, -2) if x.dim() > 1 else x.unsqueeze(0)


def _refuse_activation(name):
    if name != "none":
        raise RuntimeError(f"activation is '{name}', of which no gradient is known; use 'none' and PyTorch's activation, "
                           "or torch.no_grad()")


def _save_mm(ctx, inputs, keyword_only_inputs, output):
    ctx.save_for_backward(*inputs)


def _mm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad = grad.to(a.dtype)
    return (OPS.mm.default(grad, b.t()) if ctx.needs_input_grad[0] else None,
            OPS.mm.default(a.t(), grad) if ctx.needs_input_grad[1] else None)


def _bmm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad = grad.to(a.dtype)
    return (OPS.bmm.default(grad, b.transpose(1, 2)) if ctx.needs_input_grad[0] else None,
            OPS.bmm.default(a.transpose(1, 2), grad) if ctx.needs_input_grad[1] else None)


def _save_addmm(ctx, inputs, keyword_only_inputs, output):
    _refuse_activation(keyword_only_inputs["activation"])
    input, a, b = inputs
    ctx.save_for_backward(a, b)
    ctx.shape, ctx.beta, ctx.alpha = input.shape, keyword_only_inputs["beta"], keyword_only_inputs["alpha"]


def _addmm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    scaled = (grad if ctx.alpha == 1 else grad * ctx.alpha).to(a.dtype)
    needs_input, needs_a, needs_b = ctx.needs_input_grad[:3]
    return ((grad if ctx.beta == 1 else grad * ctx.beta).sum_to_size(ctx.shape) if needs_input else None,
            OPS.mm.default(scaled, b.t()) if needs_a else None,
            OPS.mm.default(a.t(), scaled) if needs_b else None)


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
        return (linear(grad.to(input.dtype), weight.t()) if needs_input else None,
                mm(rows.t(), _rows(input)) if needs_weight else None,
                _rows(grad).sum(0) if needs_bias else None,
                None)
    return backward


def _refuse_gradient(ctx, inputs, output):
    raise RuntimeError("scaled_mm has no gradient; call it under torch.no_grad() or with tensors that need no gradient")


def _register():
    for name, fake in {"mm": _mm, "bmm": _bmm, "addmm": _addmm, "linear": _linear, "tuned_linear": _tuned_linear}.items():
        torch.library.register_fake(f"tunedgemm::{name}", fake)
        torch.library.register_fake(f"tunedgemm::{name}.no_grad", fake)
    torch.library.register_fake("tunedgemm::scaled_mm", _scaled_mm)
    for name in ("mm", "bmm", "addmm", "linear", "scaled_mm"):
        torch.library.register_fake(f"tunedgemm::{name}.out", _out)
    # Under a patched model untuned products are PyTorch's, also those of the gradients.
    for name, backward, save in (("mm", _mm_backward, _save_mm), ("bmm", _bmm_backward, _save_mm), ("addmm", _addmm_backward, _save_addmm),
                                 ("linear", _linear_backward_by(OPS.linear.default, OPS.mm.default), _save_linear),
                                 ("tuned_linear", _linear_backward_by(torch.nn.functional.linear, torch.mm), _save_tuned_linear),
                                 ("scaled_mm", lambda ctx, grad: None, _refuse_gradient)):
        torch.library.register_autograd(f"tunedgemm::{name}", backward, setup_context=save)


_register()

"""record: notes the problems of a running program, for tune-all or for tuning at once."""

from __future__ import annotations

import collections
import contextlib
import csv
import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from .. import _core
from .._core import Context, Placeholder, Plan
from .._matmul import Policy
from .._prepare import prepare
from .._progress import Progress
from ._fields import FIELDS
from ._operators import LIBRARY, are_plain

ATEN, OPS = torch.ops.aten, torch.ops.tunedgemm


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem of a device, as the library tunes it."""

    text: str  # as in a list of shapes: "types=bf16 layout=nt m=16 n=4096 k=1024"
    device: torch.device

    def fields(self) -> dict[str, str]:
        """The fields of the text: {"types": "bf16", ...}."""
        return dict(field.split("=", 1) for field in self.text.split())

    def arguments(self) -> dict[str, Any]:
        """The problem for tunedgemm.prepare()."""
        device = "host" if self.device.type == "cpu" else f"cuda:{self.device.index}"
        return {"problem": self.text, "device": device}

    def plan(self, policy: Policy = "tune", context: Context | None = None) -> Plan:
        """Makes the problem's tunedgemm.Plan without tensors. See tunedgemm.plan."""
        (plan,) = prepare([self.arguments()], progress=False, policy=policy, context=context)
        return plan


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Shapes(collections.Counter[Problem]):
    """Counts the calls of each recorded Problem."""

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a list of shapes (CSV) for tune-all; the column `name` has the number of calls."""
        lines = [
            {"name": f"{count} calls", **problem.fields()} for problem, count in self.most_common()
        ]
        names = dict.fromkeys(name for line in lines for name in line)
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(names) or ["name"], lineterminator="\n")
            table.writeheader()
            table.writerows(lines)

    def tune(
        self, progress: Progress = True, policy: Policy = "tune", context: Context | None = None
    ) -> None:
        """Makes a plan for each problem in this process, the most frequent first; by default,
        problems without a winner are tuned.

        progress, policy, context: as for tunedgemm.prepare. The operators find the winners in the
            cache file, whichever context tuned them."""
        prepare(
            [problem.arguments() for problem, _ in self.most_common()],
            progress=progress,
            policy=policy,
            context=context,
        )


def record() -> contextlib.AbstractContextManager[Shapes]:
    """Notes the problems that this thread and its backward passes run in a `with` block, by
    operators of PyTorch and of this module.

        with tunedgemm.torch.record() as shapes:
            model(x)
        shapes.write("shapes.csv")  # for tune-all shapes.csv
        shapes.tune(progress=True)  # or in this process

    It sees mm, addmm, bmm, baddbmm, linear, matmul, _int_mm, and torch.nn.functional's scaled_mm,
    grouped_mm and scaled_grouped_mm, also as parts of other functions, if the library supports
    their element types and scales. It does not see inside fused kernels, such as flash attention,
    nor in regions that torch.compile has compiled: record the model before. PyTorch splits some
    linear layers into a product and a sum; record a patched model (tunedgemm.torch.patch) to note
    its layers whole. The `with` block gives Shapes, a Counter."""
    return _Recorder()


class _Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.shapes = Shapes()

    def __enter__(self):
        super().__enter__()
        return self.shapes

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        read = READERS.get(getattr(function, "overloadpacket", None))
        if (
            read is None and function._can_decompose()
        ):  # under inference_mode, where composite functions come whole
            with self:
                result = function.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = function(*args, **kwargs)
        if read is not None:
            problem = read(result, *args, **kwargs)
            if problem is not None:
                self.shapes[problem] += 1
        return result


def _if_served(input, weight, bias=None, policy="fail"):
    """PyTorch computes patched layers under modes and with subclasses of tensors, but a recorder
    sees them whole."""
    if isinstance(_get_current_dispatch_mode(), _Recorder) and are_plain(input, weight, bias):
        return OPS.tuned_linear.no_grad(input, weight, bias, policy)
    return None


LIBRARY.impl(OPS.tuned_linear.if_served, _if_served, "Python")


def _placeholder(x: torch.Tensor, shape: Sequence[int] | None = None) -> Placeholder:
    """The tensor without its memory, as a packed one of the shape if one is given; a matrix without
    a layout as its contiguous copy."""
    dtype = str(x.dtype).removeprefix("torch.")
    if shape is not None:
        return Placeholder(shape, dtype)
    placeholder = Placeholder(x.shape, dtype, strides=x.stride())
    return placeholder if placeholder.has_layout else Placeholder(x.shape, dtype)


def _problem(
    result: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    bias: bool = False,
    activation: str = "none",
    numerics: str = "default",
    device: torch.device | None = None,
    scales: Sequence[torch.Tensor | None] = (None, None),
    ends: torch.Tensor | None = None,
) -> Problem | None:
    m, n = a.shape[-2], b.shape[-1]
    if 0 in (*result.shape, *b.shape[:-2]):
        return None
    products = (a if ends is None else result).shape[:-2]
    shape_of_bias = (n,) if ends is None else (*ends.shape, n)
    try:
        text = _core.problem_text(
            _placeholder(a),
            _placeholder(b),
            _placeholder(result, (*products, m, n)),
            bias=_placeholder(result, shape_of_bias) if bias else None,
            activation=activation,
            numerics=numerics,
            scale_a=None if scales[0] is None else _placeholder(scales[0], scales[0].shape),
            scale_b=None if scales[1] is None else _placeholder(scales[1], scales[1].shape),
            ends=None if ends is None else _placeholder(ends, ends.shape),
            **FIELDS,
        )
    except ValueError:  # the library does not compute it
        return None
    return Problem(text, device or a.device)


def _read_mm(result, a, b, *rest, **options):
    return _problem(result, a, b)


def _read_addmm(result, input, a, b, *, beta=1, alpha=1, activation="none", **options):
    is_bias = beta == 1 and input.dim() > 0 and input.numel() == input.shape[-1] == b.shape[-1]
    return _problem(result, a, b, activation=activation, bias=is_bias)


def _read_baddbmm(result, input, a, b, **options):
    return _problem(result, a, b)


def _read_linear(result, input, weight, bias=None, activation="none", **options):
    if weight.dim() != 2:
        return None
    try:
        rows = input.view(-1, input.shape[-1])
    except RuntimeError:  # its strides allow no view: PyTorch multiplies a copy
        rows = torch.empty(
            (max(result.numel() // max(result.shape[-1], 1), 1), input.shape[-1]),
            dtype=input.dtype,
            device="meta",
        )
    return _problem(
        result, rows, weight.t(), bias=bias is not None, activation=activation, device=input.device
    )


def _read_tuned_linear(result, input, weight, bias=None, policy="fail"):
    return _read_linear(result, input, weight, bias)


def _read_scaled_mm(
    result,
    a,
    b,
    scale_a,
    scale_b,
    bias=None,
    scale_result=None,
    out_dtype=None,
    use_fast_accum=False,
):
    return _problem(
        result,
        a,
        b,
        bias=bias is not None,
        numerics="default" if use_fast_accum else "promoted",
        scales=(scale_a, scale_b),
    )


def _read_scaled_mm_v2(
    result,
    a,
    b,
    scale_a,
    recipe_a,
    swizzle_a,
    scale_b,
    recipe_b,
    swizzle_b,
    bias,
    out_dtype=None,
    contraction_dim=(),
    use_fast_accum=False,
):
    """torch.nn.functional.scaled_mm. Formats with two levels of scales have lists of them."""
    if len(scale_a) != 1 or len(scale_b) != 1:
        return None
    return _read_scaled_mm(
        result, a, b, scale_a[0], scale_b[0], bias, use_fast_accum=use_fast_accum
    )


def _read_own_scaled_mm(
    result, a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=True, *, out=None
):
    return _read_scaled_mm(result, a, b, scale_a, scale_b, bias, use_fast_accum=use_fast_accum)


def _read_grouped_mm(
    result, a, b, offs=None, bias=None, out_dtype=None, numerics="default", scales=(None, None)
):
    if a.dim() > b.dim():  # the operator multiplies the transposes
        result, a, b, scales = result.t(), b.t(), a.transpose(1, 2), scales[::-1]

    def matrices(scale, dimension):
        if scale is None:
            return None
        is_list = b.dim() == 2 and scale.dim() == 1 and len(offs) and len(scale) % len(offs) == 0
        if is_list:  # the vectors of groups along K are behind each other
            scale = scale.reshape(len(offs), -1)
        return scale.unsqueeze(dimension) if scale.dim() in (1, 2) else scale

    return _problem(
        result,
        a,
        b,
        bias=bias is not None,
        numerics=numerics,
        scales=(matrices(scales[0], -1), matrices(scales[1], -2)),
        ends=offs,
    )


def _read_scaled_grouped_mm(result, a, b, scale_a, scale_b, offs=None, bias=None, *rest, **options):
    """PyTorch's operators and ours end with other arguments, but have one flag, use_fast_accum."""
    is_fast = any(one is True for one in (*rest, *options.values()))
    numerics = "default" if is_fast else "promoted"
    return _read_grouped_mm(result, a, b, offs, bias, numerics=numerics, scales=(scale_a, scale_b))


def _read_scaled_grouped_mm_v2(
    result, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, *rest, **options
):
    if len(scale_a) != 1 or len(scale_b) != 1:
        return None
    return _read_scaled_grouped_mm(result, a, b, scale_a[0], scale_b[0], *rest, **options)


READERS: dict[Any, Callable[..., Problem | None]] = {
    ATEN.mm: _read_mm,
    ATEN.bmm: _read_mm,
    ATEN._int_mm: _read_mm,
    ATEN.addmm: _read_addmm,
    ATEN.baddbmm: _read_baddbmm,
    ATEN.linear: _read_linear,
    ATEN._scaled_mm: _read_scaled_mm,
    ATEN._scaled_mm_v2: _read_scaled_mm_v2,
    ATEN._grouped_mm: _read_grouped_mm,
    ATEN._scaled_grouped_mm: _read_scaled_grouped_mm,
    ATEN._scaled_grouped_mm_v2: _read_scaled_grouped_mm_v2,
    OPS.mm: _read_mm,
    OPS.bmm: _read_mm,
    OPS.addmm: _read_addmm,
    OPS.linear: _read_linear,
    OPS.tuned_linear: _read_tuned_linear,
    OPS.scaled_mm: _read_own_scaled_mm,
    OPS.grouped_mm: _read_grouped_mm,
    OPS.scaled_grouped_mm: _read_scaled_grouped_mm,
}

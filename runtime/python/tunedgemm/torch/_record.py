"""record: notes the problems of a running program, for tune-all or for tuning at once."""

from __future__ import annotations

import collections
import contextlib
import csv
import dataclasses
import math
import os
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from .. import _core, _products
from .._core import Context, Plan
from .._placeholders import Placeholder
from .._prepare import prepare
from .._products import Policy
from .._progress import Progress
from ._operators import LIBRARY, are_plain

ATEN, OPS = torch.ops.aten, torch.ops.tunedgemm
TYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "e4m3",
    torch.float8_e5m2: "e5m2",
    torch.int8: "s8",
    torch.int32: "s32",
}
INPUTS = TYPES.keys() - {torch.int32}
COLUMNS = (
    "name",
    "types",
    "layout",
    "m",
    "n",
    "k",
    "batch",
    "lda",
    "ldb",
    "batch_stride_a",
    "batch_stride_b",
    "activation",
    "bias",
    "numerics",
)


@dataclasses.dataclass(frozen=True)
class Product:
    """A problem, as the library tunes it. Leading dimensions and batch strides are in elements."""

    device: torch.device
    type_a: torch.dtype
    type_b: torch.dtype
    type_d: torch.dtype
    m: int
    n: int
    k: int
    batch: int
    layout: str  # "nt": A is row-major, B is transposed, that is column-major
    lda: int
    ldb: int
    batch_stride_a: int  # 0: one matrix for the whole batch, or no batch
    batch_stride_b: int
    activation: str = "none"
    bias: bool = False  # a value per column
    numerics: str = "default"

    @property
    def types(self) -> str:
        """The element types, as in shape lists: "bf16", "e4m3xe5m2->bf16"."""
        a, b, d = (TYPES[one] for one in (self.type_a, self.type_b, self.type_d))
        return (a if a == b else f"{a}x{b}") + (
            "" if _name(self.type_d) == _core.result_type(self.type_a) else f"->{d}"
        )

    def cells(self, name: str = "") -> list[str]:
        """The cells of its line in a shape list, by COLUMNS."""
        bias = "col" if self.bias else "none"
        numerics = "" if self.numerics == "default" else self.numerics
        strides = [self.batch_stride_a, self.batch_stride_b] if self.batch > 1 else ["", ""]
        return [
            str(cell)
            for cell in (
                name,
                self.types,
                self.layout,
                self.m,
                self.n,
                self.k,
                self.batch,
                self.lda,
                self.ldb,
                *strides,
                self.activation,
                bias,
                numerics,
            )
        ]

    def arguments(self) -> dict[str, Any]:
        """The arguments of tunedgemm.plan() for this problem, with placeholders for tensors."""
        device = "host" if self.device.type == "cpu" else f"cuda:{self.device.index}"

        def matrix(dtype, rows, columns, order="n", leading_dimension=None, batch_stride=None):
            strides = (leading_dimension or columns, 1) if order == "n" else (1, leading_dimension)
            if self.batch == 1:
                return Placeholder((rows, columns), _name(dtype), device, strides=strides)
            batch_stride = rows * columns if batch_stride is None else batch_stride
            return Placeholder(
                (self.batch, rows, columns), _name(dtype), device, strides=(batch_stride, *strides)
            )

        return {
            "a": matrix(self.type_a, self.m, self.k, self.layout[0], self.lda, self.batch_stride_a),
            "b": matrix(self.type_b, self.k, self.n, self.layout[1], self.ldb, self.batch_stride_b),
            "out": matrix(self.type_d, self.m, self.n),
            "bias": Placeholder((self.n,), _name(self.type_d), device) if self.bias else None,
            "activation": self.activation,
            "numerics": self.numerics,
        }

    def plan(self, policy: Policy = "tune", context: Context | None = None) -> Plan:
        """Makes the problem's tunedgemm.Plan without tensors. See tunedgemm.plan."""
        return _products.plan(**self.arguments(), policy=policy, context=context)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Shapes(collections.Counter[Product]):
    """Counts the calls of each recorded problem, a Product."""

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a list of shapes (CSV) for tune-all; the column `name` has the number of calls."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(COLUMNS)
            lines.writerows(
                product.cells(f"{count} calls") for product, count in self.most_common()
            )

    def tune(
        self, progress: Progress = True, policy: Policy = "tune", context: Context | None = None
    ) -> None:
        """Makes a plan for each problem in this process, the most frequent first; by default,
        problems without a winner are tuned.

        progress, policy, context: as for tunedgemm.prepare. The operators find the winners in the
            cache file, whichever context tuned them."""
        prepare(
            [product.arguments() for product, _ in self.most_common()],
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

    It sees mm, addmm, bmm, baddbmm, linear, matmul, _int_mm and _scaled_mm with scalar scales, also
    as parts of other functions, if the library supports their element types. It does not see inside
    fused kernels, such as flash attention, nor in regions that torch.compile has compiled: record
    the model before. PyTorch splits some linear layers into a product and a sum; record a patched
    model (tunedgemm.torch.patch) to note its layers whole. The `with` block gives Shapes, a
    Counter."""
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
            product = read(result, *args, **kwargs)
            if product is not None:
                self.shapes[product] += 1
        return result


def _if_served(input, weight, bias=None, policy="fail"):
    """PyTorch computes patched layers under modes and with subclasses of tensors, but a recorder
    sees them whole."""
    if isinstance(_get_current_dispatch_mode(), _Recorder) and are_plain(input, weight, bias):
        return OPS.tuned_linear.no_grad(input, weight, bias, policy)
    return None


LIBRARY.impl(OPS.tuned_linear.if_served, _if_served, "Python")


def _layout(x):
    """The letter, leading dimension and batch stride of a matrix or batch, or of a contiguous copy
    if it has no layout."""
    rows, columns = x.shape[-2:]
    batch_stride = x.stride(0) if x.dim() == 3 and x.shape[0] > 1 else 0
    layout: Any = _core.layout_of(rows, columns, *x.stride()[-2:])
    if layout is None:
        return "n", max(columns, 1), rows * columns if batch_stride else 0
    order, leading_dimension = layout
    return order, leading_dimension or max(columns if order == "n" else rows, 1), batch_stride


def _product(result, a, b, **options):
    m, k = a.shape[-2:]
    batch, n = math.prod(a.shape[:-2]), b.shape[-1]
    is_known = (
        a.dtype in INPUTS
        and b.dtype in INPUTS
        and result.dtype in TYPES
        and result.dtype.itemsize >= 2
    )
    if 0 in (m, n, batch) or not is_known:
        return None
    (layout_a, lda, batch_stride_a), (layout_b, ldb, batch_stride_b) = _layout(a), _layout(b)
    return Product(
        a.device,
        a.dtype,
        b.dtype,
        result.dtype,
        m,
        n,
        k,
        batch,
        layout_a + layout_b,
        lda,
        ldb,
        batch_stride_a,
        batch_stride_b,
        **options,
    )


def _read_mm(result, a, b, *rest, **options):
    return _product(result, a, b)


def _read_addmm(result, input, a, b, *, beta=1, alpha=1, activation="none", **options):
    is_bias = beta == 1 and input.dim() > 0 and input.numel() == input.shape[-1] == b.shape[-1]
    return _product(result, a, b, activation=activation, bias=is_bias)


def _read_baddbmm(result, input, a, b, **options):
    return _product(result, a, b)


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
    product = _product(result, rows, weight.t(), activation=activation, bias=bias is not None)
    return product and dataclasses.replace(product, device=input.device)


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
    if scale_a.numel() != 1 or scale_b.numel() != 1:
        return None
    return _product(
        result, a, b, bias=bias is not None, numerics="default" if use_fast_accum else "promoted"
    )


def _read_own_scaled_mm(
    result, a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=True, *, out=None
):
    return _read_scaled_mm(result, a, b, scale_a, scale_b, bias, use_fast_accum=use_fast_accum)


READERS: dict[Any, Callable[..., Product | None]] = {
    ATEN.mm: _read_mm,
    ATEN.bmm: _read_mm,
    ATEN._int_mm: _read_mm,
    ATEN.addmm: _read_addmm,
    ATEN.baddbmm: _read_baddbmm,
    ATEN.linear: _read_linear,
    ATEN._scaled_mm: _read_scaled_mm,
    OPS.mm: _read_mm,
    OPS.bmm: _read_mm,
    OPS.addmm: _read_addmm,
    OPS.linear: _read_linear,
    OPS.tuned_linear: _read_tuned_linear,
    OPS.scaled_mm: _read_own_scaled_mm,
}

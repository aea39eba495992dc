"""Arrays without memory, on any device: plan() needs no more of an array. Their address is null,
which the library accepts for plans and takes as well aligned."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from . import _core

CPU, CUDA = 1, 2  # DLPack's types of devices


class _Tensor(ctypes.Structure):
    """DLManagedTensor of dlpack.h. The placeholder owns it, so it has no deleter."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = (
    ctypes.py_object,
    (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
)


def _packed(shape: tuple[int, ...], transposed: bool) -> tuple[int, ...]:
    extents = (*shape[:-2], *reversed(shape[-2:])) if transposed else shape
    strides = tuple(math.prod(extents[i + 1 :]) for i in range(len(extents)))
    return (*strides[:-2], *reversed(strides[-2:])) if transposed else strides


class Placeholder:
    """An array of a shape, type and device. `transposed`: the elements of a column are consecutive.
    strides: in elements; None: a packed array. It must outlive the readers of its DLPack."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: str,
        device: str = "host",
        transposed: bool = False,
        strides: tuple[int, ...] | None = None,
    ):
        self.shape, self.dtype, self.ndim = tuple(shape), dtype, len(shape)
        strides = _packed(self.shape, transposed) if strides is None else strides
        kind, _, number = device.partition(":")
        if kind not in ("host", "cuda") or not (number or "0").isdigit():
            raise ValueError(f"device is {device!r}; write 'host', 'cuda' or 'cuda:1'")
        numbers = ctypes.c_int64 * self.ndim
        self._tensor = _Tensor(
            None,
            CPU if kind == "host" else CUDA,
            int(number or "0"),
            self.ndim,
            *_core.dlpack_type(dtype),
            1,
            numbers(*shape),
            numbers(*strides),
            0,
            None,
            None,
        )

    def __dlpack__(self, **_: Any) -> Any:
        return _new_capsule(ctypes.addressof(self._tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.device_type, self._tensor.device_id

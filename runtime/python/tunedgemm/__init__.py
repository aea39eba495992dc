"""Matrix multiplication by a kernel tuned for each shape, on NVIDIA GPUs and CPUs.

import numpy, tunedgemm
a, b = numpy.random.rand(512, 256).astype("float32"), numpy.random.rand(256, 384).astype("float32")
d = tunedgemm.matmul(a, b, activation="relu")  # the first call tunes this shape
"""

import atexit

from . import _core, _nvrtc, cache
from ._core import Context, __version__
from ._errors import (
    DeviceFailedError,
    Error,
    InternalError,
    InvalidArgumentError,
    NoDeviceError,
    NotTunedError,
    OutOfMemoryError,
    UnsupportedError,
)
from ._plan_info import PlanInfo
from ._prepare import prepare, tune_all
from ._products import Plan, matmul, plan

__all__ = [
    "Context",
    "DeviceFailedError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "NoDeviceError",
    "NotTunedError",
    "OutOfMemoryError",
    "Plan",
    "PlanInfo",
    "UnsupportedError",
    "__version__",
    "cache",
    "matmul",
    "plan",
    "prepare",
    "tune_all",
]

_nvrtc.hand_over()
atexit.register(_core._close_default_contexts, for_good=True)

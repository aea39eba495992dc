"""Matrix multiplication by a kernel tuned for each shape, on NVIDIA GPUs and CPUs.

    import numpy, tunedgemm
    a, b = numpy.ones((512, 256), "float32"), numpy.ones((256, 384), "float32")
    d = tunedgemm.matmul(a, b, activation="relu")

The first call tunes this shape.
"""

import atexit

from . import _core, _nvrtc, cache
from ._core import Context, Plan, __version__
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
from ._matmul import grouped_matmul, matmul, plan
from ._plan_info import PlanInfo
from ._prepare import prepare, tune_all

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
    "grouped_matmul",
    "matmul",
    "plan",
    "prepare",
    "tune_all",
]

_nvrtc.hand_over()
atexit.register(_core._close_default_contexts, for_good=True)

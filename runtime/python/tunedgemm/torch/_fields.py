"""Fields of the products of all operators, in the whole process."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .. import _core

FIELDS: dict[str, Any] = {"invariant": False, "sm_limit": 0}
_CARVEOUT_SETTER = "_set_sm_carveout_experimental"


class _Carveout:
    is_followed = True


_carveout = _Carveout()


def set_invariant(invariant: bool) -> None:
    """Whether the rows that operators compute have the same bits for every M, in every place; see
    tunedgemm.matmul(). Holds for the calls that begin later, on all threads."""
    _set(invariant=invariant)


def set_sm_limit(limit: int | None) -> None:
    """The SMs that operators may use; 0: all. None, the default: those of the current device
    without the ones that PyTorch leaves to others (torch._C._set_sm_carveout_experimental). Holds
    for the calls that begin later, on all threads."""
    _carveout.is_followed = limit is None
    if limit is None:
        _read_carveout()
    else:
        _set(sm_limit=limit)


def _set(**changed: Any) -> None:
    _core._set_torch_fields(**{**FIELDS, **changed})
    FIELDS.update(changed)


def _read_carveout() -> None:
    carveout = torch._C._get_sm_carveout_experimental()
    if not carveout or not torch.cuda.is_available():
        _set(sm_limit=0)
    else:
        _set(sm_limit=torch.cuda.get_device_properties().multi_processor_count - carveout)


def follow_carveout() -> None:
    """Lets PyTorch's setter of the carve-out set the limit too, unless set_sm_limit has set it: to
    read the carve-out in each call would cost time."""
    original = getattr(torch._C, _CARVEOUT_SETTER)

    @functools.wraps(original)
    def set_carveout(sms: int | None) -> None:
        original(sms)
        if _carveout.is_followed:
            _read_carveout()

    setattr(torch._C, _CARVEOUT_SETTER, set_carveout)
    set_sm_limit(None)

"""Fields of the products of all operators, in the whole process."""

from __future__ import annotations

from typing import Any

import torch

from .. import _core

FIELDS: dict[str, Any] = {"invariant": False, "sm_limit": 0}


def set_invariant(invariant: bool) -> None:
    """Whether the rows that operators compute have the same bits for every M, in every place; see
    tunedgemm.matmul(). Holds for the calls that begin later, on all threads."""
    _set(invariant=invariant)


def set_sm_limit(limit: int | None) -> None:
    """The SMs that operators may use; 0: all. None: those of the current device without the ones
    that PyTorch leaves to others (torch._C._set_sm_carveout_experimental). Holds for the calls that
    begin later, on all threads."""
    if limit is None:
        carveout = torch._C._get_sm_carveout_experimental()
        sms = torch.cuda.get_device_properties().multi_processor_count if carveout else 0
        limit = sms - (carveout or 0)
    _set(sm_limit=limit)


def _set(**changed: Any) -> None:
    _core._set_torch_fields(**{**FIELDS, **changed})
    FIELDS.update(changed)

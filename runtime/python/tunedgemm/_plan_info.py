"""The type of Plan.info."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any


@dataclasses.dataclass(frozen=True)
class PlanInfo:
    """The kernel that a plan runs now, and its tuning. None means unknown; tuning fields are None
    unless this kernel is the problem's winner."""

    origin: str
    """nothing (no kernel, since the result has no elements), tuned, stale (tuned with another
    compiler or driver), other_m (tuned for another M), other_device (tuned on a similar device),
    nearest (tuned for the most similar problem), model (chosen by the cost model) or linked_in (the
    kernel in the library, which needs no compiler)."""
    median_us: float | None
    """The kernel's median time in microseconds, when it was tuned."""
    low_us: float | None
    """The 20th percentile of these times."""
    high_us: float | None
    """The 80th percentile of these times."""
    default_us: float | None
    """The untuned default's time."""
    naive_us: float | None
    """The naive kernel's time."""
    expected_loss: float | None
    """The expected share of time that a tuned winner would save; 0 for nothing and tuned."""
    expected_us: float | None
    """The expected time, for other_m."""
    tuned_m: int | None
    """The M that the kernel was tuned for, for other_m."""
    workspace_bytes: int
    """The workspace that a launch can use."""
    candidates: int | None
    """How many candidates the tuning tried."""
    spent_seconds: float | None
    """How long the tuning took."""
    tuned_at: datetime.datetime | None
    """When the tuning ended, in UTC."""
    tuned_with: str | None
    """The compiler."""
    vendor_us: float | None
    """The time of the vendor library's own call, comparable with median_us; None if not compared
    (tune-all --against)."""
    vendor: str | None
    """That library and its version, such as "cuBLASLt 13.1.0"."""


def plan_info(
    origin: str, expected_loss: float, workspace_bytes: int, tuned_at: int, **numbers: Any
) -> PlanInfo:
    """A tunedgemm_plan_info in Python, where None takes the place of 0 and ""."""
    at = datetime.datetime.fromtimestamp(tuned_at, datetime.timezone.utc) if tuned_at else None
    return PlanInfo(
        origin=origin,
        expected_loss=None if expected_loss < 0 else expected_loss,
        workspace_bytes=workspace_bytes,
        tuned_at=at,
        **{name: value or None for name, value in numbers.items()},
    )

"""What Plan.info tells."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Optional

# By the numbers of tunedgemm_plan_origin.
_ORIGINS = ("nothing", "tuned", "stale", "other_m", "other_device", "nearest", "model", "linked_in")


@dataclasses.dataclass(frozen=True)
class PlanInfo:
    """The kernel that a plan runs now, and its tuning. None stands for what is not known; of a
    kernel that is not the product's winner, nothing is known of a tuning."""

    origin: str
    """nothing (there is no kernel: the product has no elements), tuned, stale (tuned with another
    compiler or driver), other_m (tuned for another M), other_device (tuned on a similar device),
    nearest (of the most similar tuned product), model (the cost model's choice) or linked_in (the
    kernel in the library, which needs no compiler)."""
    median_us: Optional[float]
    """The kernel's median time in microseconds, when it was tuned."""
    low_us: Optional[float]
    """The 20th percentile of these times."""
    high_us: Optional[float]
    """The 80th percentile of these times."""
    default_us: Optional[float]
    """The untuned default's time."""
    naive_us: Optional[float]
    """The naive kernel's time."""
    expected_loss: Optional[float]
    """The share of time by which the kernel is expected to take longer than a tuning's winner
    would; 0 of nothing and tuned."""
    expected_us: Optional[float]
    """Of other_m: the time that is expected."""
    tuned_m: Optional[int]
    """Of other_m: the M that the kernel was tuned for."""
    workspace_bytes: int
    """The workspace that a launch can use."""
    candidates: Optional[int]
    """How many candidates the tuning tried."""
    spent_seconds: Optional[float]
    """How long the tuning took."""
    tuned_at: Optional[datetime.datetime]
    """When the tuning ended, in UTC."""
    tuned_with: Optional[str]
    """The compiler."""


def plan_info(
    origin: int, expected_loss: float, workspace_bytes: int, tuned_at: int, **numbers: float
) -> PlanInfo:
    """A tunedgemm_plan_info as Python tells it: 0 and "" mean that something is not known."""
    at = datetime.datetime.fromtimestamp(tuned_at, datetime.timezone.utc) if tuned_at else None
    return PlanInfo(
        origin=_ORIGINS[origin],
        expected_loss=None if expected_loss < 0 else expected_loss,
        workspace_bytes=workspace_bytes,
        tuned_at=at,
        **{name: value or None for name, value in numbers.items()},
    )

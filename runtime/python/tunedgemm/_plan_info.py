"""What Plan.info tells."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

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
    """The share of time by which the kernel is expected to take longer than a tuning's winner
    would; 0 of nothing and tuned."""
    expected_us: float | None
    """Of other_m: the time that is expected."""
    tuned_m: int | None
    """Of other_m: the M that the kernel was tuned for."""
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


def plan_info(
    origin: int, expected_loss: float, workspace_bytes: int, tuned_at: int, **numbers: Any
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

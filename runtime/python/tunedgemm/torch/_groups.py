"""ranges_of_rows: the groups of grouped_matmul from the expert of each row."""

from __future__ import annotations

import torch


def ranges_of_rows(expert_of_row: torch.Tensor, groups: int) -> torch.Tensor:
    """The `ranges` of tunedgemm.grouped_matmul(), int32 (groups, 2), of rows that name their group,
    as DeepGEMM's contiguous layout has them. One call serves all products of the same routing.

    expert_of_row: int32 or int64, (M,): the group of each row, from 0 to groups - 1, or -1 for a
        row that belongs to none, which the products do not write. The rows of a group are adjacent;
        a group without rows has an empty range.

    Nothing waits for the device or reads its numbers, so a CUDA graph may capture the call, and
    torch.compile may trace it."""
    if expert_of_row.dim() != 1 or expert_of_row.dtype not in (torch.int32, torch.int64):
        raise ValueError(
            f"expert_of_row has the shape {tuple(expert_of_row.shape)} and elements of "
            f"{expert_of_row.dtype}; give a vector of int32 or int64"
        )
    count, device = expert_of_row.shape[0], expert_of_row.device
    rows = torch.arange(count, dtype=torch.int32, device=device)
    group = expert_of_row.long() + 1  # rows of none are the first group, which is left out
    begins, ends = (
        torch.full((groups + 1,), initial, dtype=torch.int32, device=device).scatter_reduce(
            0, group, numbers, reduction
        )
        for initial, numbers, reduction in ((count, rows, "amin"), (0, rows + 1, "amax"))
    )
    return torch.stack((torch.minimum(begins, ends), ends), 1)[1:]

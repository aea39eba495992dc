// The rows and the depth of a batch index, for GPU and CPU kernels: M and K, or a group's part.
#pragma once

#include "../../problem/grouping.h"
#include "arguments.cuh"
#include "host_device.cuh"

using namespace tunedgemm::internal;

#ifndef GROUP_KIND
#define GROUP_KIND 0  // a number of problem/grouping.h
#endif
constexpr GroupKind kGroupKind = static_cast<GroupKind>(GROUP_KIND);
constexpr bool kGroupsRows = groups_rows(kGroupKind);
constexpr bool kGroupsDepth = kGroupKind == GroupKind::kDepth;

// The rows of op(A), C and D.
TUNEDGEMM_DEVICE_INLINE GroupRange rows_of(const Arguments& arguments, long long batch_index) {
  return rows_of_group(kGroupKind, arguments.groups, batch_index, arguments.m);
}
// The columns of op(A) and rows of op(B).
TUNEDGEMM_DEVICE_INLINE GroupRange depth_of(const Arguments& arguments, long long batch_index) {
  return depth_of_group(kGroupKind, arguments.groups, batch_index, arguments.k);
}

// The rows of D of all batch indices, counted together, and the position of one of them. A row that
// belongs to no group has batch index -1.
struct BatchRow {
  long long batch_index, m;
};
TUNEDGEMM_DEVICE_INLINE long long batch_rows(const Arguments& arguments) {
  return shares_rows(kGroupKind) ? arguments.m : arguments.batch * arguments.m;
}
TUNEDGEMM_DEVICE_INLINE BatchRow batch_row(const Arguments& arguments, long long row) {
  if constexpr (shares_rows(kGroupKind)) {
    for (long long group = 0; group < arguments.batch; ++group) {
      const GroupRange rows = rows_of(arguments, group);
      if (row >= rows.begin && row < rows.end) {
        return {group, row};
      }
    }
    return {-1, row};
  }
  const BatchRow position{row / arguments.m, row % arguments.m};
  const bool exists = position.m < rows_of(arguments, position.batch_index).end;
  return {exists ? position.batch_index : -1, position.m};
}

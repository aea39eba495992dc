#pragma once

// The tables of best and show, which report has, too.

#include <vector>

#include "cache/store.h"
#include "tools/shared/table.h"

namespace tunedgemm::internal {

/// The columns are in the order of their importance.
Table winner_table(const std::vector<WinnerWithState>& winners);

using ViewRow = std::vector<Cell>;
/// The first column with long texts comes last and is wrapped.
Table view_table(const CacheView& view, const std::vector<ViewRow>& rows);

}  // namespace tunedgemm::internal

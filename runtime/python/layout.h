#pragma once

// How a matrix with strides is passed to the C interface.

#include <cstdint>
#include <optional>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

struct Layout {
  tunedgemm_order order = TUNEDGEMM_ORDER_ROW_MAJOR;
  std::int64_t leading_dimension = 0;
};

/// None if neither the elements of a row nor those of a column are consecutive, or if rows or
/// columns overlap. Strides are in elements; that of an extent of 1 means nothing.
inline std::optional<Layout> layout_of(std::int64_t rows, std::int64_t columns,
                                       std::int64_t row_stride, std::int64_t column_stride) {
  const bool has_rows = rows > 1, has_columns = columns > 1;
  if ((!has_columns || column_stride == 1) && (!has_rows || row_stride >= columns)) {
    return Layout{TUNEDGEMM_ORDER_ROW_MAJOR, has_rows ? row_stride : 0};
  }
  if ((!has_rows || row_stride == 1) && (!has_columns || column_stride >= rows)) {
    return Layout{TUNEDGEMM_ORDER_COLUMN_MAJOR, has_columns ? column_stride : 0};
  }
  return std::nullopt;
}

}  // namespace tunedgemm::python

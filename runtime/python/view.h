#pragma once

// View: an array of numpy, PyTorch, JAX or another library, as a call reads or writes it.

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// The device of calls on the host, where others have the ordinal of their GPU.
constexpr int kHost = -1;

/// Throws std::invalid_argument: a ValueError of Python, or a RuntimeError of PyTorch.
[[noreturn]] inline void refuse(const std::string& why) {
  throw std::invalid_argument(why);
}

/// "(4, 3)"
inline std::string shape_text(std::span<const std::int64_t> sizes) {
  std::string text = "(";
  for (const std::int64_t size : sizes) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + ")";
}

/// A number, a vector, a matrix or a batch of matrices. Owns nothing.
struct View {
  static constexpr int kMostDimensions = 8;

  std::string_view name;  ///< of the argument, in messages
  void* data = nullptr;
  int dimensions = 0;
  std::array<std::int64_t, kMostDimensions> sizes, strides;  ///< strides in elements
  tunedgemm_type type = TUNEDGEMM_TYPE_F32;
  int device = kHost;  ///< as for default_context()

  std::int64_t size(int dimension) const { return sizes[static_cast<std::size_t>(dimension)]; }
  std::int64_t stride(int dimension) const { return strides[static_cast<std::size_t>(dimension)]; }
  std::int64_t elements() const {
    return std::accumulate(sizes.begin(), sizes.begin() + dimensions, std::int64_t{1},
                           std::multiplies<>());
  }
  std::string shape() const {
    return shape_text(std::span(sizes).first(static_cast<std::size_t>(dimensions)));
  }

  // Precondition: the view is a matrix or a batch of matrices.
  std::int64_t rows() const { return size(dimensions - 2); }
  std::int64_t columns() const { return size(dimensions - 1); }
};

struct Layout {
  tunedgemm_order order = TUNEDGEMM_ORDER_ROW_MAJOR;
  std::int64_t leading_dimension = 0;  ///< 0 for a packed matrix
};

/// How the C interface describes the matrices of a view. None if neither the elements of a row nor
/// those of a column are consecutive, or if rows or columns overlap. The stride of an extent of 1
/// means nothing, and an empty matrix has any layout.
inline std::optional<Layout> layout_of(const View& view) {
  const std::int64_t rows = view.rows(), columns = view.columns();
  const std::int64_t row_stride = view.stride(view.dimensions - 2);
  const std::int64_t column_stride = view.stride(view.dimensions - 1);
  const bool has_rows = rows > 1, has_columns = columns > 1;
  if ((!has_columns || column_stride == 1) && (!has_rows || row_stride >= columns)) {
    return Layout{TUNEDGEMM_ORDER_ROW_MAJOR, has_rows && row_stride != columns ? row_stride : 0};
  }
  if ((!has_rows || row_stride == 1) && (!has_columns || column_stride >= rows)) {
    return Layout{TUNEDGEMM_ORDER_COLUMN_MAJOR,
                  has_columns && column_stride != rows ? column_stride : 0};
  }
  return view.elements() == 0 ? std::optional(Layout{}) : std::nullopt;
}

}  // namespace tunedgemm::python

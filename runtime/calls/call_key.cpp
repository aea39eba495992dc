#include "runtime/calls/call_key.h"

#include <algorithm>
#include <limits>

namespace tunedgemm::internal {

Matrix completed(Matrix given, std::int64_t rows, std::int64_t columns, std::int64_t batch,
                 std::uint32_t pointer_alignment) {
  const bool row_major = given.order == Order::kRowMajor;
  Matrix matrix = given;
  if (given.leading_dimension == 0) {
    matrix.leading_dimension = std::max<std::int64_t>(row_major ? columns : rows, 1);
  }
  if (given.batch_stride == TUNEDGEMM_BROADCAST) {
    matrix.batch_stride = 0;
  } else if (given.batch_stride == 0 && batch > 1 &&
             __builtin_mul_overflow(row_major ? rows : columns, matrix.leading_dimension,
                                    &matrix.batch_stride)) {
    matrix.batch_stride = std::numeric_limits<std::int64_t>::max();  // why_not refuses it
  }
  matrix.alignment_bytes = alignment_class(pointer_alignment, matrix, batch);
  return matrix;
}

}  // namespace tunedgemm::internal

#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>

#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/wgmma/shape.h"

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kCopyAlignment = 256;  // of the copies in the workspace
constexpr double kSecondLaunchUs = 1.25;      // a second kernel, for which the main kernel waits

// The rows of an operand in memory, or the columns if it is column-major.
struct Rows {
  std::int64_t length, count, entries, pitch_bytes;
  double bytes() const {
    return static_cast<double>(count) * static_cast<double>(entries) *
           static_cast<double>(pitch_bytes);
  }
};

bool is_padded(const Matrix& matrix) {
  return matrix.alignment_bytes < wgmma::kTmaAlignment;
}

Rows rows_of(const Matrix& matrix, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  const bool by_rows = matrix.order == Order::kRowMajor;
  const std::int64_t length = by_rows ? columns : rows;
  return {length, by_rows ? rows : columns, matrix.batch_stride == 0 ? 1 : batch,
          round_up(length * size_bytes(matrix.type), wgmma::kSwizzleBytes)};
}
Rows rows_of_a(const Problem& problem) {
  return rows_of(problem.a, problem.m, problem.k, problem.batch);
}
Rows rows_of_b(const Problem& problem) {
  return rows_of(problem.b, problem.k, problem.n, problem.batch);
}

Matrix copy_of(const Matrix& matrix, const Rows& rows) {
  Matrix copy = matrix;
  if (is_padded(matrix)) {
    copy.leading_dimension = rows.pitch_bytes / size_bytes(matrix.type);
    copy.batch_stride = matrix.batch_stride == 0 ? 0 : rows.count * copy.leading_dimension;
    copy.alignment_bytes = wgmma::kTmaAlignment;
  }
  return copy;
}

double bytes_of_copies(const Problem& problem) {
  return (is_padded(problem.a) ? rows_of_a(problem).bytes() : 0) +
         (is_padded(problem.b) ? rows_of_b(problem).bytes() : 0);
}

}  // namespace

bool needs_padding(const Problem& problem) {
  return is_padded(problem.a) || is_padded(problem.b);
}

Problem padded(const Problem& problem) {
  Problem in_copies = problem;
  in_copies.a = copy_of(problem.a, rows_of_a(problem));
  in_copies.b = copy_of(problem.b, rows_of_b(problem));
  return in_copies;
}

std::string why_not_padding(const Problem& problem, const DeviceLimits& limits) {
  const double bytes = bytes_of_copies(problem);
  if (bytes <= static_cast<double>(limits.memory_bytes) / 4) {
    return "";
  }
  return "rows that are not aligned to " + std::to_string(wgmma::kTmaAlignment) +
         " bytes must be copied to a workspace, and its " + std::to_string(bytes) +
         " bytes exceed a quarter of the device's memory";
}

OperandPadding operand_padding(const Problem& problem, std::int64_t begin) {
  OperandPadding padding{};
  if (!needs_padding(problem)) {
    return padding;
  }
  std::int64_t at = round_up(begin, kCopyAlignment);
  if (is_padded(problem.a)) {
    const Rows rows = rows_of_a(problem);
    padding.offset_a = at;
    padding.pitch_a = rows.pitch_bytes;
    at = round_up(at + rows.count * rows.entries * rows.pitch_bytes, kCopyAlignment);
  }
  if (is_padded(problem.b)) {
    padding.offset_b = at;
    padding.pitch_b = rows_of_b(problem).pitch_bytes;
  }
  return padding;
}

std::uint32_t padding_grid(const Problem& problem, const DeviceLimits& limits) {
  const double chunks = bytes_of_copies(problem) / 16;
  const double most = kPaddingBlocksOfSm * std::max(limits.sm_count, 1);
  return static_cast<std::uint32_t>(ctas_for(
      static_cast<std::int64_t>(std::clamp(chunks / kPaddingThreads + 1, 1.0, most)), limits));
}

std::int64_t padding_end(const Problem& problem, std::int64_t begin) {
  if (!needs_padding(problem)) {
    return begin;
  }
  return round_up(begin, kCopyAlignment) + kCopyAlignment +
         static_cast<std::int64_t>(bytes_of_copies(problem));
}

double padding_us(const Problem& problem, const DeviceLimits& limits) {
  return needs_padding(problem) ? kSecondLaunchUs + memory_us(2 * bytes_of_copies(problem), limits)
                                : 0;
}

}  // namespace tunedgemm::internal

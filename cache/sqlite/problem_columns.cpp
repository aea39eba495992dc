#include "cache/sqlite/schema.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernel_templates/problem/problem_fields.h"

namespace tunedgemm::internal {
namespace {

struct ShapedMatrix {
  const char* letter;
  const Matrix& matrix;
  std::int64_t rows, columns;
};

// The alignment that the leading dimension allows if the matrix starts at a 16-byte boundary.
std::int64_t natural_alignment(const Matrix& matrix) {
  const std::int64_t stride_bytes = matrix.leading_dimension * size_bytes(matrix.type);
  std::int64_t alignment = 16;
  while (stride_bytes % alignment != 0) {
    alignment /= 2;
  }
  return alignment;
}

std::string details_of(const ShapedMatrix& shaped, std::int64_t batch) {
  const auto& [letter, matrix, rows, columns] = shaped;
  const bool row_major = matrix.order == Order::kRowMajor;
  const std::int64_t packed = row_major ? columns : rows;
  const std::int64_t vectors = row_major ? rows : columns;
  std::string text;
  if (matrix.leading_dimension != packed) {
    text += std::string(" ld") + letter + "=" + std::to_string(matrix.leading_dimension);
  }
  if (batch > 1 && matrix.batch_stride != matrix.leading_dimension * vectors) {
    text += std::string(" stride_") + letter + "=" + std::to_string(matrix.batch_stride);
  }
  if (matrix.alignment_bytes < natural_alignment(matrix)) {
    text += std::string(" align_") + letter + "=" + std::to_string(matrix.alignment_bytes);
  }
  return text;
}

std::vector<sqlite::Column> field_columns(const Problem& problem) {
  std::vector<sqlite::Column> columns;
  for (const ProblemField& field : problem_fields()) {
    const auto values = field.values(problem);
    for (std::size_t index = 0; index < values.size(); ++index) {
      if (!field.columns[index].empty()) {
        std::visit([&](const auto& value) { columns.emplace_back(field.columns[index], value); },
                   values[index]);
      }
    }
  }
  return columns;
}

}  // namespace

std::vector<sqlite::Column> problem_columns(const Problem& problem) {
  std::vector<sqlite::Column> columns = field_columns(problem);
  columns.emplace_back("types", types_text(problem));
  columns.emplace_back("layout", layout_text(problem));
  columns.emplace_back("epilogue", epilogue_text(problem));
  columns.emplace_back("details", details_text(problem));
  columns.emplace_back("flops", flops(problem));
  columns.emplace_back("minimum_bytes", minimum_bytes(problem));
  return columns;
}

std::string problem_column_definitions() {
  std::string text;
  for (const sqlite::Column& column : field_columns(Problem())) {
    const bool is_number = std::holds_alternative<std::int64_t>(column.value);
    text.append("  ").append(column.name).append(is_number ? " INTEGER" : " TEXT");
    text += " NOT NULL,\n";
  }
  return text;
}

std::string details_text(const Problem& problem) {
  const auto [m, n, k, batch] = std::array{problem.m, problem.n, problem.k, problem.batch};
  std::string text = details_of({"a", problem.a, m, k}, batch);
  text += details_of({"b", problem.b, k, n}, batch);
  if (problem.beta != ScalarClass::kZero && !problem.c_is_d) {
    text += details_of({"c", problem.c, m, n}, batch);
  }
  text += details_of({"d", problem.d, m, n}, batch);
  for (const ProblemField& field : problem_fields().subspan(kFieldsAlwaysWritten)) {
    const std::string value = field.text(problem);
    if (value != field.text(Problem())) {
      text.append(" ").append(field.name).append("=").append(value);
    }
  }
  return text.empty() ? text : text.substr(1);
}

}  // namespace tunedgemm::internal

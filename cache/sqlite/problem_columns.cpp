#include "cache/sqlite/problem_columns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernel_templates/problem/problem_fields.h"

namespace tunedgemm::internal {
namespace {

struct Placed {
  const char* letter;
  const Matrix& matrix;
  std::int64_t rows, columns;
};

// The alignment that the matrix would have at a 16-byte aligned address.
std::int64_t natural_alignment(const Matrix& matrix) {
  const std::int64_t stride_bytes = matrix.leading_dimension * size_bytes(matrix.type);
  std::int64_t alignment = 16;
  while (stride_bytes % alignment != 0) {
    alignment /= 2;
  }
  return alignment;
}

std::string details_of(const Placed& placed, std::int64_t batch) {
  const auto& [letter, matrix, rows, columns] = placed;
  const bool row_major = matrix.order == Order::kRowMajor;
  const std::int64_t packed = row_major ? columns : rows;
  const std::int64_t lines = row_major ? rows : columns;
  std::string text;
  if (matrix.leading_dimension != packed) {
    text += std::string(" ld") + letter + "=" + std::to_string(matrix.leading_dimension);
  }
  if (batch > 1 && matrix.batch_stride != matrix.leading_dimension * lines) {
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

// Of a usual problem, those that the table does not have.
std::vector<sqlite::Column> missing_columns(const sqlite::Connection& connection) {
  const std::vector<std::string> known = connection.column_names("problem");
  std::vector<sqlite::Column> missing = field_columns(Problem());
  std::erase_if(missing, [&](const sqlite::Column& column) {
    return std::find(known.begin(), known.end(), column.name) != known.end();
  });
  return missing;
}

// A new column, with the value of a usual problem in every row.
std::string definition(const sqlite::Column& usual) {
  const std::string name(usual.name);
  if (const auto* number = std::get_if<std::int64_t>(&usual.value)) {
    return name + " INTEGER NOT NULL DEFAULT " + std::to_string(*number);
  }
  return name + " TEXT NOT NULL DEFAULT '" + std::get<std::string>(usual.value) + "'";
}

// A row whose text has a field that is not known here is a newer library's, and is left alone.
void fill_from_texts(const sqlite::Connection& connection, const std::string& name) {
  sqlite::Statement rows(connection, "SELECT id, text FROM problem");
  sqlite::Statement update(connection, "UPDATE problem SET " + name + " = ? WHERE id = ?");
  std::int64_t id = 0;
  std::string text;
  while (rows.step()) {
    rows.read(id, text);
    if (const auto problem = parse_problem(text)) {
      const auto columns = field_columns(*problem);
      const auto column =
          std::find_if(columns.begin(), columns.end(),
                       [&](const sqlite::Column& each) { return each.name == name; });
      update.bind(column->value, id).run();
    }
  }
}

}  // namespace

std::vector<sqlite::Column> problem_columns(const Problem& canonical) {
  std::vector<sqlite::Column> columns = field_columns(canonical);
  columns.emplace_back("types", types_text(canonical));
  columns.emplace_back("layout", layout_text(canonical));
  columns.emplace_back("epilogue", epilogue_text(canonical));
  columns.emplace_back("details", details_text(canonical));
  columns.emplace_back("flops", flops(canonical));
  columns.emplace_back("minimum_bytes", minimum_bytes(canonical));
  return columns;
}

bool has_problem_columns(const sqlite::Connection& connection) {
  return missing_columns(connection).empty();
}

void add_problem_columns(sqlite::Connection& connection) {
  for (const sqlite::Column& usual : missing_columns(connection)) {
    connection.execute("ALTER TABLE problem ADD COLUMN " + definition(usual));
    fill_from_texts(connection, std::string(usual.name));
  }
}

std::string details_text(const Problem& canonical) {
  const auto [m, n, k, batch] = std::array{canonical.m, canonical.n, canonical.k, canonical.batch};
  std::string text = details_of({"a", canonical.a, m, k}, batch);
  text += details_of({"b", canonical.b, k, n}, batch);
  if (canonical.beta != ScalarClass::kZero && !canonical.c_is_d) {
    text += details_of({"c", canonical.c, m, n}, batch);
  }
  text += details_of({"d", canonical.d, m, n}, batch);
  if (canonical.regime == Regime::kWarm) {
    text += " warm";
  }
  for (const ProblemField& field : problem_fields().subspan(kFieldsAlwaysWritten)) {
    const std::string value = field.text(canonical);
    if (value != field.text(Problem())) {
      text.append(" ").append(field.name).append("=").append(value);
    }
  }
  return text.empty() ? text : text.substr(1);
}

}  // namespace tunedgemm::internal

#pragma once

// Results for other programs: as JSON, as CSV, and in files.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.h"
#include "tools/shared/shape.h"

namespace tunedgemm::internal {

using Json = nlohmann::ordered_json;

/// On one line, or with so many spaces for each level. A text from elsewhere need not be UTF-8: what
/// is none becomes U+FFFD.
std::string json_text(const Json& json, int indent = -1);
/// For each object a line, under a line with their names. Each has the same ones.
std::string csv_text(const std::vector<Json>& rows);
/// In quotes where it must be, and quotes inside doubled, as RFC 4180 has it.
std::string csv_cell(std::string_view text);

/// Throws std::runtime_error with a sentence.
void write_file(const std::string& path, const std::string& text);

/// The name, types, layout, epilogue and sizes: the first fields of a measured row.
Json to_json(const Shape& shape);
/// Every field by name, times in microseconds, types, layout and epilogue as the views spell them.
Json to_json(const Record& record);
Json to_json(const TrialRecord& trial);
/// An array of them.
template <class Row>
Json to_json(const std::vector<Row>& rows) {
  Json array = Json::array();
  for (const Row& row : rows) {
    array.push_back(to_json(row));
  }
  return array;
}

}  // namespace tunedgemm::internal

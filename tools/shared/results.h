#pragma once

// Results in JSON and CSV, for other programs.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.h"
#include "cache/store.h"
#include "tools/shared/named_problem.h"

namespace tunedgemm::internal {

using Json = nlohmann::ordered_json;

/// The text on one line, or indented by `indent` spaces per level. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const Json& json, int indent = -1);
/// A header line, then one line per object. Precondition: all objects have the same members.
std::string csv_text(const std::vector<Json>& rows);
/// The text as a cell, quoted if necessary, with inner quotes doubled (RFC 4180).
std::string csv_cell(std::string_view text);

/// The treatment of an existing file that is not empty. kReplaceResults replaces a file with the
/// same kind of results: its first line, or in JSON its text up to the first colon, is the same.
enum class IfThere { kRefuse, kReplaceResults };

/// Writes JSON or CSV. Throws std::runtime_error if the file cannot be written, or may not be
/// replaced. Devices and pipes are always written.
void write_file(const std::string& path, const std::string& text, IfThere if_there);

/// The name, types, layout, epilogue and sizes: the first fields of a measured row.
Json to_json(const NamedProblem& shape);
/// Every field by name. Times are in microseconds; types, layout and epilogue are as in the cache's
/// views.
Json to_json(const Record& record);
/// The record's fields after the name of its problem.
Json to_json(const WinnerWithState& winner);
Json to_json(const TrialRecord& trial);
template <class Row>
Json to_json(const std::vector<Row>& rows) {
  Json array = Json::array();
  for (const Row& row : rows) {
    array.push_back(to_json(row));
  }
  return array;
}

}  // namespace tunedgemm::internal

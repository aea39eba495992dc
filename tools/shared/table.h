#pragma once

// Table: rows of text in aligned columns.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace tunedgemm::internal {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

/// A plain value, used by one thread.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One text per column. Control characters and line breaks are escaped.
  void add(std::vector<std::string> row);
  std::size_t size() const { return rows_.size(); }

  /// The titles, then the rows. Columns are two spaces apart and as wide as their widest text;
  /// columns that are empty in every row are omitted.
  void print(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The number of characters of a UTF-8 text, all of which must be one column wide.
std::size_t display_width(std::string_view text);

}  // namespace tunedgemm::internal

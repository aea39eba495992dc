#include "tools/shared/table.h"

#include <algorithm>
#include <cassert>
#include <ostream>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {

void Table::add(std::vector<std::string> row) {
  assert(row.size() == columns_.size());
  for (std::string& text : row) {
    text = printable(text, Lines::kOne);
  }
  rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out) const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    titles.push_back(columns_[column].title);
    std::size_t width = display_width(titles.back());
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[column]));
    }
    widths.push_back(width);
  }
  const auto print_row = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - display_width(row[column]), ' ');
      const bool left = columns_[column].align == Align::kLeft;
      line += (column == 0 ? "" : "  ") + (left ? row[column] + padding : padding + row[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  print_row(titles);
  for (const auto& row : rows_) {
    print_row(row);
  }
}

void Table::print_without_empty_columns(std::ostream& out) const {
  std::vector<std::size_t> kept;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (std::any_of(rows_.begin(), rows_.end(),
                    [&](const auto& row) { return !row[column].empty(); })) {
      kept.push_back(column);
    }
  }
  Table table({});
  for (const std::size_t column : kept) {
    table.columns_.push_back(columns_[column]);
  }
  for (const auto& row : rows_) {
    std::vector<std::string>& cells = table.rows_.emplace_back();
    for (const std::size_t column : kept) {
      cells.push_back(row[column]);
    }
  }
  table.print(out);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

}  // namespace tunedgemm::internal

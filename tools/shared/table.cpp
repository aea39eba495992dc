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
    std::size_t width = 0;
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[column]));
    }
    titles.push_back(columns_[column].title);
    widths.push_back(width == 0 ? 0 : std::max(width, display_width(titles.back())));
  }
  const auto print_row = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (widths[column] > 0) {
        const std::string padding(widths[column] - display_width(row[column]), ' ');
        const bool left = columns_[column].align == Align::kLeft;
        line += (line.empty() ? "" : "  ") + (left ? row[column] + padding : padding + row[column]);
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  print_row(titles);
  for (const auto& row : rows_) {
    print_row(row);
  }
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

}  // namespace tunedgemm::internal

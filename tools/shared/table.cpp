#include "tools/shared/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <ostream>

#include "kernel_templates/base/text.h"
#include "tools/shared/colour.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kBetweenColumns = 2;
constexpr std::size_t kLeastWrapped = 20;

}  // namespace

void Table::add(std::vector<std::string> row) {
  assert(row.size() == columns_.size());
  for (std::string& text : row) {
    text = printable(text, Lines::kOne);
  }
  rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> all(columns_.size());
  std::iota(all.begin(), all.end(), 0);
  print_columns(out, all, kUnlimited);
}

void Table::print_fitting(std::ostream& out, std::size_t width) const {
  const std::size_t last = columns_.size() - 1;
  const bool wraps = columns_[last].too_wide == TooWide::kWrap && width_of(last) > 0;
  const std::size_t kept = wraps ? std::min(width_of(last), width / 2) + kBetweenColumns : 0;
  std::string heading;
  std::vector<std::size_t> fitting;
  std::size_t used = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const std::size_t needed = width_of(column);
    if (needed == 0) {
      continue;
    }
    if (is_heading(column)) {
      heading += (heading.empty() ? "" : "; ") + columns_[column].title + ": " + rows_[0][column];
    } else if (wraps && column == last) {
      fitting.push_back(column);
    } else if (used == 0 || used + kBetweenColumns + needed + kept <= width) {
      fitting.push_back(column);
      used += (used == 0 ? 0 : kBetweenColumns) + needed;
    }
  }
  if (!heading.empty()) {
    out << wrapped(heading, width) << '\n';
  }
  const std::size_t rest = width - std::min(width, used == 0 ? 0 : used + kBetweenColumns);
  print_columns(out, fitting, wraps ? std::max(rest, kLeastWrapped) : kUnlimited);
}

bool Table::is_heading(std::size_t column) const {
  return columns_[column].constant == Constant::kHeading && !rows_.empty() &&
         std::all_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return row[column] == rows_.front()[column]; });
}

std::size_t Table::width_of(std::size_t column) const {
  std::size_t width = 0;
  for (const auto& row : rows_) {
    width = std::max(width, display_width(row[column]));
  }
  return width == 0 ? 0 : std::max(width, display_width(columns_[column].title));
}

void Table::print_columns(std::ostream& out, const std::vector<std::size_t>& columns,
                          std::size_t last_width) const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    titles.push_back(columns_[column].title);
    widths.push_back(width_of(column));
  }
  const auto print_row = [&](const std::vector<std::string>& row, auto colour_of) {
    std::string line;
    std::string below;  // the indentation of the last column
    for (const std::size_t column : columns) {
      if (widths[column] == 0) {
        continue;
      }
      line += std::string(line.empty() ? 0 : kBetweenColumns, ' ');
      below.assign(display_width(line), ' ');
      std::string text = row[column];
      if (column == columns.back()) {
        text = wrapped(text, last_width);
      }
      const std::string padding(widths[column] - display_width(row[column]), ' ');
      text = coloured(out, text, colour_of(text));
      line += columns_[column].align == Align::kLeft ? text + padding : padding + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    for (const char character : line) {
      out << character << (character == '\n' ? below : "");
    }
    out << '\n';
  };
  print_row(titles, [](std::string_view /*title*/) { return Colour::kBold; });
  for (const auto& row : rows_) {
    print_row(row, colour_of_state);
  }
}

}  // namespace tunedgemm::internal

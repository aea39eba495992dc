#include "tools/shared/table.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include "kernel_templates/base/text.h"
#include "tools/shared/colour.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kBetweenColumns = 2;
constexpr std::size_t kLeastWrapped = 20;

// A title without what users may leave out: "tunedatutc" for "tuned at (UTC)".
std::string plain(std::string_view title) {
  std::string letters;
  for (const char character : title) {
    if (std::isalnum(static_cast<unsigned char>(character)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
    }
  }
  return letters;
}

// Numbers come before texts, and empty cells last. Times are in the unit that is shown.
std::tuple<int, double, std::string_view> sort_key(std::string_view cell) {
  const std::size_t sign = cell.starts_with("±") ? std::string_view("±").size() : 0;
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data() + sign, cell.data() + cell.size(), number);
  if (error != std::errc() || !std::isfinite(number)) {
    return {cell.empty() || cell == "-" ? 2 : 1, 0, cell};
  }
  const std::string_view unit(end, cell.data() + cell.size());
  return {0, number * (unit == " ms" ? 1e3 : unit == " s" ? 1e6 : 1), cell};
}

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
  std::vector<std::size_t> fitting;
  std::size_t used = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const std::size_t needed = width_of(column);
    if (needed == 0 || is_heading(column)) {
      continue;
    }
    if (wraps && column == last) {
      fitting.push_back(column);
    } else if (used == 0 || used + kBetweenColumns + needed + kept <= width) {
      fitting.push_back(column);
      used += (used == 0 ? 0 : kBetweenColumns) + needed;
    }
  }
  if (const std::string text = heading(); !text.empty()) {
    out << wrapped(text, width) << '\n';
  }
  const std::size_t rest = width - std::min(width, used == 0 ? 0 : used + kBetweenColumns);
  print_columns(out, fitting, wraps ? std::max(rest, kLeastWrapped) : kUnlimited);
}

void Table::print_chosen(std::ostream& out, std::size_t width, const TableChoice& choice) const {
  Table chosen(*this);
  if (!choice.sort.empty()) {
    chosen.sort(choice.sort);
  }
  if (choice.limit > 0 && choice.limit < rows_.size()) {
    chosen.rows_.resize(choice.limit);
  }
  std::vector<std::size_t> columns;
  for (const std::string& name : choice.columns) {
    columns.push_back(column_named(name));
  }
  const auto select = [&](auto& all) {
    auto selected = std::exchange(all, {});
    for (const std::size_t column : columns) {
      all.push_back(selected[column]);
    }
  };
  if (!columns.empty()) {
    select(chosen.columns_);
    std::ranges::for_each(chosen.rows_, select);
  }
  if (choice.is_markdown) {
    chosen.print_markdown(out);
  } else if (!columns.empty() || choice.shows_all) {
    chosen.print(out);
  } else {
    chosen.print_fitting(out, width);
  }
}

std::size_t Table::column_named(std::string_view name) const {
  const auto found = std::ranges::find(columns_, plain(name),
                                       [](const Column& column) { return plain(column.title); });
  if (found == columns_.end()) {
    std::string titles;
    for (const Column& column : columns_) {
      titles += (titles.empty() ? "" : ", ") + column.title;
    }
    throw std::invalid_argument("there is no column \"" + std::string(name) +
                                "\"; expected one of " + titles);
  }
  return static_cast<std::size_t>(found - columns_.begin());
}

void Table::sort(const std::string& by) {
  const bool is_descending = by.starts_with('-');
  const std::size_t column = column_named(std::string_view(by).substr(is_descending ? 1 : 0));
  std::ranges::stable_sort(rows_, [&](const auto& left, const auto& right) {
    const auto first = sort_key(left[column]), second = sort_key(right[column]);
    return is_descending && std::get<0>(first) == std::get<0>(second) ? second < first
                                                                      : first < second;
  });
}

std::vector<std::size_t> Table::columns_with_text() const {
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (width_of(column) > 0) {
      columns.push_back(column);
    }
  }
  return columns;
}

void Table::print_markdown(std::ostream& out) const {
  const auto print_row = [&out, columns = columns_with_text()](auto text_of) {
    for (const std::size_t column : columns) {
      out << "| ";
      for (const char character : std::string(text_of(column))) {
        const bool is_markup = std::string_view("\\|<*`").find(character) != std::string_view::npos;
        out << (is_markup ? "\\" : "") << character;
      }
      out << ' ';
    }
    out << "|\n";
  };
  print_row([&](std::size_t column) { return columns_[column].title; });
  print_row(
      [&](std::size_t column) { return columns_[column].align == Align::kRight ? "--:" : "---"; });
  for (const auto& row : rows_) {
    print_row([&](std::size_t column) { return row[column]; });
  }
}

void Table::print_html(std::ostream& out) const {
  std::vector<std::size_t> columns = columns_with_text();
  std::erase_if(columns, [&](std::size_t column) { return is_heading(column); });
  const auto print_row = [&](std::string_view tag, const auto& cell_of) {
    out << "<tr>";
    for (const std::size_t column : columns) {
      const std::string text = cell_of(column);
      const auto [kind, number, rest] = sort_key(text);
      out << '<' << tag << (columns_[column].align == Align::kRight ? " class=right" : "");
      if (kind == 0) {
        out << " data-number=" << number;
      }
      out << '>' << escaped_html(text) << "</" << tag << '>';
    }
    out << "</tr>\n";
  };
  if (const std::string text = heading(); !text.empty()) {
    out << "<p>" << escaped_html(text) << "</p>\n";
  }
  out << "<div class=wide><table>\n<thead>";
  print_row("th", [&](std::size_t column) { return columns_[column].title; });
  out << "</thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    print_row("td", [&](std::size_t column) { return row[column]; });
  }
  out << "</tbody></table></div>\n";
}

std::string Table::heading() const {
  std::string text;
  for (const std::size_t column : columns_with_text()) {
    if (is_heading(column)) {
      text += (text.empty() ? "" : "; ") + columns_[column].title + ": " + rows_[0][column];
    }
  }
  return text;
}

bool Table::is_heading(std::size_t column) const {
  return columns_[column].constant == Constant::kHeading && !rows_.empty() &&
         std::all_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return row[column] == rows_.front()[column]; });
}

std::size_t Table::width_of(std::size_t column) const {
  std::size_t width = 0;
  bool says_something = false;
  for (const auto& row : rows_) {
    says_something |= !row[column].empty() && row[column] != "-";
    width = std::max(width, display_width(row[column]));
  }
  return !says_something ? 0 : std::max(width, display_width(columns_[column].title));
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

#include <algorithm>

#include "kernel_templates/base/text.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

struct Cell {
  std::string text;
  Position at;
};

std::string shown(std::string_view text) {
  constexpr std::size_t kWidth = 60;
  return printable(first_line(text, kWidth), Lines::kOne);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The text between the quotes at the beginning of `line`, a doubled quote standing for one; leaves
// `line` with what follows.
std::string cut_quoted(std::string_view& line, Position at) {
  std::string text;
  for (std::size_t index = 1; index < line.size(); ++index) {
    if (line[index] != '"') {
      text += line[index];
    } else if (line.substr(index + 1, 1) == "\"") {
      text += line[index++];
    } else {
      line.remove_prefix(index + 1);
      return text;
    }
  }
  throw ShapeError(at, "the quote that begins here does not end on this line: " + shown(line));
}

std::vector<Cell> split_line(std::string_view line, int line_number) {
  const char* begin = line.data();
  std::vector<Cell> cells;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const Position at{line_number, static_cast<int>(line.data() - begin) + 1};
    if (line.starts_with('"')) {
      cells.push_back({cut_quoted(line, at), at});
      if (const auto rest = trimmed(line.substr(0, line.find(','))); !rest.empty()) {
        throw ShapeError(at, '"' + shown(rest) + "\" follows a quoted cell; expected a comma");
      }
    } else {
      cells.push_back({std::string(trimmed(line.substr(0, line.find(',')))), at});
    }
    const std::size_t comma = line.find(',');
    if (comma == line.npos) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

bool is_header(const std::vector<Cell>& cells) {
  return !field_name(cells.front().text).empty();
}

std::vector<std::string> header_names(const std::vector<Cell>& cells) {
  std::vector<std::string> names;
  for (const Cell& cell : cells) {
    const std::string name = field_name(cell.text);
    if (name.empty()) {
      std::string expected;
      for (const FieldDescription& field : shape_fields()) {
        expected += (expected.empty() ? "" : ", ") + std::string(field.name);
      }
      throw ShapeError(cell.at, "the header has a column \"" + shown(cell.text) +
                                    "\"; expected one of " + expected);
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw ShapeError(cell.at, "the header has the column \"" + name + "\" twice");
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<Shape> parse_csv_shapes(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::vector<std::string> names{"types", "layout", "m", "n", "k", "batch"};
  std::vector<Shape> shapes;
  bool header_allowed = true;
  int line_number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++line_number;
    if (const auto content = trimmed(line); content.empty() || content.starts_with('#')) {
      continue;
    }
    const std::vector<Cell> cells = split_line(line, line_number);
    if (std::exchange(header_allowed, false) && is_header(cells)) {
      names = header_names(cells);
      continue;
    }
    if (cells.size() > names.size()) {
      const Cell& surplus = cells[names.size()];
      throw ShapeError(surplus.at, "the line has " + std::to_string(cells.size()) +
                                       " cells, from \"" + shown(surplus.text) +
                                       "\" on too many; expected at most " +
                                       std::to_string(names.size()));
    }
    std::vector<Field> fields;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (!cells[column].text.empty()) {
        fields.push_back({names[column], cells[column].text, cells[column].at});
      }
    }
    shapes.push_back(to_shape(fields, {line_number, 1}));
  }
  return shapes;
}

}  // namespace tunedgemm::internal

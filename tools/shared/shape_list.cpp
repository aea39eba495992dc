// Lists of shapes in files, see shape_list.h.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "kernel_templates/base/text.h"
#include "tools/shared/model_layers.h"
#include "tools/shared/results.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/text.h"
#include "tools/shared/tunable_op.h"

namespace tunedgemm::internal {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Within quotes, a comma belongs to the cell, and a doubled quote means one quote.
std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t index = 0; index < line.size(); ++index) {
    const char character = line[index];
    if (character == '"' && is_quoted && line.substr(index + 1).starts_with('"')) {
      cells.back() += line[index++];
    } else if (character == '"') {
      is_quoted = !is_quoted;
    } else if (character == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += character;
    }
  }
  if (is_quoted) {
    throw std::invalid_argument("a quote is not closed on its line");
  }
  for (std::string& cell : cells) {
    cell = trimmed(cell);
  }
  if (cells.size() == 1 && cells.front().find_first_of("; \t") != std::string::npos) {
    throw std::invalid_argument("there is no comma in \"" + cells.front() +
                                "\"; separate the columns by commas");
  }
  return cells;
}

std::string column_name(const std::string& cell) {
  if (std::string name = field_name(cell); !name.empty()) {
    return name;
  }
  std::vector<std::string> names;
  std::string expected;
  for (const FieldDescription& field : shape_fields()) {
    names.emplace_back(field.name);
    expected += (expected.empty() ? "expected one of " : ", ") + names.back();
  }
  const std::string nearest = nearest_name(cell, names);
  throw std::invalid_argument("the header has a column \"" + cell + "\"; " +
                              (nearest.empty() ? expected : "did you mean \"" + nearest + "\"?"));
}

// Whether tunedgemm export writes a field of this name about the winner, not about the shape.
bool is_of_winner(const std::string& name) {
  static const Json fields = to_json(WinnerWithState{});
  return field_name(name).empty() && fields.contains(name);
}

// The field of each column; "" for those that lists ignore.
std::vector<std::string> header_names(const std::vector<std::string>& cells) {
  std::vector<std::string> names;
  for (const std::string& cell : cells) {
    const std::string name = is_of_winner(cell) ? "" : column_name(cell);
    if (!name.empty() && std::find(names.begin(), names.end(), name) != names.end()) {
      throw std::invalid_argument("the header has the column \"" + name + "\" twice");
    }
    names.push_back(name);
  }
  return names;
}

std::vector<Field> fields_of_cells(const std::vector<std::string>& names,
                                   const std::vector<std::string>& cells) {
  if (cells.size() > names.size()) {
    throw std::invalid_argument("the line has " + std::to_string(cells.size()) +
                                " cells; expected at most " + std::to_string(names.size()));
  }
  std::vector<Field> fields;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    if (!cells[column].empty() && !names[column].empty()) {
      fields.push_back({names[column], cells[column]});
    }
  }
  return fields;
}

std::vector<Field> fields_of_object(const Json& object) {
  if (!object.is_object()) {
    throw std::invalid_argument("it is of type " + std::string(object.type_name()) +
                                "; expected an object with the fields of a shape");
  }
  std::vector<Field> fields;
  for (const auto& [key, value] : object.items()) {
    if (is_of_winner(key) || value == "") {
      continue;
    }
    const std::string name = field_name(key);
    if (value.is_null() || value.is_structured()) {
      throw std::invalid_argument(key + " is of type " + value.type_name() +
                                  "; expected a string, a number, true or false");
    }
    fields.push_back(
        {name.empty() ? key : name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  return fields;
}

// Passes the lines of a list on, and counts those that cannot be computed.
class ListLines {
 public:
  explicit ListLines(const ReadFields& read) : read_(read) {}

  // `fields_of` gives the fields of the line, or none if it is no shape.
  template <class FieldsOf>
  void read(const std::string& place, FieldsOf fields_of) {
    try {
      if (const std::optional<std::vector<Field>> fields = fields_of()) {
        read_(*fields);
        ++computable_;
      }
    } catch (const NotComputable& reason) {
      first_skipped_ = skipped_ == 0 ? place + ": " + reason.what() : first_skipped_;
      ++skipped_, ++reasons_[reason.what()];
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(place + ": " + error.what());
    }
  }

  // Lines without the batch strides that a program uses.
  void note_assumed_strides() { ++assumed_strides_; }

  bool is_empty() const { return computable_ + skipped_ == 0; }

  // Remarks for the user. Throws std::invalid_argument if all lines were skipped.
  std::vector<std::string> remarks() const {
    std::vector<std::string> remarks;
    if (skipped_ > 0) {
      std::string skipped = counted(skipped_, "line") + " skipped, which cannot be computed: ";
      for (const auto& [reason, count] : reasons_) {
        skipped +=
            (skipped.ends_with(": ") ? "" : "; ") + reason + " (" + counted(count, "line") + ")";
      }
      if (computable_ == 0) {
        throw std::invalid_argument(
            skipped_ == 1 ? first_skipped_ : first_skipped_ + "; nothing is left: " + skipped);
      }
      remarks.push_back(skipped);
    }
    if (assumed_strides_ > 0) {
      remarks.push_back(counted(assumed_strides_, "line") +
                        " of TunableOp without batch strides: where a leading dimension holds the "
                        "batch, its matrices are taken to lie side by side, else packed");
    }
    return remarks;
  }

 private:
  const ReadFields& read_;
  std::size_t computable_ = 0, skipped_ = 0, assumed_strides_ = 0;
  std::string first_skipped_;
  std::map<std::string, std::size_t> reasons_;
};

void read_csv(std::string_view text, ListLines& lines) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::string_view kValidator = "Validator";  // TunableOp's software versions
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::vector<std::string> names{"types", "layout", "m", "n", "k", "batch"};
  bool may_be_header = true;
  int line_number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++line_number;
    if (const auto content = trimmed(line); content.empty() || content.starts_with('#')) {
      continue;
    }
    using Fields = std::optional<std::vector<Field>>;
    lines.read("line " + std::to_string(line_number), [&]() -> Fields {
      const std::vector<std::string> cells = split_line(line);
      if (cells.front() == kValidator) {
        return std::nullopt;
      }
      const bool is_header = std::exchange(may_be_header, false) && !is_tunable_op(cells) &&
                             !field_name(cells.front()).empty();
      if (is_header) {
        names = header_names(cells);
        return std::nullopt;
      }
      if (!is_tunable_op(cells)) {
        return fields_of_cells(names, cells);
      }
      Fields fields = fields_of_tunable_op(cells);
      if (has_field(*fields, "batch")) {
        lines.note_assumed_strides();
      }
      return fields;
    });
  }
}

Json parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception...] parse error ..."
    throw std::invalid_argument("it is not valid JSON: " +
                                std::string(what.substr(what.find(']') + 2)));
  }
}

void read_json(std::string_view text, ListLines& lines) {
  const Json document = parse_json(text);
  if (is_model_config(document)) {
    for (const std::vector<Field>& layer : layers_of_model(document)) {
      lines.read("layer \"" + value_of(layer, "name") + "\"", [&] { return std::optional(layer); });
    }
    return;
  }
  if (!document.is_array()) {
    throw std::invalid_argument("the document is of type " + std::string(document.type_name()) +
                                "; expected an array of objects, each one a shape, or a model's "
                                "config.json with its model_type");
  }
  int entry_number = 0;
  for (const Json& object : document) {
    ++entry_number;
    lines.read("entry " + std::to_string(entry_number),
               [&] { return std::optional(fields_of_object(object)); });
  }
}

// The text of the file, or of the built-in list if there is no file of this name.
std::string text_of_list(const std::string& path) {
  if (path == "-") {
    return {std::istreambuf_iterator<char>(std::cin), {}};
  }
  std::ifstream file(path, std::ios::binary);
  if (file && !std::filesystem::is_directory(path)) {
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const int error = file ? EISDIR : errno;
  if (const std::string_view built_in = built_in_list(path); !built_in.empty()) {
    return std::string(built_in);
  }
  const bool is_number = path.find_first_not_of("0123456789") == std::string::npos;
  throw std::invalid_argument("the shape list " + path +
                              " cannot be read: " + std::strerror(error) +
                              (is_number         ? "; for one shape use --m, --n and --k"
                               : error == ENOENT ? "; built in are " + built_in_lists()
                                                 : ""));
}

ReadFields append_to(std::vector<NamedProblem>& shapes) {
  return
      [&shapes](const std::vector<Field>& fields) { shapes.push_back(to_named_problem(fields)); };
}

std::vector<NamedProblem> parse(std::string_view text,
                                void (*read_text)(std::string_view, ListLines&)) {
  std::vector<NamedProblem> shapes;
  const ReadFields append = append_to(shapes);
  ListLines lines(append);
  read_text(text, lines);
  static_cast<void>(lines.remarks());
  return shapes;
}

}  // namespace

std::vector<NamedProblem> parse_csv_shapes(std::string_view text) {
  return parse(text, read_csv);
}

std::vector<NamedProblem> parse_json_shapes(std::string_view text) {
  return parse(text, read_json);
}

void read_list(const std::string& path, const ReadFields& read) {
  const std::string text = text_of_list(path);
  ListLines lines(read);
  try {
    path.ends_with(".json") ? read_json(text, lines) : read_csv(text, lines);
    if (lines.is_empty()) {
      throw std::invalid_argument("the shape list is empty");
    }
    for (const std::string& remark : lines.remarks()) {
      std::cerr << path << ": " << remark << '\n';
    }
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what());
  }
}

std::vector<NamedProblem> read_shape_list(const std::string& path) {
  std::vector<NamedProblem> shapes;
  read_list(path, append_to(shapes));
  return shapes;
}

}  // namespace tunedgemm::internal

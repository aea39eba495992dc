#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/shared/shape_list.h"

namespace tunedgemm {
namespace {

// Where an entry of the outer array and the values of its members begin. The parser does not keep
// that.
struct EntryPlace {
  std::size_t begin = 0;
  std::vector<std::size_t> values;
};

// The index behind the string that begins at `begin`.
std::size_t skip_string(std::string_view text, std::size_t begin) {
  std::size_t index = begin + 1;
  while (text[index] != '"') {
    index += text[index] == '\\' ? 2 : 1;
  }
  return index + 1;
}

// One place an entry (and one for an empty array). Precondition: the text is a well-formed array.
std::vector<EntryPlace> places(std::string_view text) {
  std::vector<EntryPlace> entries;
  int depth = 0;
  std::size_t index = 0;
  while (index < text.size()) {
    const char character = text[index];
    if (character == '"') {
      index = skip_string(text, index);
      continue;
    }
    depth += character == '{' || character == '[' ? 1 : 0;
    depth -= character == '}' || character == ']' ? 1 : 0;
    const std::size_t next = text.find_first_not_of(" \t\r\n", index + 1);
    if (depth == 1 && (character == '[' || character == ',')) {
      entries.push_back({next, {}});
    } else if (depth == 2 && character == ':') {
      entries.back().values.push_back(next);
    }
    ++index;
  }
  return entries;
}

Position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin =
      before.rfind('\n') + 1;  // 0 on the first line, since npos + 1 is 0
  return {static_cast<int>(lines) + 1, static_cast<int>(offset - line_begin) + 1};
}

nlohmann::ordered_json parse(std::string_view text) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const Position at = position_of(text, error.byte == 0 ? 0 : error.byte - 1);
    const std::string_view what = error.what();
    const std::size_t explanation = what.rfind(": ");  // behind its own prefix with the position
    throw ShapeError(at,
                     "this is not JSON: " +
                         std::string(what.substr(explanation == what.npos ? 0 : explanation + 2)));
  }
}

std::string value_text(const nlohmann::ordered_json& value, Position at) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number() || value.is_boolean()) {
    return value.dump();
  }
  throw ShapeError(at,
                   "the value is " + value.dump() + "; expected a text, a number or true, false");
}

}  // namespace

std::vector<Shape> parse_json_shapes(std::string_view text) {
  const nlohmann::ordered_json document = parse(text);
  constexpr std::string_view kExpected = "expected an array of objects, each one a shape";
  if (!document.is_array()) {
    throw ShapeError({1, 1}, "the document is of type " + std::string(document.type_name()) + "; " +
                                 std::string(kExpected));
  }
  const std::vector<EntryPlace> entries = places(text);
  std::vector<Shape> shapes;
  for (std::size_t index = 0; index < document.size(); ++index) {
    const nlohmann::ordered_json& object = document[index];
    const Position at = position_of(text, entries[index].begin);
    if (!object.is_object()) {
      throw ShapeError(at, "entry " + std::to_string(index + 1) + " is " + object.dump() + "; " +
                               std::string(kExpected));
    }
    if (entries[index].values.size() != object.size()) {
      throw ShapeError(at, "a member of this object comes twice");
    }
    std::vector<Field> fields;
    std::size_t member = 0;
    for (const auto& [key, value] : object.items()) {
      const Position value_at = position_of(text, entries[index].values[member++]);
      const std::string name = field_name(key);
      fields.push_back({name.empty() ? key : name, value_text(value, value_at), value_at});
    }
    shapes.push_back(to_shape(fields, at));
  }
  return shapes;
}

}  // namespace tunedgemm

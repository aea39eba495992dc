#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernel_templates/base/text.h"
#include "tools/shared/json_text.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

// Where an entry of the outer array and the values of its members begin. The parser does not keep
// that.
struct EntryPlace {
  std::size_t begin = 0;
  std::vector<std::size_t> values;
};

constexpr std::string_view kExpected = "expected an array of objects, each one a shape";

// Shapes lie two deep. The parser takes any depth, but what prints a value calls itself for each.
constexpr int kDeepest = 16;

// The index behind the string that begins at `begin`.
std::size_t skip_string(std::string_view text, std::size_t begin) {
  std::size_t index = begin + 1;
  while (index < text.size() && text[index] != '"') {
    index += text[index] == '\\' ? 2 : 1;
  }
  return index + 1;
}

// Where a value begins that lies too deep, in any text; empty if there is none.
std::optional<std::size_t> too_deep(std::string_view text) {
  int depth = 0;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char character = text[index];
    if (character == '"') {
      index = skip_string(text, index) - 1;
    }
    depth += character == '{' || character == '[' ? 1 : 0;
    depth -= character == '}' || character == ']' ? 1 : 0;
    if (depth > kDeepest) {
      return index;
    }
  }
  return std::nullopt;
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

// Tells lines and columns of offsets, each at least as great as the one before, so that a long text
// is gone through once.
class Positions {
 public:
  explicit Positions(std::string_view text) : text_(text) {}

  Position at(std::size_t offset) {
    for (; next_ < offset && next_ < text_.size(); ++next_) {
      if (text_[next_] == '\n') {
        ++line_;
        line_begin_ = next_ + 1;
      }
    }
    return {line_, static_cast<int>(offset - line_begin_) + 1};
  }

 private:
  std::string_view text_;
  std::size_t next_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
};

nlohmann::ordered_json parse(std::string_view text) {
  if (const auto offset = too_deep(text)) {
    throw ShapeError(Positions(text).at(*offset), "what begins here lies more than " +
                                                      std::to_string(kDeepest) + " deep; " +
                                                      std::string(kExpected));
  }
  // The explanation stands behind the parser's own prefix, which has its position.
  const auto explanation = [](std::string_view what) {
    const std::size_t prefix = what.rfind(": ");
    return printable(what.substr(prefix == what.npos ? 0 : prefix + 2), Lines::kOne);
  };
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const Position at = Positions(text).at(error.byte == 0 ? 0 : error.byte - 1);
    throw ShapeError(at, "this is not JSON: " + explanation(error.what()));
  } catch (const nlohmann::json::exception& error) {  // a number out of range, with no position
    throw ShapeError({1, 1}, "this JSON cannot be read: " + std::string(error.what()));
  }
}

std::string shown(const nlohmann::ordered_json& value) {
  constexpr std::size_t kWidth = 60;
  return printable(first_line(json_text(value), kWidth), Lines::kOne);
}

std::string value_text(const nlohmann::ordered_json& value, Position at) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number() || value.is_boolean()) {
    return json_text(value);
  }
  throw ShapeError(at,
                   "the value is " + shown(value) + "; expected a text, a number or true, false");
}

}  // namespace

std::vector<Shape> parse_json_shapes(std::string_view text) {
  const nlohmann::ordered_json document = parse(text);
  if (!document.is_array()) {
    throw ShapeError({1, 1}, "the document is of type " + std::string(document.type_name()) + "; " +
                                 std::string(kExpected));
  }
  const std::vector<EntryPlace> entries = places(text);
  Positions positions(text);
  std::vector<Shape> shapes;
  for (std::size_t index = 0; index < document.size(); ++index) {
    const nlohmann::ordered_json& object = document[index];
    const Position at = positions.at(entries[index].begin);
    if (!object.is_object()) {
      throw ShapeError(at, "entry " + std::to_string(index + 1) + " is " + shown(object) + "; " +
                               std::string(kExpected));
    }
    if (entries[index].values.size() != object.size()) {
      throw ShapeError(at, "a member of this object comes twice");
    }
    std::vector<Field> fields;
    std::size_t member = 0;
    for (const auto& [key, value] : object.items()) {
      const Position value_at = positions.at(entries[index].values[member++]);
      const std::string name = field_name(key);
      fields.push_back({name.empty() ? key : name, value_text(value, value_at), value_at});
    }
    shapes.push_back(to_shape(fields, at));
  }
  return shapes;
}

}  // namespace tunedgemm::internal

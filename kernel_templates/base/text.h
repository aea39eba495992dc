#pragma once

// Text functions: escaping of foreign text, and parsing and joining of the library's own.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tunedgemm::internal {

// Foreign text (names in lists, compiler logs, rows of a cache, paths) made safe to print: nothing
// in it acts on a terminal or makes a terminal show other text.

enum class Lines { kMany, kOne };

/// The text, with "\u001b" in place of every control character and direction mark, and "\xff" in
/// place of every byte that is not UTF-8. Newlines and tabs stay if several lines are allowed.
std::string printable(std::string_view text, Lines lines);

// The text form of problems and configs: words "name=value", separated by spaces. And the names of
// a table's rows as one text, built at compile time, so that help and error messages name every
// row.

/// The fields of `text` in order; a word without '=' becomes a field with an empty value. Views
/// into `text`.
std::vector<std::pair<std::string_view, std::string_view>> split_fields(std::string_view text);

/// The parts of `text` between separators; one empty part for an empty text. Views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

struct NameList {
  std::array<char, 256> characters{};
  std::size_t size = 0;

  constexpr std::string_view text() const { return {characters.data(), size}; }

  constexpr void append(std::string_view text) {
    for (const char character : text) {
      characters.at(size++) = character;
    }
  }
};

/// "f64, f32 or f16": the rows for which `is_listed` is true; `last` precedes the last of them.
template <class Row, std::size_t kRows, class Predicate>
constexpr NameList name_list(const Row (&rows)[kRows], std::string_view last, Predicate is_listed) {
  std::size_t left = 0;
  for (const Row& row : rows) {
    left += is_listed(row) ? 1 : 0;
  }
  NameList list;
  for (const Row& row : rows) {
    if (is_listed(row)) {
      list.append(list.size == 0 ? "" : left == 1 ? last : ", ");
      list.append(row.name);
      --left;
    }
  }
  return list;
}

template <class Row, std::size_t kRows>
constexpr NameList name_list(const Row (&rows)[kRows], std::string_view last) {
  return name_list(rows, last, [](const Row&) { return true; });
}

}  // namespace tunedgemm::internal

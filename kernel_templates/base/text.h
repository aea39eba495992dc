#pragma once

// Texts: what is shown of those that come from elsewhere, and how those of the library are taken
// apart and put together.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tunedgemm::internal {

// Texts that come from elsewhere (names in lists, logs of compilers, rows of a cache, paths) made
// fit to be shown: whatever would act on a terminal, or make it show another text than is there.

enum class Lines { kMany, kOne };

/// The text, with "\u001b" for every control character and for those that turn the direction of
/// writing, and "\xff" for every byte that is no UTF-8. Newlines and tabs stay where there may be
/// many lines.
std::string printable(std::string_view text, Lines lines);

// The text form that problems and configs share: words "name=value", separated by spaces. And the
// names of a table's rows as one text, made at compile time: for helps and error messages, which so
// name every row.

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

/// "f64, f32 or f16" of the rows that `is_listed` takes; `last` stands before the last of them.
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

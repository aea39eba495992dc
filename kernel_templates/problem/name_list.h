#pragma once

// The names of a table's rows as one text, made at compile time: for helps and error messages,
// which so name every row.

#include <array>
#include <cstddef>
#include <string_view>

namespace tunedgemm::internal {

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

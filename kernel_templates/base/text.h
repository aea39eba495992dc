#pragma once

// Escapes foreign text; parses and joins the library's own texts.

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tunedgemm::internal {

// printable() makes foreign text (names in lists, compiler logs, rows of a cache, paths) safe to
// print. The result cannot control a terminal, or make a terminal show different text.

enum class Lines { kMany, kOne };

/// The text, with every control character, line separator and direction mark written like "\u001b",
/// and every byte that is not UTF-8 written like "\xff". With kMany, newlines and tabs stay.
std::string printable(std::string_view text, Lines lines);

/// "1 shape", "2 shapes".
template <std::integral Number>
std::string counted(Number count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// The number, if the whole text is one that the type can hold.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

// Problems and configs have a text form: words "name=value", separated by spaces.

/// The fields of `text` in order; a word without '=' becomes a field with an empty value. Views
/// into `text`.
std::vector<std::pair<std::string_view, std::string_view>> split_fields(std::string_view text);

/// The parts of `text` between separators; one empty part for an empty text. Views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The names of a table's rows, joined at compile time for help and error messages.
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

/// The names of the rows for which `is_listed` is true, as in "f64, f32 or f16". `last`, here " or
/// ", precedes the last name.
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

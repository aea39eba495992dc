#pragma once

// The values of arguments that Python programs name by a word.

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace tunedgemm::python {

/// The value of `name` among pairs of a name and a value. Throws ValueError with the argument, the
/// name and the known names if there is none.
template <class Names>
auto named(std::string_view argument, std::string_view name, const Names& names) {
  for (const auto& [known_name, value] : names) {
    if (known_name == name) {
      return value;
    }
  }
  std::string known;
  for (const auto& [known_name, value] : names) {
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  throw nanobind::value_error(
      (std::string(argument) + " is '" + std::string(name) + "'; it may be one of: " + known)
          .c_str());
}

/// The pairs as a dict of Python, with the numbers of the enumerators.
template <class Names>
nanobind::dict numbers_of(const Names& names) {
  nanobind::dict numbers;
  for (const auto& [name, value] : names) {
    numbers[nanobind::str(name.data(), name.size())] = static_cast<int>(value);
  }
  return numbers;
}

}  // namespace tunedgemm::python

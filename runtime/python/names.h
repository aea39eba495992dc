#pragma once

// Python programs pass some arguments as words, such as "relu". These functions return the C API's
// values for them.

#include <string>
#include <string_view>

#include "runtime/python/view.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// The value of `name` among pairs of a name and a value. Throws std::invalid_argument with the
/// argument, the name and the known names if there is none.
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
  refuse(std::string(argument) + " is '" + std::string(name) + "'; it may be one of: " + known);
}

/// Throw std::invalid_argument for a name that the library does not have.
tunedgemm_activation activation_of(std::string_view name);
tunedgemm_numerics numerics_of(std::string_view name);

}  // namespace tunedgemm::python

#pragma once

// Arguments that are no arrays, from whatever object the caller passes. All functions throw
// TypeError for an object of another type and ValueError for a value out of range, with a sentence
// that names the argument, the value and what is expected.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tunedgemm::python {

double number_of(std::string_view argument, nanobind::handle value);
int integer_of(std::string_view argument, nanobind::handle value);
bool flag_of(std::string_view argument, nanobind::handle value);
std::string text_of(std::string_view argument, nanobind::handle value);
std::optional<std::string> text_or_none(std::string_view argument, nanobind::handle value);
/// A string or an object with __fspath__().
std::optional<std::string> path_or_none(std::string_view argument, nanobind::handle value);
/// A CUDA stream, given as its address.
void* stream_of(nanobind::handle value);

/// Throws TypeError: "alpha is a str; give a number".
[[noreturn]] void refuse_type_of(std::string_view argument, nanobind::handle value,
                                 std::string_view expected);

}  // namespace tunedgemm::python

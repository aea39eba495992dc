#include "runtime/python/values.h"

#include <bit>
#include <limits>

#include "runtime/python/arrays.h"
#include "runtime/python/gil.h"

namespace nb = nanobind;

namespace tunedgemm::python {
namespace {

std::string type_of(nb::handle value) {
  return nb::str(nb::inst_name(value)).c_str();
}

std::string utf8(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) {
    throw nb::python_error();  // UnicodeEncodeError, which is a ValueError
  }
  return {bytes, static_cast<std::size_t>(size)};
}

[[noreturn]] void refuse_value_of(std::string_view argument, nb::handle value,
                                  const std::string& expected) {
  const nb::object text = nb::steal(run_python([&] { return PyObject_Repr(value.ptr()); }));
  if (!text.is_valid()) {
    PyErr_Clear();  // an integer of thousands of digits has none
  }
  const std::string shown = text.is_valid() ? utf8(text).substr(0, 40) : "out of range";
  refuse(std::string(argument) + " is " + shown + "; give " + expected);
}

nb::object index_of(std::string_view argument, nb::handle value, std::string_view expected) {
  nb::object index = nb::steal(run_python([&] { return PyNumber_Index(value.ptr()); }));
  if (!index.is_valid()) {
    PyErr_Clear();
    refuse_type_of(argument, value, expected);
  }
  return index;
}

}  // namespace

void refuse_type_of(std::string_view argument, nb::handle value, std::string_view expected) {
  throw nb::type_error(
      (std::string(argument) + " is a " + type_of(value) + "; give " + std::string(expected))
          .c_str());
}

double number_of(std::string_view argument, nb::handle value) {
  const double number = run_python([&] { return PyFloat_AsDouble(value.ptr()); });
  if (number == -1 && PyErr_Occurred() != nullptr) {
    const bool is_too_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    PyErr_Clear();
    if (is_too_large) {
      refuse_value_of(argument, value, "a number that a double can hold");
    }
    refuse_type_of(argument, value, "a number");
  }
  return number;
}

int integer_of(std::string_view argument, nb::handle value) {
  constexpr std::string_view kExpected = "an integer";
  const nb::object index = index_of(argument, value, kExpected);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || number < std::numeric_limits<int>::min() ||
      number > std::numeric_limits<int>::max()) {
    refuse_value_of(argument, index, "an integer below 2^31");
  }
  return static_cast<int>(number);
}

bool flag_of(std::string_view argument, nb::handle value) {
  if (!PyBool_Check(value.ptr())) {
    refuse_type_of(argument, value, "True or False");
  }
  return value.ptr() == Py_True;
}

std::string text_of(std::string_view argument, nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) {
    refuse_type_of(argument, value, "a string");
  }
  std::string text = utf8(value);
  if (text.find('\0') != std::string::npos) {
    refuse(std::string(argument) + " contains a null character; give a string without");
  }
  return text;
}

std::optional<std::string> text_or_none(std::string_view argument, nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(text_of(argument, value));
}

std::optional<std::string> path_or_none(std::string_view argument, nb::handle value) {
  if (value.is_none()) {
    return std::nullopt;
  }
  const nb::object path = nb::steal(run_python([&] { return PyOS_FSPath(value.ptr()); }));
  if (!path.is_valid()) {
    PyErr_Clear();
    refuse_type_of(argument, value, "a path");
  }
  return text_of(argument, path);
}

void* stream_of(nb::handle value) {
  const nb::object index = index_of(
      "stream", value, "the address of a CUDA stream, an integer, as PyTorch's stream.cuda_stream");
  const unsigned long long address = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_value_of("stream", index, "the address of a CUDA stream, which is not negative");
  }
  return std::bit_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace tunedgemm::python

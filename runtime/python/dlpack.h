#pragma once

// DLPack's exchange interface in C (DLPack 1.3): the functions that an array library offers in the
// attribute __dlpack_c_exchange_api__ of its array types, a capsule named "dlpack_exchange_api".
// See https://dmlc.github.io/dlpack/latest/c_api.html.

#include <nanobind/ndarray.h>

#include <cstdint>

namespace tunedgemm::python {

struct DlpackExchangeApi {
  std::uint32_t major, minor;  ///< of DLPack; another major version has other functions
  const DlpackExchangeApi* previous;

  /// All return 0, or -1 with a Python exception unless `set_error` reports it.
  int (*allocate)(nanobind::dlpack::dltensor* prototype, void** managed_tensor, void* error,
                  void (*set_error)(void* error, const char* kind, const char* message));
  int (*managed_tensor_of)(void* object, void** managed_tensor);
  int (*object_of)(void* managed_tensor, void** object);
  /// The tensor is the object's, and lives as long. May be null.
  int (*tensor_of)(void* object, nanobind::dlpack::dltensor* tensor);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** stream);
};

constexpr std::uint32_t kDlpackMajor = 1;

}  // namespace tunedgemm::python

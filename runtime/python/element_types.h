#pragma once

// The element types, as Python's libraries know them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

struct ElementType {
  tunedgemm_type type;
  std::string_view name;           ///< in numpy, ml_dtypes, PyTorch and JAX
  std::uint8_t dlpack_code, bits;  ///< DLDataTypeCode
  char format;                     ///< of the buffer protocol; 0 if it has none
  std::int32_t xla_type;           ///< XLA_FFI_DataType
};

inline constexpr std::array kElementTypes{
    ElementType{TUNEDGEMM_TYPE_F64, "float64", 2, 64, 'd', 12},
    ElementType{TUNEDGEMM_TYPE_F32, "float32", 2, 32, 'f', 11},
    ElementType{TUNEDGEMM_TYPE_F16, "float16", 2, 16, 'e', 10},
    ElementType{TUNEDGEMM_TYPE_BF16, "bfloat16", 4, 16, 0, 16},
    ElementType{TUNEDGEMM_TYPE_E4M3, "float8_e4m3fn", 10, 8, 0, 20},
    ElementType{TUNEDGEMM_TYPE_E5M2, "float8_e5m2", 12, 8, 0, 19},
    ElementType{TUNEDGEMM_TYPE_S8, "int8", 0, 8, 'b', 2},
    ElementType{TUNEDGEMM_TYPE_S32, "int32", 0, 32, 'i', 4},
};

/// Null if there is none.
template <class Predicate>
const ElementType* find_type(Predicate&& is_it) {
  const auto* const found = std::find_if(kElementTypes.begin(), kElementTypes.end(), is_it);
  return found == kElementTypes.end() ? nullptr : found;
}

inline const ElementType& known(tunedgemm_type type) {
  return *find_type([&](const ElementType& one) { return one.type == type; });
}

/// "supported are float64, ..."
inline std::string supported_types() {
  std::string names;
  for (const ElementType& type : kElementTypes) {
    names += (names.empty() ? "supported are " : ", ") + std::string(type.name);
  }
  return names;
}

}  // namespace tunedgemm::python

#pragma once

// The table of element types. It determines their texts and valid combinations, how elements are
// read and verified, and how large errors may be.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "kernel_templates/problem/element_format.h"

namespace tunedgemm::internal {

/// One element type. The numbers cross the C ABI: never renumber.
enum class DataType : std::int32_t {
  kF64 = 1,
  kF32 = 2,
  kF16 = 3,   ///< IEEE binary16
  kBF16 = 4,  ///< the upper half of a binary32
  kE4M3 = 5,  ///< 8-bit float, 4 exponent bits, no infinity, NaN = 0x7f and 0xff
  kE5M2 = 6,  ///< 8-bit float, 5 exponent bits, IEEE-like infinities
  kS8 = 7,
  kS32 = 8,
};

/// A set of element types, one bit each.
using DataTypes = std::uint32_t;
constexpr DataTypes types(std::initializer_list<DataType> list) {
  DataTypes bits = 0;
  for (const DataType type : list) {
    bits |= DataTypes{1} << static_cast<int>(type);
  }
  return bits;
}

struct DataTypeTraits {
  DataType type;
  const char* name;         ///< in texts and tables, and the type's name in kernel sources
  const char* other_names;  ///< of PyTorch and others, which are read, too
  ElementFormat format;
  DataType accumulator;  ///< f64, f32 or s32
  DataType output;       ///< the default type of D
  DataTypes outputs;     ///< the possible types of D; empty: A and B never have this type
  /// Whether tensor cores multiply the type, directly or after a conversion, which is exact except
  /// from f32 to tf32.
  bool tensor_cores;
  /// Whether the type is an fp8 type. A and B may have different fp8 types; fp8 has a choice of
  /// numerics, and scales.
  bool is_fp8;
};

// clang-format off
inline constexpr DataTypes kFloatOutputs =
    types({DataType::kF32, DataType::kF16, DataType::kBF16});
inline constexpr DataTypeTraits kDataTypes[] = {
    // number, names, bits, exponent, mantissa, infinity
    {DataType::kF64,   "f64", "float64 fp64 double", {64, 11, 52, true},
     DataType::kF64, DataType::kF64, types({DataType::kF64}), true, false},
    {DataType::kF32,   "f32", "float32 fp32 float", {32, 8, 23, true},
     DataType::kF32, DataType::kF32, kFloatOutputs, true, false},
    {DataType::kF16,   "f16", "float16 fp16 half", {16, 5, 10, true},
     DataType::kF32, DataType::kF16, kFloatOutputs, true, false},
    {DataType::kBF16,  "bf16", "bfloat16", {16, 8, 7, true},
     DataType::kF32, DataType::kBF16, kFloatOutputs, true, false},
    {DataType::kE4M3,  "e4m3", "float8_e4m3fn", {8, 4, 3, false},
     DataType::kF32, DataType::kF16, kFloatOutputs, true, true},
    {DataType::kE5M2,  "e5m2", "float8_e5m2", {8, 5, 2, true},
     DataType::kF32, DataType::kF16, kFloatOutputs, true, true},
    {DataType::kS8,    "s8", "int8", {8, 0, 7, false},
     DataType::kS32, DataType::kS32, types({DataType::kS32}), true, false},
    {DataType::kS32,   "s32", "int32", {32, 0, 31, false},
     DataType::kS32, DataType::kS32, types({}), false, false},
};
// clang-format on

/// For an unknown number: the traits of f64.
const DataTypeTraits& traits(DataType type);

/// "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "s8", "s32": the spelling in texts, tables and
/// kernel sources.
std::string_view name(DataType type);
std::optional<DataType> parse_data_type(std::string_view text);

std::int64_t size_bytes(DataType type);

/// The accumulator type for products of `a` and `b`: f64, f32 or s32. Precondition:
/// why_not_types(a, b, d) is empty for some d.
DataType accumulator(DataType a, DataType b);

bool is_fp8(DataType type);
bool is_integer(DataType type);

/// For a float, half the distance between 1 and the next larger number; 0 for an integer.
double unit_roundoff(DataType type);
/// The smallest positive number of the type.
double smallest_step(DataType type);
double largest(DataType type);

/// Empty if the library can multiply A of type `a` by B of type `b` into D of type `d`, else a
/// sentence that says which types are possible.
std::string why_not_types(DataType a, DataType b, DataType d);

}  // namespace tunedgemm::internal

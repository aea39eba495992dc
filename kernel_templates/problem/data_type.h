#pragma once

// The element types of a matrix multiplication, and which combinations of them exist.

#include <cstdint>
#include <optional>
#include <string_view>

namespace tunedgemm {

/// One element type. The numbers are stored on disk and cross the C ABI: never renumber.
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

/// "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "s8", "s32": the spelling in texts, tables and
/// kernel sources.
std::string_view name(DataType type);
std::optional<DataType> parse_data_type(std::string_view text);

std::int64_t size_bytes(DataType type);

/// The type in which products of `a` and `b` are summed: f64, f32 or s32.
/// Precondition: why_not_types(a, b, d) is empty for some d.
DataType accumulator(DataType a, DataType b);

bool is_fp8(DataType type);

/// Empty if A of type `a` times B of type `b` into D of type `d` is computed by this library, else
/// a sentence that names the pair and what would be possible instead.
std::string_view why_not_types(DataType a, DataType b, DataType d);

}  // namespace tunedgemm

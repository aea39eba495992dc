#include "kernel_templates/problem/data_type.h"

#include <array>
#include <utility>

namespace tunedgemm {
namespace {

constexpr std::array<std::pair<DataType, std::string_view>, 8> kNames{{
    {DataType::kF64, "f64"},
    {DataType::kF32, "f32"},
    {DataType::kF16, "f16"},
    {DataType::kBF16, "bf16"},
    {DataType::kE4M3, "e4m3"},
    {DataType::kE5M2, "e5m2"},
    {DataType::kS8, "s8"},
    {DataType::kS32, "s32"},
}};

}  // namespace

std::string_view name(DataType type) {
  for (const auto& [known, text] : kNames) {
    if (known == type) {
      return text;
    }
  }
  return "unknown";
}

std::optional<DataType> parse_data_type(std::string_view text) {
  for (const auto& [type, known] : kNames) {
    if (known == text) {
      return type;
    }
  }
  return std::nullopt;
}

std::int64_t size_bytes(DataType type) {
  switch (type) {
    case DataType::kF64:
      return 8;
    case DataType::kF32:
    case DataType::kS32:
      return 4;
    case DataType::kF16:
    case DataType::kBF16:
      return 2;
    case DataType::kE4M3:
    case DataType::kE5M2:
    case DataType::kS8:
      return 1;
  }
  return 0;
}

DataType accumulator(DataType a, DataType b) {
  if (a == DataType::kF64 && b == DataType::kF64) {
    return DataType::kF64;
  }
  return a == DataType::kS8 ? DataType::kS32 : DataType::kF32;
}

bool is_fp8(DataType type) {
  return type == DataType::kE4M3 || type == DataType::kE5M2;
}

std::string_view why_not_types(DataType a, DataType b, DataType d) {
  if (name(a) == "unknown" || name(b) == "unknown" || name(d) == "unknown") {
    return "the element type is not one of f64, f32, f16, bf16, e4m3, e5m2, s8, s32";
  }
  if (a == DataType::kS32 || b == DataType::kS32) {
    return "s32 is an output type only; the integer inputs are s8 and s8";
  }
  if (a != b && !(is_fp8(a) && is_fp8(b))) {
    return "A and B must have the same element type (only e4m3 and e5m2 may be mixed)";
  }
  if (a == DataType::kF64) {
    return d == DataType::kF64 ? "" : "f64 inputs give an f64 output";
  }
  if (a == DataType::kS8) {
    return d == DataType::kS32 ? "" : "s8 inputs give an s32 output";
  }
  const bool float_output = d == DataType::kF32 || d == DataType::kF16 || d == DataType::kBF16;
  return float_output ? "" : "f32, f16, bf16 and fp8 inputs give an f32, f16 or bf16 output";
}

}  // namespace tunedgemm

// The element types and their conversions. The functions have no branches, so that the compiler
// vectorizes loops that call them.
//
// A small float has the bits sign | exponent | mantissa. Exponent and mantissa are shifted to their
// positions in an f32. One multiplication by a power of two then corrects the exponent's bias
// exactly, even for subnormal numbers.
//
// Kernels call the mathematical functions as built-in functions: reading <cmath> would take longer
// than compiling the kernel.
#pragma once

#include <cstdint>
#include <cstring>

using f64 = double;
using f32 = float;
using s8 = std::int8_t;
using s32 = std::int32_t;
struct f16 {
  std::uint16_t bits;  // 1 | 5 | 10, IEEE 754 binary16
};
struct bf16 {
  std::uint16_t bits;  // 1 | 8 | 7, the upper half of an f32
};
struct e4m3 {
  std::uint8_t bits;  // 1 | 4 | 3, no infinity, NaN is 0x7f and 0xff
};
struct e5m2 {
  std::uint8_t bits;  // 1 | 5 | 2, the upper half of an f16
};

inline f32 from_bits(std::uint32_t bits) {
  return __builtin_bit_cast(f32, bits);
}

inline std::uint32_t to_bits(f32 value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

// ---- widen: to the accumulator type. Exact. -----------------------------------------------------

inline f64 widen(f64 value) {
  return value;
}

inline f32 widen(f32 value) {
  return value;
}

inline s32 widen(s8 value) {
  return value;
}

inline s32 widen(s32 value) {
  return value;
}

inline f32 widen(bf16 value) {
  return from_bits(static_cast<std::uint32_t>(value.bits) << 16);
}

inline f32 widen(f16 value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  const std::uint32_t finite = to_bits(from_bits(magnitude) * 0x1p112f);
  const std::uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;  // infinity and NaN
  return from_bits(sign | finite | special);
}

inline f32 widen(e5m2 value) {
  return widen(f16{static_cast<std::uint16_t>(value.bits << 8)});
}

inline f32 widen(e4m3 value) {
  const std::uint32_t sign = (value.bits & 0x80u) << 24;
  const std::uint32_t magnitude = (value.bits & 0x7fu) << 20;
  const std::uint32_t finite = to_bits(from_bits(magnitude) * 0x1p120f);
  const std::uint32_t special = magnitude == 0x07f00000u ? 0x7fc00000u : 0u;  // NaN
  return from_bits(sign | finite | special);
}

// ---- narrow: to the type of D, rounded to nearest even. The second parameter selects the type. --

inline f64 narrow(f64 value, f64) {
  return value;
}

inline f32 narrow(f32 value, f32) {
  return value;
}

inline bf16 narrow(f32 value, bf16) {
  const std::uint32_t bits = to_bits(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const std::uint32_t quiet = bits >> 16 | 0x40u;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<std::uint16_t>(is_nan ? quiet : rounded)};
}

inline f16 narrow(f32 value, f16) {
  const std::uint32_t bits = to_bits(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  // The last bit of 0.5 in f32 is worth 2^-24, f16's smallest step. Adding 0.5 therefore rounds a
  // number below 2^-14 to a multiple of that step.
  const std::uint32_t subnormal = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t result = (rounded - 0x38000000u) >> 13;
  result = rounded >= 0x47800000u ? 0x7c00u : result;     // 65520 and above: infinity
  result = magnitude < 0x38800000u ? subnormal : result;  // below 2^-14
  result = magnitude > 0x7f800000u ? 0x7e00u : result;    // NaN
  return {static_cast<std::uint16_t>(sign | result)};
}

// Saturates; NaN gives 0.
inline s32 narrow(f64 value, s32) {
  const f64 whole = __builtin_nearbyint(value);
  const f64 above = whole < -0x1p31 ? -0x1p31 : whole;
  const f64 inside = above > 0x1.fffffffcp30 ? 0x1.fffffffcp30 : above;
  return inside == inside ? static_cast<s32>(inside) : 0;
}

// ---- arithmetic with the same meaning for every type --------------------------------------------

// accumulator + a * b; s32 modulo 2^32.
inline f64 multiply_add(f64 accumulator, f64 a, f64 b) {
  return accumulator + a * b;
}

inline f32 multiply_add(f32 accumulator, f32 a, f32 b) {
  return accumulator + a * b;
}

inline s32 multiply_add(s32 accumulator, s32 a, s32 b) {
  return static_cast<s32>(static_cast<std::uint32_t>(accumulator) +
                          static_cast<std::uint32_t>(a * b));
}

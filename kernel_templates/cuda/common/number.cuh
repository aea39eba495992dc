// Element types on the GPU, and their conversions to and from the type of the accumulators.
//
//   widen(x)          converts an element to float, double or int, exactly
//   round_to(x, y)    converts an accumulator to an element, to nearest even; integers saturate
//   multiply_add      sum += x * y;  add: sum += x;  divide: x / y
//
// No toolkit header is used, so that NVRTC needs no include path. A conversion is one instruction
// (ptx/conversion.cuh) or a few operations on bits.
#pragma once

#include "../ptx/conversion.cuh"

using f64 = double;
using f32 = float;
using s32 = int;
using s8 = signed char;

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};
struct e4m3 {
  unsigned char bits;
};
struct e5m2 {
  unsigned char bits;
};

// Converts two e4m3 (the first in the low byte) to two f16 (the first in the low half).
__device__ __forceinline__ unsigned f16x2_from_e4m3x2(unsigned short pair) {
#if __CUDA_ARCH__ >= 890
  return f16x2_by_cvt(pair);
#else
  // Exponent and mantissa are shifted to their positions in an f16. The result is too small by a
  // factor of 2^8, since the exponent biases are 15 and 7. Multiplying it by 2^8 is exact. NaN (all
  // ones) is handled separately.
  const unsigned spread = (pair & 0xffu) | ((pair & 0xff00u) << 8);
  const unsigned magnitude = (spread & 0x007f007fu) << 7;
  unsigned result = multiply_f16x2(magnitude, 0x5c005c00u);
  const unsigned is_nan = ((spread & 0x007f007fu) + 0x00010001u) & 0x00800080u;
  result |= (is_nan << 8) - is_nan;  // 0x7f80 is an f16 NaN
  return result | (spread & 0x00800080u) << 8;
#endif
}

// Converts two e5m2 to two f16. An e5m2 is the upper half of an f16.
__device__ __forceinline__ unsigned f16x2_from_e5m2x2(unsigned short pair) {
  return ((pair & 0xffu) << 8) | ((pair & 0xff00u) << 16);
}

__device__ __forceinline__ f64 widen(f64 x) {
  return x;
}
__device__ __forceinline__ f32 widen(f32 x) {
  return x;
}
__device__ __forceinline__ s32 widen(s32 x) {
  return x;
}
__device__ __forceinline__ s32 widen(s8 x) {
  return x;
}
__device__ __forceinline__ f32 widen(f16 x) {
  return f32_from_f16(x.bits);
}
__device__ __forceinline__ f32 widen(bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ __forceinline__ f32 widen(e4m3 x) {
  return widen(f16{static_cast<unsigned short>(f16x2_from_e4m3x2(x.bits))});
}
__device__ __forceinline__ f32 widen(e5m2 x) {
  return widen(f16{static_cast<unsigned short>(x.bits << 8)});
}

__device__ __forceinline__ void round_to(f32 x, f32& result) {
  result = x;
}
__device__ __forceinline__ void round_to(f32 x, f16& result) {
  result.bits = f16_from_f32(x);
}
__device__ __forceinline__ void round_to(f32 x, bf16& result) {
#if __CUDA_ARCH__ >= 800
  result.bits = bf16_from_f32(x);
#else
  const unsigned bits = __float_as_uint(x);
  const unsigned rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  result.bits = static_cast<unsigned short>(x == x ? rounded >> 16 : 0x7fffu);
#endif
}

__device__ __forceinline__ void round_to(f64 x, f64& result) {
  result = x;
}
__device__ __forceinline__ void round_to(f64 x, f32& result) {
  result = __double2float_rn(x);
}
// Rounding to nearest twice may differ from rounding once. Rounding to odd first avoids this:
// truncate, and set the last bit if the result is inexact.
__device__ __forceinline__ f32 rounded_to_odd(f64 x) {
  const f32 cut = __double2float_rz(x);
  return static_cast<f64>(cut) == x ? cut : __uint_as_float(__float_as_uint(cut) | 1u);
}
__device__ __forceinline__ void round_to(f64 x, f16& result) {
  round_to(rounded_to_odd(x), result);
}
__device__ __forceinline__ void round_to(f64 x, bf16& result) {
  round_to(rounded_to_odd(x), result);
}

__device__ __forceinline__ void round_to(s32 x, s32& result) {
  result = x;
}
// Saturates; NaN gives the smallest integer.
__device__ __forceinline__ void round_to(f64 x, s32& result) {
  result = s32_from_f64(x);
}

__device__ __forceinline__ void multiply_add(f32 x, f32 y, f32& sum) {
  sum = __fmaf_rn(x, y, sum);
}
__device__ __forceinline__ void multiply_add(f64 x, f64 y, f64& sum) {
  sum = __fma_rn(x, y, sum);
}
// Computes modulo 2^32, with unsigned numbers because signed overflow is undefined in C++.
__device__ __forceinline__ void multiply_add(s32 x, s32 y, s32& sum) {
  sum = static_cast<s32>(static_cast<unsigned>(x) * static_cast<unsigned>(y) +
                         static_cast<unsigned>(sum));
}

// sum += x. The s32 version computes modulo 2^32, like multiply_add().
__device__ __forceinline__ void add(f32 x, f32& sum) {
  sum += x;
}
__device__ __forceinline__ void add(f64 x, f64& sum) {
  sum += x;
}
__device__ __forceinline__ void add(s32 x, s32& sum) {
  sum = static_cast<s32>(static_cast<unsigned>(x) + static_cast<unsigned>(sum));
}

// Conversions and functions that are one instruction. PTX ISA, "Data Movement and Conversion
// Instructions: cvt", "Floating Point Instructions: ex2, rcp". Elements of 8 and 16 bits are given
// by their bits.
#pragma once

// To nearest even.
__device__ __forceinline__ unsigned short f16_from_f32(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ float f32_from_f16(unsigned short bits) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
}
// Two f32 to two bf16; `low` goes to the lower half (sm_80 and later).
__device__ __forceinline__ unsigned bf16x2_from_f32(float low, float high) {
  unsigned result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
// The bits of an f32 to the nearest tf32, ties away from zero (sm_80 and later).
__device__ __forceinline__ unsigned round_to_tf32(unsigned x) {
  unsigned result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(__uint_as_float(x)));
  return result;
}
// Saturates; NaN gives the smallest integer.
__device__ __forceinline__ int s32_from_f64(double x) {
  int result;
  asm("cvt.rni.s32.f64 %0, %1;" : "=r"(result) : "d"(x));
  return result;
}

// These need #if: older architectures reject the instructions even in a branch that is never taken.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ unsigned short bf16_from_f32(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif
#if __CUDA_ARCH__ >= 890
// Two e4m3 (the first in the low byte) to two f16 (the first in the low half).
__device__ __forceinline__ unsigned f16x2_by_cvt(unsigned short pair) {
  unsigned result;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(result) : "h"(pair));
  return result;
}
#endif

__device__ __forceinline__ unsigned multiply_f16x2(unsigned x, unsigned y) {
  unsigned result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(x), "r"(y));
  return result;
}
// 2^x and 1 / x, with errors of at most 2 units in the last place. Subnormal results are 0.
__device__ __forceinline__ float exp2_approximately(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ float reciprocal_approximately(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

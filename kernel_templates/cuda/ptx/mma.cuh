// Products on the tensor cores, a warp at a time. One instruction a function; the names in quotes
// are sections of the PTX ISA manual.
//
//   multiply_fragments(a type, b type, sums, a, b0, b1)      sums += A * B
//
// A is 16 x k, B k x 8, the sums are 16 x 8; k is such that a row of A has 8 registers, each of
// which holds neighbours along k: 4 bytes, or 8 of f64. With g = lane / 4 and t = lane % 4, a lane
// has these registers of A and of B (rows of A are counted down, registers along k):
//
//   a[0]  row g,     register t           b0  column g, register t
//   a[1]  row g + 8, register t           b1  column g, register t + 4
//   a[2]  row g,     register t + 4
//   a[3]  row g + 8, register t + 4
//
// and these sums:
//
//   sums[0], sums[1]  row g,     columns 2 t and 2 t + 1
//   sums[2], sums[3]  row g + 8, columns 2 t and 2 t + 1
//
// which is "Matrix Fragments for mma.m16n8k16 with floating point type" (f16, bf16), "... for
// mma.m16n8k8" (tf32, f64) and "... for mma.m16n8k32" (s8, fp8).
#pragma once

#include "../common/number.cuh"

// "Warp Level Matrix Instructions: mma"
__device__ __forceinline__ void multiply_fragments(f16, f16, float (&sums)[4],
                                                   const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_fragments(bf16, bf16, float (&sums)[4],
                                                   const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// The registers hold f32 that were rounded to tf32.
__device__ __forceinline__ void multiply_fragments(f32, f32, float (&sums)[4],
                                                   const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Sums are modulo 2^32.
__device__ __forceinline__ void multiply_fragments(s8, s8, int (&sums)[4], const unsigned (&a)[4],
                                                   unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// sm_80 to sm_89 have f64 as 8 x 8 x 4 only: sums[0] and sums[1] are then one product's, with a[0]
// and b0, and so on.
__device__ __forceinline__ void multiply_fragments(f64, f64, double (&sums)[4],
                                                   const double (&a)[4], double b0, double b1) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#else
  for (int i = 0; i < 4; ++i) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sums[i % 2 * 2]), "+d"(sums[i % 2 * 2 + 1])
        : "d"(a[i]), "d"(i < 2 ? b0 : b1));
  }
#endif
}

// fp8. Slow on sm_90 and sm_100 (../mma/shape.h).
__device__ __forceinline__ void multiply_fragments(e4m3, e4m3, float (&sums)[4],
                                                   const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_fragments(e4m3, e5m2, float (&sums)[4],
                                                   const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_fragments(e5m2, e4m3, float (&sums)[4],
                                                   const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_fragments(e5m2, e5m2, float (&sums)[4],
                                                   const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

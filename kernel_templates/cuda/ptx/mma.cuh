// Multiply-accumulate of a warp on the tensor cores.
//
//   Mma<type of A, type of B>::mma_sync(a, b, d)     d += A * B
//
// A is 16 x k, B is k x 8, and D is 16 x 8. A row of A takes 8 registers. Each holds neighbouring
// elements along k: 4 bytes, or 8 bytes for f64. Let g = lane / 4 and t = lane % 4. A lane holds
// these registers, numbered along k:
//
//   a[0]  row g,     register t           b[0]  column g, register t
//   a[1]  row g + 8, register t           b[1]  column g, register t + 4
//   a[2]  row g,     register t + 4
//   a[3]  row g + 8, register t + 4
//
//   d[0], d[1]  row g,     columns 2 t and 2 t + 1
//   d[2], d[3]  row g + 8, columns 2 t and 2 t + 1
//
// PTX ISA, "Warp Level Matrix Instructions: mma": "Matrix Fragments for mma.m16n8k16 with floating
// point type" (f16, bf16), "... for mma.m16n8k8" (tf32, f64), "... for mma.m16n8k32" (s8, fp8).
#pragma once

#include "../common/number.cuh"

template <class TypeA, class TypeB>
struct Mma;

template <>
struct Mma<f16, f16> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  float (&d)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
template <>
struct Mma<bf16, bf16> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  float (&d)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
// The registers hold f32, rounded to tf32.
template <>
struct Mma<f32, f32> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  float (&d)[4]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
// The sums are modulo 2^32.
template <>
struct Mma<s8, s8> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  int (&d)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
// For f64, sm_80 to sm_89 have only an 8 x 8 x 4 instruction. It runs once for each register of A.
template <>
struct Mma<f64, f64> {
  static __device__ __forceinline__ void mma_sync(const double (&a)[4], const double (&b)[2],
                                                  double (&d)[4]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int i = 0; i < 4; ++i) {
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1])
          : "d"(a[i]), "d"(i < 2 ? b[0] : b[1]));
    }
#endif
  }
};

// f64 with 16 registers along k (sm_90 and later). In the order of k, a lane holds a[2 i] and
// a[2 i + 1], rows g and g + 8 of register t + 4 i, and b[i], column g of register t + 4 i.
__device__ __forceinline__ void mma_sync_k16(const double (&a)[8], const double (&b)[4],
                                             double* d) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
        "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

// The fp8 instructions are slow on sm_90 and sm_100 (../mma/shape.h).
template <>
struct Mma<e4m3, e4m3> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  float (&d)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
template <>
struct Mma<e4m3, e5m2> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  float (&d)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
template <>
struct Mma<e5m2, e4m3> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  float (&d)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
template <>
struct Mma<e5m2, e5m2> {
  static __device__ __forceinline__ void mma_sync(const unsigned (&a)[4], const unsigned (&b)[2],
                                                  float (&d)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

// Asynchronous matrix multiply-accumulate of a warpgroup: four warps multiply matrices that lie in
// shared memory (sm_90a).
//
//   Wgmma<type of A, type of B, n>::mma_async(scale_d, a, b, d)     d = scale_d * d + A * B
//   WgmmaAFromRegisters<n>::mma_async(a, b, d)         d += A * B, with an f32 A from registers
//
// scale_d is 0 or 1. A has 64 rows and B has n columns, each of 32 bytes along K. Operands in
// shared memory are given by descriptors. An instruction names each accumulator, so a kernel
// defines the structs once, for its width n (a multiple of 8, 16 to 256):
//
//   DEFINE_WGMMA(n, tnsp_a, tnsp_b)      tnsp_a, tnsp_b: 1 if 16-bit A, B are MN-major, else 0
//
// The instructions are asynchronous. Call wgmma_fence() before the first one, wgmma_commit_group()
// after the last one, and wgmma_wait_group() before the accumulators or operands are accessed.
//
// There are 64 x n accumulators. Let w be the warp's index in the warpgroup, g = lane / 4 and t =
// lane % 4. For each n0 that is a multiple of 8, a lane has
//
//   d[n0 / 2], d[n0 / 2 + 1]           row 16 w + g, columns n0 + 2 t and n0 + 2 t + 1
//   d[n0 / 2 + 2], d[n0 / 2 + 3]       row 16 w + g + 8, the same columns
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma".
#pragma once

#include "../common/number.cuh"
#include "wgmma_operands.cuh"

// The descriptor of an operand in shared memory ("Matrix Descriptor Format"). The operand has rows
// of 128 bytes, swizzled by TMA. Eight rows are a swizzle atom. Atoms below each other are
// `stride_bytes` apart. If the operand is MN-major, atom columns are `leading_bytes` apart. A
// descriptor counts in units of 16 bytes, and so does `address` (descriptor_address). Adding to a
// descriptor therefore moves the position that it describes.
__device__ __forceinline__ unsigned long long make_descriptor(unsigned address, int stride_bytes,
                                                              int leading_bytes) {
  constexpr unsigned swizzle_128_bytes = 1u << 30;
  const unsigned low = address + (static_cast<unsigned>(leading_bytes >> 4) << 16);
  const unsigned high = stride_bytes >> 4 | swizzle_128_bytes;
  return low | static_cast<unsigned long long>(high) << 32;
}
// An address in shared memory as a descriptor holds it: without the upper bits, which name a CTA of
// the cluster.
__device__ __forceinline__ unsigned descriptor_address(unsigned address) {
  return (address & 0x3ffff) >> 4;
}

// wgmma.fence, wgmma.commit_group, wgmma.wait_group
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most `pending` (a constant, 0 to 2) groups are in flight.
__device__ __forceinline__ void wgmma_wait_group(int pending) {
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  } else if (pending == 1) {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  } else {
    asm volatile("wgmma.wait_group.sync.aligned 2;" ::: "memory");
  }
}

// A register fence: keeps the compiler from accessing accumulators while wgmma still runs.
template <int kCount>
__device__ __forceinline__ void fence_registers(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    asm volatile("" : "+f"(d[i])::"memory");
  }
}
template <int kCount>
__device__ __forceinline__ void fence_registers(int (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    asm volatile("" : "+r"(d[i])::"memory");
  }
}

// A lane's fragment of 64 rows of A by 32 bytes along K: two pairs of 32-bit registers. With 32-bit
// elements, the lower half of a pair has row 16 w + g and the upper half has row 16 w + g + 8. The
// first pair has k = t, and the second has k = t + 4.
struct FragmentA {
  unsigned long long pair[2];
};

// ---- The instruction, for every width -----------------------------------------------------------
template <class TypeA, class TypeB, int kWidth>
struct Wgmma;
template <int kWidth>
struct WgmmaAFromRegisters;

// %0 and %1 are the descriptors and %2 is scale_d. They are unchanged, but are listed as outputs so
// that their numbers do not depend on the width. `types`: the end of the instruction's name, from
// its K on ("k16.f32.f16.f16"); `rest`: the operands after the predicate; `c`: the asm constraint
// of the accumulators.
#define WGMMA_ASM(n, types, rest, c) \
  asm volatile(                                                                    \
      "{\n"                                                                        \
      ".reg .pred accumulates;\n"                                                  \
      "setp.ne.b32 accumulates, %2, 0;\n"                                          \
      "wgmma.mma_async.sync.aligned.m64n" DIGITS_OF(n) types " {" NAMES_OF(n) "},"  \
      " %0, %1, accumulates" rest ";\n"                                            \
      "}"                                                                          \
      : "+l"(a), "+l"(b), "+r"(scale_d), ACCUMULATORS_OF(n)(c)                     \
      :                                                                            \
      : "memory")

// The same with A from pairs of registers. This instruction always accumulates.
#define WGMMA_A_FROM_REGISTERS_ASM(n, types, rest, c) \
  asm volatile(                                                                    \
      "{\n"                                                                        \
      ".reg .pred accumulates;\n"                                                  \
      ".reg .b32 a0, a1, a2, a3;\n"                                                \
      "setp.eq.b32 accumulates, 0, 0;\n"                                           \
      "mov.b64 {a0, a1}, %0;\n"                                                    \
      "mov.b64 {a2, a3}, %1;\n"                                                    \
      "wgmma.mma_async.sync.aligned.m64n" DIGITS_OF(n) types " {" NAMES_OF(n) "},"  \
      " {a0, a1, a2, a3}, %2, accumulates" rest ";\n"                              \
      "}"                                                                          \
      : "+l"(a.pair[0]), "+l"(a.pair[1]), "+l"(b), ACCUMULATORS_OF(n)(c)           \
      :                                                                            \
      : "memory")

// The struct for one pair of types.
#define DEFINE_WGMMA_OF(type_a, type_b, accumulator, n, types, rest, c)                 \
  template <>                                                                           \
  struct Wgmma<type_a, type_b, n> {                                                     \
    static __device__ __forceinline__ void mma_async(int scale_d, unsigned long long a, \
                                                     unsigned long long b,              \
                                                     accumulator (&d)[n / 2]) {         \
      WGMMA_ASM(n, types, rest, c);                                                     \
    }                                                                                   \
  };

// 16-bit operands may be K-major or MN-major. Others must be K-major. tf32 uses the upper 19 bits
// of an f32.
#define DEFINE_WGMMA(n, tnsp_a, tnsp_b)                                                  \
  DEFINE_WGMMA_OF(f16, f16, float, n, "k16.f32.f16.f16",                                 \
                  ", 1, 1, " DIGITS_OF(tnsp_a) ", " DIGITS_OF(tnsp_b), "+f")             \
  DEFINE_WGMMA_OF(bf16, bf16, float, n, "k16.f32.bf16.bf16",                             \
                  ", 1, 1, " DIGITS_OF(tnsp_a) ", " DIGITS_OF(tnsp_b), "+f")             \
  DEFINE_WGMMA_OF(f32, f32, float, n, "k8.f32.tf32.tf32", ", 1, 1", "+f")                \
  DEFINE_WGMMA_OF(e4m3, e4m3, float, n, "k32.f32.e4m3.e4m3", ", 1, 1", "+f")             \
  DEFINE_WGMMA_OF(e4m3, e5m2, float, n, "k32.f32.e4m3.e5m2", ", 1, 1", "+f")             \
  DEFINE_WGMMA_OF(e5m2, e4m3, float, n, "k32.f32.e5m2.e4m3", ", 1, 1", "+f")             \
  DEFINE_WGMMA_OF(e5m2, e5m2, float, n, "k32.f32.e5m2.e5m2", ", 1, 1", "+f")             \
  DEFINE_WGMMA_OF(s8, s8, int, n, "k32.s32.s8.s8", "", "+r")                             \
  template <>                                                                            \
  struct WgmmaAFromRegisters<n> {                                                        \
    static __device__ __forceinline__ void mma_async(FragmentA& a, unsigned long long b, \
                                                     float (&d)[n / 2]) {                \
      WGMMA_A_FROM_REGISTERS_ASM(n, "k8.f32.tf32.tf32", ", 1, 1", "+f");                 \
    }                                                                                    \
  };

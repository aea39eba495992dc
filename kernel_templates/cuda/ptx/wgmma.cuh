// Products of a warpgroup: four warps multiply matrices that lie in shared memory (sm_90a).
//
//   multiply_async(a type, b type, keep, a, b, sums)      sums = (keep ? sums : 0) + A * B
//   add_products_async(a type, b type, a, b, sums)        sums += A * B, with A from registers
//
// A is 64 rows and B is BLOCK_N columns of 32 bytes along K each; otherwise both are given by
// descriptors.
// The products run while the threads go on: begin_products() before the first of them,
// end_products() after the last, and wait_for_products() before the sums or the operands are
// touched.
//
// Of the 64 x BLOCK_N sums, with w the warp in the warpgroup, g = lane / 4 and t = lane % 4, a lane
// has for every 8 columns from n on
//
//   sums[n / 2], sums[n / 2 + 1]       row 16 w + g, columns n + 2 t and n + 2 t + 1
//   sums[n / 2 + 2], sums[n / 2 + 3]   the same of row 16 w + g + 8
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma".
#pragma once

#include "../common/number.cuh"
#include "wgmma_operands.cuh"

// Where an operand lies in shared memory ("Matrix Descriptor Format"), in lines of 128 bytes as
// tensor copies make them. Eight lines that follow each other are a unit of the swizzle, units are
// `unit_stride` bytes apart; where lines do not follow K, slabs of lines are `slab_stride` apart.
// A descriptor counts in 16 bytes. `place` does, too, so that an addition leads from one descriptor
// to the next.
__device__ __forceinline__ unsigned long long make_descriptor(unsigned place, int unit_stride,
                                                              int slab_stride) {
  constexpr unsigned swizzle_of_128_bytes = 1u << 30;
  const unsigned low = place + (static_cast<unsigned>(slab_stride >> 4) << 16);
  const unsigned high = unit_stride >> 4 | swizzle_of_128_bytes;
  return low | static_cast<unsigned long long>(high) << 32;
}
// Of an address in shared memory. In a cluster its upper bits tell the block: they are left out.
__device__ __forceinline__ unsigned place_of(unsigned address) {
  return (address & 0x3ffff) >> 4;
}

// wgmma.fence, wgmma.commit_group, wgmma.wait_group
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most `pending` (a constant, 0 to 2) groups of products run.
__device__ __forceinline__ void wait_for_products(int pending) {
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  } else if (pending == 1) {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  } else {
    asm volatile("wgmma.wait_group.sync.aligned 2;" ::: "memory");
  }
}

constexpr int kSumsOfRowBlock = BLOCK_N / 2;  // a lane's

// Keeps the compiler from moving what it does with the sums to where the products still run.
__device__ __forceinline__ void pin(float (&sums)[kSumsOfRowBlock]) {
#pragma unroll
  for (int i = 0; i < kSumsOfRowBlock; ++i) {
    asm volatile("" : "+f"(sums[i])::"memory");
  }
}
__device__ __forceinline__ void pin(int (&sums)[kSumsOfRowBlock]) {
#pragma unroll
  for (int i = 0; i < kSumsOfRowBlock; ++i) {
    asm volatile("" : "+r"(sums[i])::"memory");
  }
}

// A lane's part of 64 rows of A by 32 bytes along K, as four registers of 32 bits in pairs.
// Elements of 32 bits: row 16 w + g in the lower and 16 w + g + 8 in the upper half of a pair, at k
// = t in the first and k = t + 4 in the second.
struct FragmentOfA {
  unsigned long long pair[2];
};

// ---- The instruction, for every width -----------------------------------------------------------
// %0 and %1 are the descriptors and %2 whether to keep the sums; they are not changed, but stand
// among the outputs so that their numbers do not depend on the width.
// `types`: from "k16" on; `rest`: what follows the predicate; `c`: the sums' constraint.
#define MULTIPLY_ASYNC(types, rest, c)                             \
  asm volatile(                                                    \
      "{\n"                                                        \
      ".reg .pred keeps;\n"                                        \
      "setp.ne.b32 keeps, %2, 0;\n"                                \
      "wgmma.mma_async.sync.aligned.m64n" DIGITS_OF(BLOCK_N) types \
      " {" NAMES_OF(BLOCK_N) "}, %0, %1, keeps" rest               \
                             ";\n"                                 \
                             "}"                                   \
      : "+l"(a), "+l"(b), "+r"(keep), SUMS_OF(BLOCK_N)(c)          \
      :                                                            \
      : "memory")

// The same with A from registers, in pairs; the sums are always kept.
#define ADD_PRODUCTS_ASYNC(types, rest, c)                             \
  asm volatile(                                                        \
      "{\n"                                                            \
      ".reg .pred keeps;\n"                                            \
      ".reg .b32 a0, a1, a2, a3;\n"                                    \
      "setp.eq.b32 keeps, 0, 0;\n"                                     \
      "mov.b64 {a0, a1}, %0;\n"                                        \
      "mov.b64 {a2, a3}, %1;\n"                                        \
      "wgmma.mma_async.sync.aligned.m64n" DIGITS_OF(BLOCK_N) types     \
      " {" NAMES_OF(BLOCK_N) "}, {a0, a1, a2, a3}, %2, keeps" rest     \
                             ";\n"                                     \
                             "}"                                       \
      : "+l"(a.pair[0]), "+l"(a.pair[1]), "+l"(b), SUMS_OF(BLOCK_N)(c) \
      :                                                                \
      : "memory")

// Of 16 bits, an operand's lines may follow K or not; of other sizes they must follow K.
#define NOT_0 "1"
#define NOT_1 "0"
#define LINES_DO_NOT_FOLLOW_K ", " DIGITS_OF(ORDER_A) ", " NOT_OF(ORDER_B)
#define NOT_OF(order) PASTE(NOT_, order)

__device__ __forceinline__ void multiply_async(f16, f16, int keep, unsigned long long a,
                                               unsigned long long b,
                                               float (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k16.f32.f16.f16", ", 1, 1" LINES_DO_NOT_FOLLOW_K, "+f");
}
__device__ __forceinline__ void multiply_async(bf16, bf16, int keep, unsigned long long a,
                                               unsigned long long b,
                                               float (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k16.f32.bf16.bf16", ", 1, 1" LINES_DO_NOT_FOLLOW_K, "+f");
}
// Of each f32 the upper 19 bits count.
__device__ __forceinline__ void multiply_async(f32, f32, int keep, unsigned long long a,
                                               unsigned long long b,
                                               float (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k8.f32.tf32.tf32", ", 1, 1", "+f");
}
__device__ __forceinline__ void add_products_async(f32, f32, FragmentOfA& a, unsigned long long b,
                                                   float (&sums)[kSumsOfRowBlock]) {
  ADD_PRODUCTS_ASYNC("k8.f32.tf32.tf32", ", 1, 1", "+f");
}
__device__ __forceinline__ void multiply_async(e4m3, e4m3, int keep, unsigned long long a,
                                               unsigned long long b,
                                               float (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k32.f32.e4m3.e4m3", ", 1, 1", "+f");
}
__device__ __forceinline__ void multiply_async(e4m3, e5m2, int keep, unsigned long long a,
                                               unsigned long long b,
                                               float (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k32.f32.e4m3.e5m2", ", 1, 1", "+f");
}
__device__ __forceinline__ void multiply_async(e5m2, e4m3, int keep, unsigned long long a,
                                               unsigned long long b,
                                               float (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k32.f32.e5m2.e4m3", ", 1, 1", "+f");
}
__device__ __forceinline__ void multiply_async(e5m2, e5m2, int keep, unsigned long long a,
                                               unsigned long long b,
                                               float (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k32.f32.e5m2.e5m2", ", 1, 1", "+f");
}
__device__ __forceinline__ void multiply_async(s8, s8, int keep, unsigned long long a,
                                               unsigned long long b, int (&sums)[kSumsOfRowBlock]) {
  MULTIPLY_ASYNC("k32.s32.s8.s8", "", "+r");
}

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

#include "number.cuh"

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
// Until at most `pending` (a constant, 0 or 1) groups of products run.
__device__ __forceinline__ void wait_for_products(int pending) {
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  } else {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
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
// An asm names its operands one by one: NAMES_n are those of the n / 2 sums, SUMS_n(c) the sums
// with their constraint. %0 and %1 are the descriptors and %2 whether to keep the sums; they are
// not changed, but stand among the outputs so that their numbers do not depend on n.
#define NAMES_16 "%3, %4, %5, %6, %7, %8, %9, %10"
#define NAMES_32 \
  NAMES_16       \
  ", "           \
  "%11, %12, %13, %14, %15, %16, %17, %18"
#define NAMES_48 \
  NAMES_32       \
  ", "           \
  "%19, %20, %21, %22, %23, %24, %25, %26"
#define NAMES_64 \
  NAMES_48       \
  ", "           \
  "%27, %28, %29, %30, %31, %32, %33, %34"
#define NAMES_80 \
  NAMES_64       \
  ", "           \
  "%35, %36, %37, %38, %39, %40, %41, %42"
#define NAMES_96 \
  NAMES_80       \
  ", "           \
  "%43, %44, %45, %46, %47, %48, %49, %50"
#define NAMES_112 \
  NAMES_96        \
  ", "            \
  "%51, %52, %53, %54, %55, %56, %57, %58"
#define NAMES_128 \
  NAMES_112       \
  ", "            \
  "%59, %60, %61, %62, %63, %64, %65, %66"
#define NAMES_144 \
  NAMES_128       \
  ", "            \
  "%67, %68, %69, %70, %71, %72, %73, %74"
#define NAMES_160 \
  NAMES_144       \
  ", "            \
  "%75, %76, %77, %78, %79, %80, %81, %82"
#define NAMES_176 \
  NAMES_160       \
  ", "            \
  "%83, %84, %85, %86, %87, %88, %89, %90"
#define NAMES_192 \
  NAMES_176       \
  ", "            \
  "%91, %92, %93, %94, %95, %96, %97, %98"
#define NAMES_208 \
  NAMES_192       \
  ", "            \
  "%99, %100, %101, %102, %103, %104, %105, %106"
#define NAMES_224 \
  NAMES_208       \
  ", "            \
  "%107, %108, %109, %110, %111, %112, %113, %114"
#define NAMES_240 \
  NAMES_224       \
  ", "            \
  "%115, %116, %117, %118, %119, %120, %121, %122"
#define NAMES_256 \
  NAMES_240       \
  ", "            \
  "%123, %124, %125, %126, %127, %128, %129, %130"
#define SUMS_16(c) EIGHT(c, 0)
#define SUMS_32(c) SUMS_16(c), EIGHT(c, 8)
#define SUMS_48(c) SUMS_32(c), EIGHT(c, 16)
#define SUMS_64(c) SUMS_48(c), EIGHT(c, 24)
#define SUMS_80(c) SUMS_64(c), EIGHT(c, 32)
#define SUMS_96(c) SUMS_80(c), EIGHT(c, 40)
#define SUMS_112(c) SUMS_96(c), EIGHT(c, 48)
#define SUMS_128(c) SUMS_112(c), EIGHT(c, 56)
#define SUMS_144(c) SUMS_128(c), EIGHT(c, 64)
#define SUMS_160(c) SUMS_144(c), EIGHT(c, 72)
#define SUMS_176(c) SUMS_160(c), EIGHT(c, 80)
#define SUMS_192(c) SUMS_176(c), EIGHT(c, 88)
#define SUMS_208(c) SUMS_192(c), EIGHT(c, 96)
#define SUMS_224(c) SUMS_208(c), EIGHT(c, 104)
#define SUMS_240(c) SUMS_224(c), EIGHT(c, 112)
#define SUMS_256(c) SUMS_240(c), EIGHT(c, 120)
#define EIGHT(c, i)                                                                           \
  c(sums[i]), c(sums[i + 1]), c(sums[i + 2]), c(sums[i + 3]), c(sums[i + 4]), c(sums[i + 5]), \
      c(sums[i + 6]), c(sums[i + 7])
#define PASTE(a, b) a##b
#define NAMES_OF(n) PASTE(NAMES_, n)
#define SUMS_OF(n) PASTE(SUMS_, n)
#define TEXT_OF(n) #n
#define DIGITS_OF(n) TEXT_OF(n)

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

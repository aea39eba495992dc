// Turns the problem's defines into constants, and computes the offsets of elements of A, B and D. A
// kernel may define other defaults before it includes this file.
#pragma once

#include "../../problem/activation.h"
#include "arguments.cuh"
#include "groups.cuh"
#include "number.cuh"
#include "scaling.cuh"

using namespace tunedgemm::internal;

#ifndef TYPE_A
#define TYPE_A f32  // the name of an element type in problem/data_type.h
#endif
#ifndef TYPE_B
#define TYPE_B f32
#endif
#ifndef TYPE_D
#define TYPE_D f32  // also of C and of the bias
#endif
#ifndef ACCUMULATOR
#define ACCUMULATOR f32  // f64 f32 s32
#endif
#ifndef ORDER_A
#define ORDER_A 0  // of the M x K matrix op(A): 0 row-major, 1 column-major
#endif
#ifndef ORDER_B
#define ORDER_B 0  // of the K x N matrix op(B)
#endif
#ifndef ALIGN_A
#define ALIGN_A 16  // of every row (or column) in bytes: 16 8 4 2 1
#endif
#ifndef ALIGN_B
#define ALIGN_B 16
#endif
#ifndef ALIGN_C
#define ALIGN_C 16
#endif
#ifndef ALIGN_D
#define ALIGN_D 16
#endif
#ifndef READ_C
#define READ_C 0  // 0: beta is zero, and C is never read
#endif
#ifndef BIAS
#define BIAS 0  // 0 none, 1 one value per row of D, 2 one value per column
#endif
#ifndef ACTIVATION
#define ACTIVATION 0  // a number of problem/activation.h
#endif
#ifndef NUMERICS
#define NUMERICS 0  // 0 ieee 1 tf32 2 emulated 3 fast 4 promoted
#endif

using TypeA = TYPE_A;
using TypeB = TYPE_B;
using TypeD = TYPE_D;
using Accumulator = ACCUMULATOR;
constexpr bool kAccumulatorIsInteger = static_cast<Accumulator>(0.5) == 0;

enum class Order { kRowMajor = 0, kColumnMajor = 1 };
constexpr Order kOrderA = static_cast<Order>(ORDER_A);
constexpr Order kOrderB = static_cast<Order>(ORDER_B);

constexpr int kAlignA = ALIGN_A;
constexpr int kAlignB = ALIGN_B;
constexpr int kAlignC = ALIGN_C;
constexpr int kAlignD = ALIGN_D;

enum class Bias { kNone = 0, kPerRow = 1, kPerColumn = 2 };
enum class Numerics { kIeee = 0, kTf32 = 1, kEmulated = 2, kFast = 3, kPromoted = 4 };
constexpr bool kReadC = READ_C != 0;
constexpr Bias kBias = static_cast<Bias>(BIAS);
constexpr Activation kActivation = static_cast<Activation>(ACTIVATION);
constexpr Numerics kNumerics = static_cast<Numerics>(NUMERICS);

// The first element of the matrix with this batch index.
__device__ __forceinline__ const TypeA* matrix_a(const Arguments& arguments,
                                                 long long batch_index) {
  return static_cast<const TypeA*>(arguments.a) + batch_index * arguments.batch_stride_a;
}
__device__ __forceinline__ const TypeB* matrix_b(const Arguments& arguments,
                                                 long long batch_index) {
  return static_cast<const TypeB*>(arguments.b) + batch_index * arguments.batch_stride_b;
}
__device__ __forceinline__ TypeD* matrix_d(const Arguments& arguments, long long batch_index) {
  return static_cast<TypeD*>(arguments.d) + batch_index * arguments.batch_stride_d;
}

// Offsets of op(A)[m, k], op(B)[k, n] and D[m, n], in elements.
__device__ __forceinline__ long long offset_a(const Arguments& arguments, long long m,
                                              long long k) {
  return kOrderA == Order::kRowMajor ? m * arguments.lda + k : k * arguments.lda + m;
}
__device__ __forceinline__ long long offset_b(const Arguments& arguments, long long k,
                                              long long n) {
  return kOrderB == Order::kRowMajor ? k * arguments.ldb + n : n * arguments.ldb + k;
}
__device__ __forceinline__ long long offset_d(const Arguments& arguments, long long m,
                                              long long n) {
  return m * arguments.ldd + n;
}

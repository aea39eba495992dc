#pragma once

// The problem's compile-time properties for every host kernel (types, orders and epilogue), and the
// positions of A, B and their elements. Extents and strides are run-time values in Arguments.

#include "../../cuda/common/arguments.cuh"
#include "../../cuda/common/groups.cuh"
#include "../../cuda/common/scaling.cuh"
#include "../../problem/activation.h"
#include "number.h"

using namespace tunedgemm::internal;

#ifndef TYPE_A
#define TYPE_A f32  // the name of an element type in problem/data_type.h
#endif
#ifndef TYPE_B
#define TYPE_B f32
#endif
#ifndef TYPE_D
#define TYPE_D f32  // of C, D and the bias
#endif
#ifndef ACCUMULATOR
#define ACCUMULATOR f32  // f64, f32, s32
#endif
#ifndef ORDER_A
#define ORDER_A 0  // of op(A), M x K: 0 row-major, 1 column-major
#endif
#ifndef ORDER_B
#define ORDER_B 0  // of op(B), K x N
#endif
#ifndef READ_C
#define READ_C 0  // 1: adds beta * C
#endif
#ifndef BIAS
#define BIAS 0  // 1: one value for each row of D, 2: one for each column
#endif
#ifndef ACTIVATION
#define ACTIVATION 0  // a number of problem/activation.h
#endif
#ifndef SWAP_AB
#define SWAP_AB 0  // 1: the host has exchanged A and B, and asks for the transpose of D
#endif

using TypeA = TYPE_A;
using TypeB = TYPE_B;
using TypeD = TYPE_D;
using Accumulator = ACCUMULATOR;

constexpr bool kRowMajorA = ORDER_A == 0;
constexpr bool kRowMajorB = ORDER_B == 0;
constexpr bool kReadC = READ_C == 1;
constexpr int kBias = BIAS;
constexpr int kBiasPerRow = 1;
constexpr int kBiasPerColumn = 2;
constexpr bool kSwapAb = SWAP_AB == 1;
constexpr auto kActivation = static_cast<Activation>(ACTIVATION);

inline const TypeA* matrix_a(const Arguments& arguments, long long batch_index) {
  return static_cast<const TypeA*>(arguments.a) + batch_index * arguments.batch_stride_a;
}

inline const TypeB* matrix_b(const Arguments& arguments, long long batch_index) {
  return static_cast<const TypeB*>(arguments.b) + batch_index * arguments.batch_stride_b;
}

inline long long offset_a(const Arguments& arguments, long long m, long long k) {
  return kRowMajorA ? m * arguments.lda + k : k * arguments.lda + m;
}

inline long long offset_b(const Arguments& arguments, long long k, long long n) {
  return kRowMajorB ? k * arguments.ldb + n : n * arguments.ldb + k;
}

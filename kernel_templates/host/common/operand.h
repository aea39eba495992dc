// Where the elements of A and B lie.
#pragma once

#include "../../cuda/common/arguments.cuh"
#include "problem.h"

inline const TypeA* entry_of_a(const Arguments& arguments, long long entry) {
  return static_cast<const TypeA*>(arguments.a) + entry * arguments.batch_stride_a;
}

inline const TypeB* entry_of_b(const Arguments& arguments, long long entry) {
  return static_cast<const TypeB*>(arguments.b) + entry * arguments.batch_stride_b;
}

inline long long offset_a(const Arguments& arguments, long long m, long long k) {
  return kRowMajorA ? m * arguments.lda + k : k * arguments.lda + m;
}

inline long long offset_b(const Arguments& arguments, long long k, long long n) {
  return kRowMajorB ? k * arguments.ldb + n : n * arguments.ldb + k;
}

#pragma once

// The linked-in kernel, for machines without a C++ compiler. It is one blocked algorithm for each
// accumulator type. Element types, orders and epilogue are run-time parameters.

#include <cstdint>

#include "kernel_templates/problem/problem.h"
#include "runtime/host/thread_team.h"

namespace tunedgemm::internal {

/// The properties that compiled kernels get from their defines.
struct ProblemClass {
  DataType a = DataType::kF32, b = DataType::kF32, d = DataType::kF32;
  Order order_a = Order::kRowMajor, order_b = Order::kRowMajor;
  bool read_c = false;
  Bias bias = Bias::kNone;
  Activation activation = Activation::kNone;
  Scaling scaling_a = Scaling::kTensor, scaling_b = Scaling::kTensor;
  GroupKind group_kind = GroupKind::kNone;
};

ProblemClass problem_class(const Problem& problem);

/// The bytes of scratch that each thread needs.
std::int64_t built_in_scratch_bytes();

/// Computes any problem of the class. `problem_class` must outlive the work.
TeamWork built_in_work(const ProblemClass& problem_class);

}  // namespace tunedgemm::internal

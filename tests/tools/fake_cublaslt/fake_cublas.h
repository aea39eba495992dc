#pragma once

// A libcublas beside the fake libcublasLt. It computes nothing and records its calls.

#include <cstdint>
#include <vector>

namespace tunedgemm::internal {

/// The arguments of the last multiplication, in the library's order.
struct FakeProduct {
  bool is_batched = false;
  std::vector<std::int64_t> numbers;  ///< operations, extents, types, strides, compute, algorithm
  double alpha = 0, beta = 0;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  /// Whether the stream was set, and the workspace after it, since the multiplication before.
  bool is_prepared = false;
};

}  // namespace tunedgemm::internal

/// Tests find this function by dlsym.
extern "C" const tunedgemm::internal::FakeProduct* fake_cublas_last_product();

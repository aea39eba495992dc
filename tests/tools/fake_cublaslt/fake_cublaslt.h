#pragma once

// A libcublasLt for $TUNEDGEMM_CUBLASLT that computes nothing and records its calls. Like the real
// one (13.1) on an H200, it proposes nothing for an operation with scale pointers.

#include <array>
#include <cstdint>
#include <map>

namespace tunedgemm::internal {

/// Maps the manual's numbers of attributes to their values as integers; negative keys are the
/// arguments that created a layout.
using FakeAttributes = std::map<int, std::int64_t>;
enum FakeLayoutNumber { kFakeType = -1, kFakeRows = -2, kFakeColumns = -3, kFakeStride = -4 };

/// The last call of cublasLtMatmulAlgoGetHeuristic; the alpha and operation of cublasLtMatmul.
struct FakeCall {
  FakeAttributes operation, preference;
  std::array<FakeAttributes, 4> layouts;  ///< A, B, C, D in the library's order
  float alpha = 0;
};

}  // namespace tunedgemm::internal

/// Tests find this function by dlsym.
extern "C" const tunedgemm::internal::FakeCall* fake_cublaslt_last_call();

#pragma once

// A libcublasLt that computes nothing and notes what it was asked: for $TUNEDGEMM_CUBLASLT. As the
// real one (13.1) does on an H200, it proposes nothing for an operation with scale pointers.

#include <array>
#include <cstdint>
#include <map>

namespace tunedgemm::internal {

/// Attributes by the manual's numbers, as whole numbers; what layouts were made with by negative
/// ones.
using FakeAttributes = std::map<int, std::int64_t>;
enum FakeLayoutNumber { kFakeType = -1, kFakeRows = -2, kFakeColumns = -3, kFakeStride = -4 };

/// The last call of cublasLtMatmulAlgoGetHeuristic, and alpha of the last cublasLtMatmul.
struct FakeCall {
  FakeAttributes operation, preference;
  std::array<FakeAttributes, 4> layouts;  ///< A, B, C, D in the library's order
  float alpha = 0;
};

}  // namespace tunedgemm::internal

/// Found by dlsym under this name.
extern "C" const tunedgemm::internal::FakeCall* fake_cublaslt_last_call();

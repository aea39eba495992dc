#pragma once

// Operands: the layout of the matrices of a verified multiplication in one allocation. All other
// bytes, between the matrices and between their rows, are poison. All bits of poison are one, which
// is NaN in every float type. A kernel that reads poison computes a wrong result. A kernel that
// overwrites poison between the rows of D or in the guards around D is detected.
//
//     | guard | A | guard | B | guard | C | guard | bias | guard | scales | guard | groups |
//     | guard | D | guard |

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/cuda/reference/tasks.cuh"
#include "kernel_templates/problem/problem.h"
#include "runtime/evaluation/error_bound.h"

namespace tunedgemm::internal {

/// The byte offsets at which the matrices begin. A matrix whose alignment in the problem is below
/// 16 bytes has exactly this alignment, so that a kernel that assumes more fails.
struct OperandLayout {
  std::int64_t a = 0, b = 0, c = 0, bias = 0, scale_a = 0, scale_b = 0, groups = 0, d = 0;
  std::int64_t d_region = 0;        ///< start of D and its guards: a multiple of 8
  std::int64_t d_region_bytes = 0;  ///< a multiple of 8
  std::int64_t bytes = 0;           ///< of the allocation: a multiple of 256

  friend bool operator==(const OperandLayout&, const OperandLayout&) = default;
};

/// Precondition: the problem is canonical. C has no space of its own if it is not read, or if it is
/// D.
OperandLayout operand_layout(const Problem& problem);

/// The groups of a grouped product: of all sizes, also empty ones, for the verification. Problems
/// are tuned with equal groups and some skewed ones (kSkewedTurn), so that no kernel wins that only
/// suits full tiles.
enum class GroupSizes { kUneven, kEqual, kSkewed };
constexpr int kGroupSizes = 3;

/// A verified multiplication: the problem, its scalars and the seed of its inputs. The members
/// create tasks for a Verifier (verifier.h); operands begin at `base`.
struct VerifiedProblem {
  Problem problem;
  Scalars scalars;
  std::uint64_t seed = 0;
  OperandLayout layout;
  /// The numbers of groups of all GroupSizes, one after the other; for the memory at layout.groups.
  std::vector<int> group_numbers;

  VerifiedProblem(const Problem& canonical_problem, std::uint64_t input_seed);

  /// The arguments of a launch, without a workspace.
  Arguments arguments(std::byte* base, GroupSizes sizes = GroupSizes::kUneven) const;

  reference::Input a() const;
  reference::Input b() const;
  reference::Input c() const;
  reference::Input bias() const;
  /// Scales, which fp8 has; 1 for the other types. Those of rows and blocks are apart.
  reference::ScaleInput scale_a() const;
  reference::ScaleInput scale_b() const;
  /// Of the sum in an element of D.
  double scale(std::int64_t batch, std::int64_t m, std::int64_t n) const {
    return reference::scale_of_sum(scale_a(), scale_b(), batch, m, n, problem.k);
  }

  reference::FillTask fill_a(std::byte* base) const;
  /// Precondition: reads_c().
  reference::FillTask fill_c(std::byte* base) const;
  /// Precondition: the problem has a bias. Unlike the others, takes the place of its elements.
  reference::FillTask fill_bias(std::byte* elements) const;
  /// The tasks that fill A and B, and what the problem has of C, the bias and the scales.
  std::vector<reference::FillTask> fill_all(std::byte* base) const;

  bool reads_c() const { return problem.beta != ScalarClass::kZero; }

  /// `expected` receives sampling.rows * sampling.columns values.
  reference::GemmTask gemm(const reference::Sampling& sampling, double* expected,
                           std::byte* base) const;
  reference::CompareTask compare(const reference::Sampling& sampling, const double* expected,
                                 std::byte* base) const;
  /// The position of D's element in this column and row, which counts over all batch indices.
  reference::Element element(std::int64_t row, std::int64_t column) const;
  reference::EraseTask erase(std::byte* base) const;
  reference::OutOfBoundsTask find_out_of_bounds_writes(std::byte* base) const;
};

/// The elements of D to compare: all if that takes the reference at most `multiply_adds`
/// multiply-adds and `elements` values, else a sample that takes about as many. The distance
/// between sampled rows is odd, so that the sample covers every position in a tile. Columns are
/// sampled, too, if 64 whole rows would take more.
reference::Sampling sampling_for(const Problem& problem, double multiply_adds,
                                 std::int64_t elements, std::uint64_t seed);

}  // namespace tunedgemm::internal

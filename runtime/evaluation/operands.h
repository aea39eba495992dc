#pragma once

// Operands: where the matrices of one multiplication lie in a block of memory when its result is to
// be verified. Everything that belongs to no matrix (the space around them, and between rows where
// a leading dimension is larger) is poison, all bits one: NaN in every float type. A kernel that
// reads it gets a wrong result; one that writes it is found out.
//
//     | guard | A | guard | B | guard | C | guard | bias | guard | D | guard |

#include <cstddef>
#include <cstdint>

#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/cuda/reference/tasks.cuh"
#include "kernel_templates/problem/problem.h"
#include "runtime/evaluation/error_bound.h"

namespace tunedgemm::internal {

/// Offsets in bytes of the first elements, which are aligned as the problem says and no better.
struct OperandLayout {
  std::int64_t a = 0, b = 0, c = 0, bias = 0, d = 0;
  std::int64_t d_region = 0;        ///< D with the guards on its sides: a multiple of 8
  std::int64_t d_region_bytes = 0;  ///< likewise
  std::int64_t bytes = 0;           ///< of the block: a multiple of 256

  friend bool operator==(const OperandLayout&, const OperandLayout&) = default;
};

/// The problem is canonical. C takes no room of its own where it is not read or is D.
OperandLayout operand_layout(const Problem& problem);

/// One multiplication that is verified: the problem, its scalars and the seed of its inputs. What
/// it gives are tasks for a Verifier (verifier.h), for a block of operands at `base`.
struct VerifiedProblem {
  Problem problem;
  Scalars scalars;
  std::uint64_t seed = 0;
  OperandLayout layout;

  VerifiedProblem(const Problem& canonical_problem, std::uint64_t input_seed);

  /// Without workspace. `scales` points to scale_a and scale_b in the kernel's memory; used for
  /// fp8.
  Arguments arguments(std::byte* base, const float* scales) const;

  reference::Input a() const;
  reference::Input b() const;
  reference::Input c() const;
  reference::Input bias() const;

  reference::FillTask fill_a(std::byte* base) const;
  reference::FillTask fill_b(std::byte* base) const;
  /// Where reads_c().
  reference::FillTask fill_c(std::byte* base) const;
  /// Where there is a bias.
  reference::FillTask fill_bias(std::byte* base) const;

  bool reads_c() const { return problem.beta != ScalarClass::kZero; }

  /// `expected` takes sampling.rows * sampling.columns values.
  reference::GemmTask gemm(const reference::Sampling& sampling, double* expected) const;
  reference::CompareTask compare(const reference::Sampling& sampling, const double* expected,
                                 std::byte* base) const;
  reference::EraseTask erase(std::byte* base) const;
  reference::OutOfBoundsTask find_out_of_bounds_writes(std::byte* base) const;
};

/// Which elements of D to compare so that the reference takes about so many multiply-adds and keeps
/// at most so many values: all if possible, else rows at odd distances (no position in a tile is
/// left out), and columns too where K is long.
reference::Sampling sampling_for(const Problem& problem, double multiply_adds,
                                 std::int64_t elements, std::uint64_t seed);

}  // namespace tunedgemm::internal

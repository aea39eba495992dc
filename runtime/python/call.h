#pragma once

// The one translation of arrays to a problem and buffers of the C interface, for arrays of every
// library.

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/python/view.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// The arguments of a call that are no arrays.
struct Scalars {
  double alpha = 1, beta = 0, slope = 0.01;
  tunedgemm_activation activation = TUNEDGEMM_ACTIVATION_NONE;
  tunedgemm_numerics numerics = TUNEDGEMM_NUMERICS_DEFAULT;
  bool invariant = false;
  int sm_limit = 0;
  int rows_per_group = 0;
};

/// The groups of a grouped product, if it is one.
struct Grouping {
  tunedgemm_group_kind kind = TUNEDGEMM_GROUP_KIND_NONE;
  std::int64_t count = 0;
  const std::int32_t* numbers = nullptr;  ///< in memory of the device
};

/// The arrays of a call; null for those that it does not have.
struct Operands {
  const View *a = nullptr, *b = nullptr, *d = nullptr;
  const View *c = nullptr, *bias = nullptr, *scale_a = nullptr, *scale_b = nullptr;
  Grouping grouping;
};
inline const View* pointer_to(const std::optional<View>& view) {
  return view ? &*view : nullptr;
}

/// A problem with its buffers.
struct Call {
  tunedgemm_problem problem;
  tunedgemm_buffers buffers;
};

/// Throws std::invalid_argument unless a and b are matrices, or batches of them, and a has as many
/// columns as b has rows.
void check_factors(const View& a, const View& b);
/// The groups that an array of int32 divides a and b into: COUNTS of the rows of each a, RANGES of
/// the rows of a, or ROWS: their ends, which are along K if b is one matrix. Throws
/// std::invalid_argument if the shapes do not fit together. Precondition: check_factors().
Grouping grouping_of(const View& a, const View& b, const View& numbers, tunedgemm_group_kind kind);
/// The shape of D: (M, N) or (batch, M, N). Precondition: check_factors().
std::vector<std::int64_t> shape_of_result(const View& a, const View& b,
                                          const Grouping& grouping = {});

/// A value per column of D, if `bias` is (N,) or (1, N); a value per row, if it is (M, 1). Groups
/// have (groups, N). None if it has another shape, or is not packed.
std::optional<tunedgemm_bias> bias_of(const View& bias, std::int64_t m, std::int64_t n,
                                      const Grouping& grouping = {});

// Throw std::invalid_argument unless a view is on the device of A, or has the element type of D.
void check_device(const View& view, const View& a);
void check_type(const View& view, const View& d);

/// Without C, D itself is multiplied by beta and added. Throws std::invalid_argument if the arrays
/// do not fit together: the sentence names the argument, the value and the remedy.
Call call_of(const Operands& operands, const Scalars& scalars);

static_assert(std::has_unique_object_representations_v<tunedgemm_problem>,
              "problems are compared as bytes");

/// The element type of a result, unless the caller names one.
tunedgemm_type result_type(tunedgemm_type type_of_a);

}  // namespace tunedgemm::python

#pragma once

// Random multiplications for the kernel tests: difficult shapes; every element type, layout and
// epilogue; pointers and leading dimensions with exactly the alignment of their class.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// Element types and numerics.
struct TypeCase {
  DataType a, b, d;
  Numerics numerics;
};

/// Every supported combination.
std::vector<TypeCase> all_type_cases();
std::string to_text(const TypeCase& types);

using Random = std::mt19937_64;

/// A problem without its sizes, strides and batch: the properties that a kernel binary depends on.
/// `variant` selects the activation (modulo their number); the other properties are random.
Problem random_class(const TypeCase& types, std::string_view layout, int variant, Random& random);
/// One for the family: half of them are grouped if the family computes grouped products.
Problem random_class_of(const Family& family, const TypeCase& types, std::string_view layout,
                        int variant, Random& random);

/// The class with random sizes: 1, primes, tile sizes ± 1, K = 0; with padded leading dimensions;
/// and with batches of separate matrices or of one shared matrix. Canonical.
Problem random_sizes(const Problem& problem_class, Random& random);
/// The class with these sizes, packed as densely as the alignments allow.
Problem with_sizes(const Problem& problem_class, std::int64_t m, std::int64_t n, std::int64_t k);
/// The class with 1 to 16 rows or columns of D and 1000 of the others.
Problem narrow(const Problem& problem_class, Random& random);
/// The problem with 1 to 16 rows or columns of D. Canonical.
Problem narrowed(Problem problem, bool few_rows, Random& random);

}  // namespace tunedgemm::internal

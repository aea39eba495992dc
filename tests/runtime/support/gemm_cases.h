#pragma once

// Random multiplications for the tests of the kernels: shapes that hurt, every element type, layout
// and epilogue, pointers and leading dimensions aligned as their class says and no better.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// Which elements and how they are multiplied.
struct TypeCase {
  DataType a, b, d;
  Numerics numerics;
};

/// Every combination that the library computes.
std::vector<TypeCase> all_type_cases();
std::string to_text(const TypeCase& types);

using Random = std::mt19937_64;

/// Everything about a problem but its sizes, strides and batch: what one kernel binary is made for.
/// `variant` counts through the activations, so that as many variants have each; the rest is drawn.
Problem random_class(const TypeCase& types, std::string_view layout, int variant, Random& random);

/// The class with random sizes: 1, primes, tile sizes and their neighbours, K = 0; padded leading
/// dimensions, batches that are apart or share a matrix. Canonical.
Problem random_sizes(const Problem& problem_class, Random& random);
/// The class with these sizes, packed as closely as the alignments allow.
Problem with_sizes(const Problem& problem_class, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace tunedgemm::internal

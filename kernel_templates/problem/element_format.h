#pragma once

// The bit format of an element. The verifier's kernels include this file, so it is plain C++
// without the standard library.

namespace tunedgemm::internal {

/// sign | exponent | mantissa, as in IEEE 754, or an integer in two's complement.
struct ElementFormat {
  int bits;
  int exponent_bits;  ///< 0: an integer
  int mantissa_bits;  ///< stored bits; for an integer, all bits but the sign
  /// If true, an exponent of all ones means infinity or NaN. If false, such an exponent is
  /// ordinary, and NaN has a mantissa of all ones as well.
  bool has_infinity;
};

}  // namespace tunedgemm::internal

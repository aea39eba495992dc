#pragma once

// How the bits of an element are read. The kernels of the verifier include this file as well, so it
// is plain C++ without library headers.

namespace tunedgemm::internal {

/// sign | exponent | mantissa, as IEEE 754 reads them, or an integer in two's complement.
struct ElementFormat {
  int bits;
  int exponent_bits;  ///< 0: an integer
  int mantissa_bits;  ///< those that are stored; of an integer all but the sign
  /// Exponent bits that are all ones mean infinity or NaN; if false, that is a number like others,
  /// and NaN alone has all bits set.
  bool has_infinity;
};

}  // namespace tunedgemm::internal

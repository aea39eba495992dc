// The strips of columns in which a warp stores 16 rows of D that are not aligned to 16 bytes
// (unaligned_rows.cuh). Host code predicts their time.
#pragma once

#include "host_device.cuh"

namespace tunedgemm::internal::strip {

constexpr int kVectorBytes = 16;

// The bytes between the prepared rows of a strip. An odd number of vectors, since the warp writes
// to 8 rows at once, which should be in different banks. A row begins up to 15 bytes further.
TUNEDGEMM_CONSTEXPR int pitch(int columns, int element_bytes) {
  return ((columns * element_bytes / kVectorBytes + 1) | 1) * kVectorBytes;
}

// The most columns of a strip that evenly divide `columns`, a multiple of 16, and whose 16 rows fit
// in `bytes`.
TUNEDGEMM_CONSTEXPR int columns_that_fit(int columns, int bytes, int element_bytes) {
  int strip = columns;
  while (columns % strip != 0 || 16 * pitch(strip, element_bytes) > bytes) {
    strip -= 16;
  }
  return strip;
}

}  // namespace tunedgemm::internal::strip

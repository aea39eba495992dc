// What the host passes to emulated kernels. Included by both.
#pragma once

namespace emulation {

struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes, cluster, seed;
};

/// A tensor map, as large as that of the driver.
struct EncodedTensorMap {
  char* base;
  long long extent[3], stride_bytes[2];
  int box[2];
  int element_bytes, span;
  char rest[64];
};

}  // namespace emulation

#pragma once

// The seed of a test process: $TUNEDGEMM_TEST_SEED, else a random one. Each test program prints its
// seed when it starts.

#include <cstdint>

namespace tunedgemm::internal {

/// The same value on every call.
std::uint64_t test_seed();

}  // namespace tunedgemm::internal

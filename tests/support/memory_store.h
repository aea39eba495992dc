#pragma once

#include <memory>

#include "cache/store.h"

namespace tunedgemm::internal {

/// A store without a file. Header-only because tunedgemm_test_support does not link cache; the
/// tests that include it do.
inline std::unique_ptr<Store> memory_store(StoreOptions options = {}) {
  options.access = StoreOptions::Access::kMemoryOnly;
  return Store::open(options);
}

}  // namespace tunedgemm::internal

#pragma once

// Rows of the table `kernel`: what compilers have made. A stored binary will be executed, so each
// carries the SHA-256 of its bytes; SQLite itself does not notice a changed byte in a blob. Private
// to cache.

#include <cstdint>
#include <string>
#include <vector>

#include "cache/record.h"
#include "cache/sqlite/sqlite.h"

namespace tunedgemm::internal {

/// The driver is no part of it: what a compiler made runs under a newer driver as well.
struct KernelKey {
  std::string source;  ///< the source's fingerprint
  std::string compiler;
  int architecture = 0;
};

struct FoundKernels {
  std::vector<StoredBinary> sound;
  std::vector<KernelKey> damaged;  ///< rows whose hash is wrong
};

/// What any compiler made of the key's source for its architecture and the CPU features of its
/// compiler.
FoundKernels find_kernels(const sqlite::Connection& connection, const KernelKey& key);
/// Returns the row's id.
std::int64_t put_kernel(sqlite::Connection& connection, const KernelKey& key, const Binary& binary);
void delete_kernel(sqlite::Connection& connection, const KernelKey& key);

}  // namespace tunedgemm::internal

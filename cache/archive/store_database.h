#pragma once

// Store::Database: the archive of the process that asks. Private to cache.

#include <unistd.h>

#include <atomic>
#include <memory>

#include "cache/archive/archive.h"
#include "cache/store.h"

namespace tunedgemm::internal {

/// Thread-safe. After a fork the child gets an archive of its own at its first call, in memory
/// only; the parent's stays what it was.
class Store::Database {
 public:
  explicit Database(const StoreOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::shared_ptr<Archive>& archive();

 private:
  // An archive and those that it has come after, one for each fork.
  struct Generation {
    std::shared_ptr<Archive> archive;
    std::unique_ptr<Generation> previous;
  };
  std::atomic<Generation*> newest_;
};

}  // namespace tunedgemm::internal

#include "cache/archive/store_database.h"

#include <utility>

namespace tunedgemm::internal {

Store::Database::Database(const StoreOptions& options)
    : newest_(std::make_unique<Generation>(Generation{std::make_shared<Archive>(options), nullptr})
                  .release()) {}

Store::Database::~Database() {
  const std::unique_ptr<Generation> owned(newest_.load());
}

const std::shared_ptr<Archive>& Store::Database::archive() {
  Generation* current = newest_.load(std::memory_order_acquire);
  while (current->archive->owner() != getpid()) {
    auto next = std::make_unique<Generation>();
    next->archive = std::make_shared<Archive>(Archive::AfterFork(), *current->archive);
    next->previous.reset(current);
    if (newest_.compare_exchange_strong(current, next.get(), std::memory_order_acq_rel)) {
      return next.release()->archive;
    }
    // Another thread of the child was faster: `current` is its archive now.
    (void)next->previous.release();
  }
  return current->archive;
}

}  // namespace tunedgemm::internal

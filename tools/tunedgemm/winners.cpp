#include "tools/tunedgemm/winners.h"

namespace tunedgemm::internal {

std::unique_ptr<Store> open_for_reading(const std::string& path) {
  StoreOptions options;
  options.path = path;
  options.access = StoreOptions::Access::kReadOnly;
  return Store::open(options);
}

std::string why_no_winners(const Store& store) {
  const StoreHealth health = store.health();
  if (health.winners > 0) {
    return "no winner in " + health.path.string() + " is of this kind; there are " +
           std::to_string(health.winners) + " others";
  }
  return "the cache " + health.path.string() + " has no winners; tune-all makes some";
}

}  // namespace tunedgemm::internal

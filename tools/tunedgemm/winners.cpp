#include "tools/tunedgemm/winners.h"

#include "kernel_templates/family.h"

namespace tunedgemm {

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

std::string_view state_text(const Record& record) {
  const Family* family = find_family(record.family);
  if (family == nullptr || family->fingerprint() != record.family_fingerprint) {
    return "void";
  }
  return record.complete && record.rigor >= Rigor::kNormal ? "confirmed" : "provisional";
}

}  // namespace tunedgemm

#pragma once

// The step from version 1 to version 2: knobs were renamed, and the kernels' files with them.
// Private to cache.

#include <span>
#include <string_view>

#include "cache/sqlite/schema.h"

namespace tunedgemm::internal {

/// A family whose text was rewritten while its machine code stayed the same byte for byte: what was
/// tuned with the old text holds for the new one.
struct CarriedFamily {
  std::string_view name;
  std::string_view version_1;  ///< its fingerprint in the last library that wrote version 1
  std::string_view version_2;  ///< and in the first that wrote version 2
};
std::span<const CarriedFamily> carried_families();

Migration migration_to_version_2();

}  // namespace tunedgemm::internal

#pragma once

// The step from version 2 to version 3: an index of problems by types and size, and devices whose
// memory is told in whole GiB. Private to cache.

#include "cache/sqlite/schema.h"

namespace tunedgemm::internal {

Migration migration_to_version_3();

}  // namespace tunedgemm::internal

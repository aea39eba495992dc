#pragma once

// Rows of the table `request`: what was asked for and answered without a tuned winner. Private to
// cache.

#include <vector>

#include "cache/sqlite/sqlite.h"
#include "cache/store.h"

namespace tunedgemm::internal {

void add_calls(sqlite::Connection& connection, const Request& request,
               const DeviceIdentity& device);

/// Those that have no winner yet, the most work first.
std::vector<Request> read_requests(const sqlite::Connection& connection,
                                   const DeviceIdentity& device);

}  // namespace tunedgemm::internal

#pragma once

// Rows of the table `trial`: one for each candidate of a problem on a device with a toolchain, the
// newest outcome taking an older one's place. Private to cache.

#include <string>
#include <vector>

#include "cache/record.h"
#include "cache/sqlite/sqlite.h"
#include "cache/tables/dimension_rows.h"

namespace tunedgemm::internal {

void put_trial(sqlite::Connection& connection, const KeyRows& key, const TrialRecord& trial);
/// What was timed in finals counts as screened from now on.
void forget_finals(sqlite::Connection& connection, const KeyRows& key);
std::vector<TrialRecord> read_trials(const sqlite::Connection& connection, const TuningKey& key);

}  // namespace tunedgemm::internal

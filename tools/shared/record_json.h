#pragma once

// What the cache remembers, as JSON: one spelling for every tool.

#include <nlohmann/json.hpp>

#include "cache/record.h"

namespace tunedgemm::internal {

/// Every field by name, times in microseconds, types, layout and epilogue as the views spell them.
nlohmann::ordered_json to_json(const Record& record);
nlohmann::ordered_json to_json(const TrialRecord& trial);

}  // namespace tunedgemm::internal

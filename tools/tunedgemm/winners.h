#pragma once

// What several verbs need of a cache file: opening it to read.

#include <memory>
#include <string>

#include "cache/store.h"

namespace tunedgemm::internal {

/// Opens the file, or the default one for an empty path, without ever writing to it.
std::unique_ptr<Store> open_for_reading(const std::string& path);

/// A sentence: why a search for winners in the store came back empty, and what to do.
std::string why_no_winners(const Store& store);

}  // namespace tunedgemm::internal

#pragma once

// The dimension tables, to whose rows the others refer: problems, devices, toolchains and configs.
// Each function gives the id of the row for a value and inserts it if need be. Private to cache.

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/record.h"
#include "cache/sqlite/sqlite.h"

namespace tunedgemm::internal {

/// `canonical` as canonical() makes it.
std::int64_t problem_row(sqlite::Connection& connection, const Problem& canonical);
std::int64_t device_row(sqlite::Connection& connection, const DeviceIdentity& device);
std::int64_t toolchain_row(sqlite::Connection& connection, const Toolchain& toolchain);
std::int64_t config_row(sqlite::Connection& connection, std::string_view family,
                        const Config& config);

/// What winners, trials and leases are found by.
struct KeyRows {
  std::int64_t problem = 0, device = 0, toolchain = 0;
};

/// The same key as values.
struct TuningKey {
  Problem problem;  ///< canonical
  DeviceIdentity device;
  Toolchain toolchain;
};
KeyRows key_rows(sqlite::Connection& connection, const TuningKey& key);

/// The device is used with this toolchain now: what was tuned with another is stale.
void set_current_toolchain(sqlite::Connection& connection, const DeviceIdentity& device,
                           const Toolchain& toolchain);

/// The library has this template of the family now: what was tuned with another is void.
void set_current_family(sqlite::Connection& connection, const std::string& name,
                        const std::string& fingerprint);

// What a launch has told about one piece of hardware, which is no part of its identity as a device:
// equal devices differ in it.
void set_probe(sqlite::Connection& connection, const std::string& key, const std::string& text);
/// Empty if there is none.
std::string find_probe(const sqlite::Connection& connection, const std::string& key);

}  // namespace tunedgemm::internal

#pragma once

// PendingWrites: what can wait a little before it is written, so that several things share a
// transaction. Private to cache. Thread-safe; its lock is never held while a file is touched.

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/record.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "cache/tables/rows.h"

namespace tunedgemm::internal {

/// Something to be written. It owns all that it writes, since it may be kept for later.
using Work = std::function<void(sqlite::Connection&)>;

class PendingWrites {
 public:
  void add_request(const Request& request, const DeviceIdentity& device);
  void add_trial(const TuningKey& key, const TrialRecord& trial);
  /// The device is used with this toolchain now.
  void add_toolchain(const DeviceIdentity& device, const Toolchain& toolchain);

  /// The library that uses the file has this template of the family.
  void add_family(const std::string& name, const std::string& fingerprint);

  bool has_trials() const;
  /// Whether the trials are too many or too old to wait any longer.
  bool trials_are_due() const;

  /// Everything, once; an empty function if there is nothing.
  Work take();

 private:
  struct Asked {
    Request request;
    DeviceIdentity device;
  };
  struct Tried {
    TuningKey key;
    TrialRecord trial;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Asked> requests_;
  std::vector<Tried> trials_;
  std::chrono::steady_clock::time_point oldest_trial_;
  std::vector<std::pair<DeviceIdentity, Toolchain>> toolchains_;
  std::unordered_map<std::string, std::string> families_;
};

}  // namespace tunedgemm::internal

#pragma once

// PendingWrites: writes that may be delayed a little, so that several share a transaction. Private
// to cache. Thread-safe; the lock is never held during file I/O.

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
#include "cache/store_types.h"
#include "cache/tables/rows.h"

namespace tunedgemm::internal {

/// A write. It owns all of its data, since it may run later.
using Work = std::function<void(sqlite::Connection&)>;

class PendingWrites {
 public:
  void add_request(const Request& request, const DeviceIdentity& device);
  void add_name(const WinnerKey& key, const std::string& name);
  /// Writing the trial renews the lease of the process.
  void add_trial(const TuningKey& key, const TrialRecord& trial, const ProcessIdentity& process);
  /// The device now uses this toolchain.
  void add_toolchain(const DeviceIdentity& device, const Toolchain& toolchain);

  /// The library now has this template of the family.
  void add_family(const std::string& name, const std::string& fingerprint);

  bool has_trials() const;
  /// Work that writes some of the requests if they take much memory; else empty. A look-up waits
  /// only for one piece of work, a few milliseconds.
  Work take_surplus_requests();
  /// Whether there are too many trials, or the oldest has waited too long.
  bool trials_are_due() const;

  /// Removes all pending writes and returns a function that performs them; empty if there are none.
  Work take();

 private:
  struct PendingRequest {
    Request request;
    DeviceIdentity device;
  };
  struct PendingTrial {
    TuningKey key;
    TrialRecord trial;
    ProcessIdentity process;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, PendingRequest> requests_;
  std::unordered_map<std::string, std::pair<WinnerKey, std::string>> names_;
  std::vector<PendingTrial> trials_;
  std::chrono::steady_clock::time_point oldest_trial_;
  std::vector<std::pair<DeviceIdentity, Toolchain>> toolchains_;
  std::unordered_map<std::string, std::string> families_;
};

}  // namespace tunedgemm::internal

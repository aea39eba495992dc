#pragma once

// DeviceProbe: what only launches tell of a device, found out once for a machine and kept in the
// store.

#include <mutex>
#include <string>

#include "cache/store.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// Thread-safe. Device and store must outlive it.
class DeviceProbe {
 public:
  /// Gives the device what is stored; launches nothing.
  DeviceProbe(Device& device, Store& store) : device_(device), store_(store) {
    // Another process may have changed the text, and a text that is not understood is probed anew.
    HardwareProbe* const probe = device_.probe();
    if (probe != nullptr && !probe->key().empty()) {
      probe->use(store_.find_probe(probe->key()));
    }
  }
  ~DeviceProbe() = default;
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;

  /// Lets the device probe what is not known yet, and stores it. Once in a process, whatever comes
  /// of it. Throws DeviceError.
  void complete() {
    const std::lock_guard lock(one_at_a_time_);
    HardwareProbe* const probe = device_.probe();
    const std::string key = probe == nullptr ? "" : probe->key();
    if (key.empty()) {
      return;
    }
    if (const std::string seen = probe->run(); !seen.empty()) {
      store_.put_probe(key, seen);
    }
  }

 private:
  Device& device_;
  Store& store_;
  std::mutex one_at_a_time_;
};

}  // namespace tunedgemm::internal

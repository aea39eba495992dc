#pragma once

// DeviceProbe: properties of a device that only a launch can measure, probed once per machine and
// kept in the store.

#include <mutex>
#include <string>

#include "cache/store.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// Thread-safe. Device and store must outlive it.
class DeviceProbe {
 public:
  /// Passes the stored result to the device; launches nothing.
  DeviceProbe(Device& device, Store& store) : device_(device), store_(store) {
    // use() ignores text that it cannot parse; complete() then probes again.
    HardwareProbe* const probe = device_.probe();
    if (probe != nullptr && !probe->key().empty()) {
      probe->use(store_.find_probe(probe->key()));
    }
  }
  ~DeviceProbe() = default;
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;

  /// Probes the device unless the result is known, and stores the result. Runs the probe once per
  /// process, even if it fails. Throws DeviceError.
  void complete() {
    const std::lock_guard lock(mutex_);
    HardwareProbe* const probe = device_.probe();
    const std::string key = probe == nullptr ? "" : probe->key();
    if (key.empty()) {
      return;
    }
    if (const std::string text = probe->run(); !text.empty()) {
      store_.put_probe(key, text);
    }
  }

 private:
  Device& device_;
  Store& store_;
  std::mutex mutex_;
};

}  // namespace tunedgemm::internal

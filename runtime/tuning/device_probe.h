#pragma once

// DeviceProbe: runs the device's HardwareProbe and keeps the result in the store, so that other
// processes need not run the probe.

#include <mutex>
#include <string>

#include "cache/store.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// Thread-safe. Device and store must outlive this object.
class DeviceProbe {
 public:
  /// Passes the stored result to the device. Launches nothing.
  DeviceProbe(Device& device, Store& store) : device_(device), store_(store) {
    // use() ignores a text that it cannot parse; complete() then runs the probe again.
    HardwareProbe* const probe = device_.probe();
    if (probe != nullptr && !probe->key().empty()) {
      probe->use(store_.find_note(note_of(probe->key())));
    }
  }
  ~DeviceProbe() = default;
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;

  /// Runs the probe unless its result is known, and stores the result. Runs the probe at most once
  /// for this Device, even if it fails. Throws DeviceError.
  void complete() {
    const std::lock_guard lock(mutex_);
    HardwareProbe* const probe = device_.probe();
    const std::string key = probe == nullptr ? "" : probe->key();
    if (key.empty()) {
      return;
    }
    if (const std::string text = probe->run(); !text.empty()) {
      store_.put_note(note_of(key), text);
    }
  }

 private:
  static std::string note_of(const std::string& key) { return "probe " + key; }

  Device& device_;
  Store& store_;
  std::mutex mutex_;
};

}  // namespace tunedgemm::internal

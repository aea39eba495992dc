#pragma once

// DeviceProbe: what only launches tell of a device, found out once for a machine and kept in the
// store.

#include <mutex>

#include "cache/store.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// Thread-safe. Device and store must outlive it.
class DeviceProbe {
 public:
  /// Gives the device what is stored; launches nothing.
  DeviceProbe(Device& device, Store& store);
  ~DeviceProbe() = default;
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;

  /// Lets the device probe what is not known yet, and stores it. Once in a process, whatever comes
  /// of it. Throws DeviceError.
  void complete();

 private:
  Device& device_;
  Store& store_;
  std::mutex one_at_a_time_;
};

}  // namespace tunedgemm::internal

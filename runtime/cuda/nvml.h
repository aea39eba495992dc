#pragma once

// Nvml: NVIDIA's management library, which tells what the driver does not: power limit, clock now,
// and why it is held back. Opened at run time; where it is missing, nothing is told.

#include <memory>
#include <string>

namespace tunedgemm::internal::cuda {

/// One GPU's readings. Thread-safe.
class Nvml {
 public:
  /// Null if the library or the GPU with that PCI bus identifier is not there.
  static std::unique_ptr<const Nvml> open(const std::string& pci_bus_id);

  /// 0 where it cannot be told.
  int power_limit_watts() const;
  int sm_clock_mhz() const;
  /// Whether the clock is below what the card could do for a reason other than idleness or its
  /// power limit: a large multiplication at the power limit is the normal case.
  bool throttled() const;

 private:
  struct Functions;

 public:
  /// For open().
  Nvml(std::unique_ptr<const Functions> functions, void* device);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

 private:
  std::unique_ptr<const Functions> functions_;
  void* device_;
};

/// "580.159.03"; without a kernel module that tells it, the version of CUDA that the driver offers.
std::string driver_version_text(int cuda_version);

}  // namespace tunedgemm::internal::cuda

#pragma once

// Nvml: NVIDIA's management library, which reports what the driver does not: the power limit, the
// current clock and throttling. Opened at run time; optional.

#include <memory>
#include <string>

namespace tunedgemm::internal::cuda {

/// The readings of one GPU. Thread-safe.
class Nvml {
 public:
  /// Null if there is no library, or no GPU with this PCI bus identifier.
  static std::unique_ptr<const Nvml> open(const std::string& pci_bus_id);

  /// 0 if unknown.
  int power_limit_watts() const;
  int sm_clock_mhz() const;
  /// Whether the clock is reduced for a reason other than idleness or the power limit: a large
  /// multiplication normally runs at the power limit.
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

/// "580.159.03"; if the kernel module does not report it, the CUDA version of the driver.
std::string driver_version_text(int cuda_version);

}  // namespace tunedgemm::internal::cuda

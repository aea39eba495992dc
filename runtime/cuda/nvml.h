#pragma once

// Nvml: NVIDIA's management library. It reports the power limit, the current clock, throttling and
// the processes that use a GPU, which the driver API does not. It is opened at run time, and may be
// missing.

#include <chrono>
#include <memory>
#include <optional>
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
  /// Whether the clock is reduced, except because of idleness or the power limit. The power limit
  /// does not count, because a large multiplication normally reaches it.
  bool throttled() const;
  /// The pid of another process that has kept the SMs busy for more than 5 % of a time since then.
  /// NVML samples about twice a second. Empty also if that cannot be told: this process is not
  /// among those of the GPU, because it has another PID namespace or runs under MPS.
  std::optional<int> busy_neighbour(std::chrono::system_clock::time_point since) const;

 private:
  struct Functions;

 public:
  /// Public only for std::make_unique in open().
  Nvml(std::unique_ptr<const Functions> functions, void* device);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

 private:
  std::unique_ptr<const Functions> functions_;
  void* device_;
};

/// The driver's version, such as "580.159.03". If the kernel module does not report it, the CUDA
/// version of the driver, such as "CUDA 13.0".
std::string driver_version_text(int cuda_version);

}  // namespace tunedgemm::internal::cuda

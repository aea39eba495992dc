#pragma once

// Backend: a kind of device, such as NVIDIA GPUs. A backend lists and opens its devices, and has
// the properties that they share. runtime/cuda and runtime/host implement the interface;
// backend.cpp has the list of backends. Never test which backend a device has; add a property to
// Backend instead. A new backend needs a folder in runtime/, a folder of kernels and an entry in
// the list.
//
// Backends are stateless, shared by all threads and never destroyed.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/family.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

class Store;
class Verifier;

struct DeviceOptions {
  int ordinal = 0;
  /// CPU only. 0: $TUNEDGEMM_THREADS, else all cores that this process may use.
  int host_threads = 0;
  /// The path and the first arguments of a program that compiles one kernel
  /// (runtime/cuda/compile_process.h). Separate processes compile faster, and a crash of the
  /// compiler does not affect this process. Empty: the installed program or, if there is none or it
  /// fails, NVRTC in this process. No effect on the CPU, whose compiler is always a separate
  /// process.
  std::vector<std::string> compile_command{};
  /// The shortest timeout of a compilation by NVRTC in this process. After a timeout nothing else
  /// is compiled until the abandoned compilation returns. Large kernels take seconds, or a minute
  /// on an overloaded machine.
  double nvrtc_seconds = 120;
  /// The most compilations at once; 0: one for each CPU that this process may use. No effect on the
  /// CPU.
  int compile_threads = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// "cuda" or "host". Options and reports use this name; the backend's folder in kernel_templates/
  /// has it, too.
  virtual std::string_view name() const = 0;
  /// The backend's number in the C ABI and in stored rows.
  int number() const { return backend_number(name()); }

  /// The number of devices; ordinals start at 0. If there is no device, sets `why_not` (unless
  /// null) to a sentence that says what is missing.
  virtual int device_count(std::string* why_not) const = 0;
  /// The calling thread's current device: the one that the thread has selected, else 0.
  virtual int current_ordinal() const = 0;
  /// "cuda:1"; just "host" for a backend with a single device.
  virtual std::string device_name(int ordinal) const = 0;
  /// Throws DeviceError(kUnavailable) if there is no device of that ordinal. The host ignores the
  /// ordinal.
  virtual std::unique_ptr<Device> open(const DeviceOptions& options) const = 0;
  /// The path of the kernel compiler, for display; "" if there is none, or if Device::toolchain()
  /// identifies it.
  virtual std::string compiler_file() const = 0;

  /// Makes the verifier of kernel results, which works in the device's memory. Device and store
  /// must outlive the verifier.
  virtual std::unique_ptr<Verifier> make_verifier(Device& device, Store& store) const = 0;

  /// The roofline: a lower bound for the time of a multiplication, in microseconds. The bound is
  /// the time of the operations at a generous peak rate. On CUDA, if inputs are cold, the bound is
  /// at least the time to read them at a generous bandwidth. A measured time below the bound means
  /// a broken kernel.
  virtual double roofline_us(const Problem& problem, const DeviceLimits& limits) const = 0;
  /// The device's peak operations per clock cycle on its fastest unit for the problem's types, as
  /// published by the vendor. 0 if unknown.
  virtual double peak_operations_per_cycle(const Problem& problem,
                                           const DeviceLimits& limits) const = 0;

  /// The number of bytes to access between two launches so that the second launch does not find its
  /// inputs in a cache: twice the size of the last-level cache, on the host at most 256 MiB.
  virtual std::int64_t cold_bytes(const DeviceLimits& limits) const = 0;
  /// How to make inputs cold for a sample that has fewer launches than there are copies of the
  /// inputs. True: first overwrite cold_bytes() of other memory. False: start with the copies that
  /// were unused for longest.
  virtual bool cools_by_overwriting() const = 0;
  /// How long the device should idle before a sample of the finals.
  virtual double cool_down_seconds() const = 0;
  /// The usual time to tune one candidate, as an estimate before any has been tuned.
  virtual double usual_seconds_per_candidate() const = 0;
};

/// All backends, in the order in which automatic_backend() tries them. The host always has a
/// device, so automatic_backend() never returns a backend that is listed after the host.
std::span<const Backend* const> backends();
/// The first backend that has a device.
const Backend& automatic_backend();
/// The backend with that name or number; null if there is none.
const Backend* find_backend(std::string_view name);
const Backend* find_backend(int number);

/// NVIDIA GPUs, through the CUDA driver and NVRTC.
const Backend& cuda_backend();
/// The CPU, with the system's C++ compiler.
const Backend& host_backend();

}  // namespace tunedgemm::internal

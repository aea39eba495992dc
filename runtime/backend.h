#pragma once

// Backend: one kind of device, as it is before one is opened, and what is common to all of the
// kind. runtime/cuda and runtime/host implement it; backend.cpp has the list. Whoever asks which
// backend it is should ask for a property instead, so that a third one is a folder here, a folder
// of kernels and a line in that list.
//
// Stateless, shared by all threads, and alive as long as the program.

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
  /// For the CPU. 0: $TUNEDGEMM_THREADS, else all cores that this process may use.
  int host_threads = 0;
  /// A path and first arguments: a program that answers as runtime/cuda/compile_process.h says.
  /// Kernels are then compiled in its processes, which is faster and stays out of this one. Empty:
  /// the device compiles as it does by itself. Without effect on the CPU, whose compiler is a
  /// process of its own anyway.
  std::vector<std::string> compile_command{};
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// "cuda", "host": in options and reports, and the folder of its kernels in kernel_templates/.
  virtual std::string_view name() const = 0;
  /// Its number in the C ABI and in stored rows.
  int number() const { return backend_number(name()); }

  /// How many devices there are, counted from 0. Where there is none, `why_not` (if given) gets a
  /// sentence that says what is missing.
  virtual int device_count(std::string* why_not) const = 0;
  /// The device on which the calling thread works: the one that it has chosen, else 0.
  virtual int current_ordinal() const = 0;
  /// "cuda:1", or just "host" where there is only one.
  virtual std::string device_name(int ordinal) const = 0;
  /// Throws DeviceError(kUnavailable) with a sentence if there is no such device.
  virtual std::unique_ptr<Device> open(const DeviceOptions& options) const = 0;
  /// The file of the compiler that kernels are made with, for people; "" where there is none, or
  /// where Device::toolchain() says enough.
  virtual std::string compiler_file() const = 0;

  /// What checks the results of kernels, where the device's matrices lie. Device and store must
  /// outlive it.
  virtual std::unique_ptr<Verifier> make_verifier(Device& device, Store& store) const = 0;

  /// The roofline in microseconds, the least that a multiplication can take on such a device: its
  /// operations at a generous peak rate or, where inputs are cold, the time to read them at a
  /// generous bandwidth. What is faster did not do the work.
  virtual double roofline_us(const Problem& problem, const DeviceLimits& limits) const = 0;
  /// The operations that the whole device does in a cycle of its clock at most, by the fastest unit
  /// for the problem's types, as its maker publishes them. 0 where that is not known.
  virtual double peak_operations_per_cycle(const Problem& problem,
                                           const DeviceLimits& limits) const = 0;

  /// What must be touched between two launches for the second to find nothing of its inputs in a
  /// cache: twice the last one.
  virtual std::int64_t cold_bytes(const DeviceLimits& limits) const = 0;
  /// Whether these bytes are best overwritten at once, in stream order, rather than by going on to
  /// other copies of the inputs.
  virtual bool cools_by_overwriting() const = 0;
  /// How long the device should do nothing before a sample of the finals.
  virtual double cool_down_seconds() const = 0;
  /// What a candidate costs to tune, before this device has tuned any.
  virtual double usual_seconds_per_candidate() const = 0;
};

/// In the order in which they are tried where none was asked for. The host has always a device, so
/// that those behind it are taken by name alone.
std::span<const Backend* const> backends();
/// The first that has a device.
const Backend& automatic_backend();
/// Null if there is none of that name, or number.
const Backend* find_backend(std::string_view name);
const Backend* find_backend(int number);

/// NVIDIA GPUs, through the CUDA driver and NVRTC.
const Backend& cuda_backend();
/// The CPU, with the system's C++ compiler.
const Backend& host_backend();

}  // namespace tunedgemm::internal

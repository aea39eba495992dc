#pragma once

// Device: what the runtime needs of a processor, in terms that the CPU and a GPU share.
// runtime/cuda and runtime/host implement it; nothing above this header knows which one it has.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

class Backend;

/// The environment failed: the driver, the compiler itself, memory. The text names the call and the
/// object.
class DeviceError : public std::runtime_error {
 public:
  enum class Kind { kUnavailable, kOutOfMemory, kFailed };
  DeviceError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// A stream of the device's API (CUstream; null is the default stream). The host has only null.
using StreamHandle = void*;

/// Memory of the device, freed when destroyed. Move-only. 256-byte aligned.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* data() const = 0;
  virtual std::int64_t size_bytes() const = 0;
};

/// A loaded kernel. Thread-safe: several threads may launch it at once (on the host they take
/// turns).
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  /// The hot path: no lock (on CUDA), no allocation, no text. Returns 0 or the device API's error
  /// number, which Device::describe explains.
  virtual int run(const Launch& launch, const Arguments& arguments,
                  StreamHandle stream) const noexcept = 0;
  /// Whether it is the one that is linked into the library, whatever was asked for.
  virtual bool is_built_in() const noexcept { return false; }
};

/// Where a stream that is being captured stands in its graph. Its functions throw DeviceError.
class StreamCapture {
 public:
  virtual ~StreamCapture() = default;
  /// Of the capture; no other one of the process has it.
  virtual std::uint64_t id() const = 0;
  /// Of these nodes of the graph one behind which runs what is captured next, as near as there is
  /// one. Null if there is none, or if it is too far back to be found.
  virtual const void* nearest_before(std::span<const void* const> nodes) const = 0;
  /// The node that was captured last; null if several were, by streams that have joined since.
  virtual const void* last_node() const = 0;
  /// Keeps the object until the graph, its clones and its executables are destroyed. What destroys
  /// it then is a thread that must not call the device's API.
  virtual void keep(std::shared_ptr<void> object) const = 0;
};

struct CompileFailure {
  /// Not kSource: the source may be right, and another time it may compile.
  enum class Cause { kSource, kEnvironment, kTimeLimit };
  std::string log;
  Cause cause = Cause::kSource;
};
inline Rejection rejection_of(CompileFailure failure) {
  const bool is_certain = failure.cause == CompileFailure::Cause::kSource;
  return {is_certain ? Reason::kCompileFailed : Reason::kUnavailable, std::move(failure.log)};
}

/// One launch to be timed: the kernel, how, and with what.
struct TimedLaunch {
  const CompiledKernel* kernel = nullptr;
  Launch launch;
  std::vector<Arguments> rotation;  ///< used in turn, so that inputs are cold
  /// Where isolated, a small kernel of nobody's goes before each launch (CUDA).
  LaunchRegime launch_regime = LaunchRegime::kBackToBack;
  /// What the device keeps from one sample to the next (CUDA: the graph). Only Device::time looks
  /// at it; a caller who changes any member above resets it.
  mutable std::shared_ptr<void> prepared;
};

/// The memory of a device. The copies and `set_bytes` are complete when they return.
class MemorySpace {
 public:
  virtual ~MemorySpace() = default;

  virtual std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) = 0;
  virtual std::int64_t free_memory_bytes() const = 0;
  virtual void copy_to_device(void* destination, const void* source, std::int64_t bytes) = 0;
  virtual void copy_to_host(void* destination, const void* source, std::int64_t bytes) = 0;
  virtual void set_bytes(void* destination, int value, std::int64_t bytes) = 0;
  /// In stream order, without waiting; for a workspace that a user's stream will read.
  virtual int set_bytes_async(void* destination, int value, std::int64_t bytes,
                              StreamHandle stream) noexcept = 0;
  /// Empty if kernels of this device can use the memory that lies there, or if that cannot be told;
  /// else how it is of the wrong kind, and the remedy: the end of a sentence that began with what
  /// is stored there. Precondition: the pointer is not null.
  virtual std::string why_not_memory(const void* pointer) const = 0;
};

/// The streams of a device.
class Streams {
 public:
  virtual ~Streams() = default;

  /// Whether there are any but null.
  virtual bool has_streams() const { return true; }
  /// The stream that tuning uses; never a user's.
  virtual StreamHandle own_stream() = 0;
  virtual void synchronize(StreamHandle stream) = 0;
  /// A number that no other stream of the process has had, even if their handles are equal: one
  /// was destroyed, or means another stream in every thread. Empty while the stream is captured.
  /// Part of the hot path.
  virtual std::optional<std::uint64_t> stream_id(StreamHandle stream) const noexcept = 0;
  /// Null unless the stream is being captured. Throws DeviceError.
  virtual std::unique_ptr<StreamCapture> capture_of(StreamHandle stream) const = 0;
};

/// From a candidate to a kernel that can be launched.
class KernelCompiler {
 public:
  /// Every compilation ends after this, and is a CompileFailure.
  static constexpr double kLongestSeconds = 300;

  virtual ~KernelCompiler() = default;

  /// Names the compiler without opening it where a warm cache makes that unnecessary.
  virtual const Toolchain& toolchain() = 0;
  /// Empty if sources can be compiled here; else a sentence: what is missing and how to get it.
  virtual std::string why_not_compile() = 0;
  /// Several threads may compile at once. A failed compilation is a value, and so is a compiler that
  /// cannot be started. Gives up after `seconds` if the compiler can be stopped. Throws DeviceError
  /// if there is none (why_not_compile).
  virtual std::variant<Binary, CompileFailure> compile_within(const Source& source,
                                                              double seconds) = 0;
  std::variant<Binary, CompileFailure> compile(const Source& source) {
    return compile_within(source, kLongestSeconds);
  }
  /// How many compilations at once are worth it.
  virtual int compile_threads() const = 0;
  /// Whether compiling while timing would spoil the times.
  virtual bool compiling_disturbs_timing() const = 0;
  virtual std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                        const Launch& launch) = 0;
  /// The kernel that is linked into the library and computes the instance's problem; null if the
  /// device has none.
  virtual std::unique_ptr<CompiledKernel> built_in(const Instance& /*instance*/) { return nullptr; }
};

/// Properties that a device shows only to launches, so that opening it leaves them unknown (CUDA:
/// the GPC of each SM). Once they are known, they are part of Device::limits().
class HardwareProbe {
 public:
  virtual ~HardwareProbe() = default;
  /// Identifies this piece of hardware, since equal devices differ. Empty once all is known.
  virtual std::string key() const = 0;
  /// Launches, waits, and completes limits(); references to the former ones stay valid. Allowed
  /// while streams are captured, and captured by none. Returns the result as text for use(); empty
  /// if nothing was seen, which the log says. Runs once: afterwards key() is empty.
  virtual std::string run() = 0;
  /// Completes limits() from the text of an earlier run(). Ignores a text that it does not
  /// understand.
  virtual void use(std::string_view text) = 0;
};

/// One GPU, or the CPU. Thread-safe. Lives as long as the context that made it.
class Device : public MemorySpace, public Streams, public KernelCompiler {
 public:
  /// The kind of device that it is.
  virtual const Backend& backend() const = 0;
  virtual const DeviceIdentity& identity() const = 0;
  virtual const DeviceLimits& limits() const = 0;
  /// Null if opening the device tells everything about it.
  virtual HardwareProbe* probe() { return nullptr; }

  /// Seconds that so many launches take on the device itself, without the cost of starting them
  /// where the device can (CUDA: one graph), and without the kernels between them if they are
  /// isolated. One uncounted launch goes before. A kernel that takes longer than ten seconds is a
  /// Rejection; one that does not end, or that leaves the device unusable, throws DeviceError.
  virtual std::variant<double, Rejection> time(const TimedLaunch& timed, int launches) = 0;

  struct Clock {
    int mhz = 0;
    bool throttled = false;
  };
  virtual Clock clock() = 0;

  /// Whether it is the one on which the calling thread works, see Backend::current_ordinal. False
  /// where that is not known at once. Part of the hot path.
  virtual bool is_current() const noexcept = 0;
  /// Makes this device's context current for the calling thread while it lives (CUDA; nothing on
  /// the host).
  class [[nodiscard]] Current {
   public:
    explicit Current(const Device& device) noexcept
        : device_(device), previous_(device.make_current()) {}
    ~Current() { device_.restore_current(previous_); }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Device& device_;
    void* previous_;
  };

  /// The sentence behind an error number of CompiledKernel::run.
  virtual std::string describe(int error) const = 0;

 protected:
  virtual void* make_current() const noexcept = 0;
  virtual void restore_current(void* previous) const noexcept = 0;
};

}  // namespace tunedgemm::internal

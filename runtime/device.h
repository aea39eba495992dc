#pragma once

// Device: the runtime's interface to a processor, in terms common to CPU and GPU. runtime/cuda and
// runtime/host implement it; code that uses this header does not know which of the two it has.

#include <chrono>
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

/// A failure of the environment, such as the driver, the compiler or memory. The message is for the
/// user.
class DeviceError : public std::runtime_error {
 public:
  enum class Kind {
    kUnavailable,
    kOutOfMemory,
    kFailed,     ///< a call failed; other calls may succeed
    kBadBinary,  ///< machine code is malformed, or for another architecture
    kLost,       ///< this process cannot use the device any more
  };
  DeviceError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// A stream of the device's API. On CUDA a CUstream; null is the default stream. On the host always
/// null.
using StreamHandle = void*;

/// Memory of the device, 256-byte aligned. The destructor frees it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* data() const = 0;
  virtual std::int64_t size_bytes() const = 0;
};

/// The arguments of a launch that swaps_operands.
inline Arguments transposed(const Arguments& arguments) noexcept {
  Arguments swapped = arguments;
  std::swap(swapped.a, swapped.b);
  std::swap(swapped.scale_a, swapped.scale_b);
  std::swap(swapped.scale_stride_a, swapped.scale_stride_b);
  std::swap(swapped.scale_k_stride_a, swapped.scale_k_stride_b);
  std::swap(swapped.scale_batch_stride_a, swapped.scale_batch_stride_b);
  std::swap(swapped.m, swapped.n);
  std::swap(swapped.lda, swapped.ldb);
  std::swap(swapped.c_stride_m, swapped.c_stride_n);
  std::swap(swapped.batch_stride_a, swapped.batch_stride_b);
  return swapped;
}

/// A loaded kernel. Thread-safe: several threads may launch it at once. On the host their launches
/// run one after the other.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  /// Part of the hot path: formats no text. On CUDA it allocates nothing, and takes a lock only
  /// during a capture. Returns 0 or the device API's error number, which Device::describe explains.
  virtual int run(const Launch& launch, const Arguments& arguments,
                  StreamHandle stream) const noexcept = 0;
  /// Whether this is the kernel linked into the library, which stands in for any candidate.
  virtual bool is_built_in() const noexcept { return false; }
};

/// A stream under capture and its position in the graph. All functions throw DeviceError.
class StreamCapture {
 public:
  virtual ~StreamCapture() = default;
  /// Identifies the capture; unique in the process.
  virtual std::uint64_t id() const = 0;
  /// The nearest of the given nodes on which the next captured operation depends. Null if the
  /// operation depends on none of them, or if the search stops before it reaches one.
  virtual const void* nearest_before(std::span<const void* const> nodes) const = 0;
  /// The only node on which the next captured operation depends directly. Null if there is none, or
  /// if there are several because streams have joined.
  virtual const void* last_node() const = 0;
  /// Keeps the object alive until the graph, its clones and its executables are destroyed. The
  /// object's destructor must not call the device's API.
  virtual void keep(std::shared_ptr<void> object) const = 0;
};

struct CompileFailure {
  /// After kEnvironment or kTimeLimit a retry may succeed, because the source may be valid.
  enum class Cause { kSource, kEnvironment, kTimeLimit };
  std::string log;
  Cause cause = Cause::kSource;
};
inline Rejection rejection_of(CompileFailure failure) {
  const bool is_certain = failure.cause == CompileFailure::Cause::kSource;
  return {is_certain ? Reason::kCompileFailed : Reason::kUnavailable, std::move(failure.log)};
}

/// A launch to be timed.
struct TimedLaunch {
  const CompiledKernel* kernel = nullptr;
  Launch launch;
  std::vector<Arguments> rotation;  ///< the launches cycle through these, so that inputs are cold
  /// If isolated, a small unrelated kernel (the interposed kernel) runs before each launch. CUDA
  /// only.
  LaunchRegime launch_regime = LaunchRegime::kBackToBack;
  /// State that the device keeps between samples (CUDA: the graph). Only Device::time uses it. A
  /// caller that changes another member must reset it.
  mutable std::shared_ptr<void> prepared;
};

/// The memory of a device. Copies and `set_bytes` are synchronous.
class MemorySpace {
 public:
  virtual ~MemorySpace() = default;

  virtual std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) = 0;
  virtual std::int64_t free_memory_bytes() const = 0;
  virtual void copy_to_device(void* destination, const void* source, std::int64_t bytes) = 0;
  virtual void copy_to_host(void* destination, const void* source, std::int64_t bytes) = 0;
  virtual void set_bytes(void* destination, int value, std::int64_t bytes) = 0;
  /// Asynchronous, in stream order. Returns 0 or the device API's error number.
  virtual int set_bytes_async(void* destination, int value, std::int64_t bytes,
                              StreamHandle stream) noexcept = 0;
  /// The reason why kernels of this device cannot use the memory at the pointer, and the remedy.
  /// The text follows the buffer's name in a message ("cannot be read by the CPU ..."). Empty if
  /// kernels can use the memory, or if that is unknown. Precondition: the pointer is not null.
  virtual std::string why_not_memory(const void* pointer) const = 0;
};

/// The streams of a device.
class Streams {
 public:
  virtual ~Streams() = default;

  /// Whether the device has streams other than the null stream.
  virtual bool has_streams() const { return true; }
  /// The stream that tuning uses; never a user's.
  virtual StreamHandle own_stream() = 0;
  virtual void synchronize(StreamHandle stream) = 0;
  /// A number that identifies the stream in this process. Handles are not unique: a destroyed
  /// stream's handle may be reused, and one handle can mean a different default stream in each
  /// thread.
  /// Empty while the stream is captured. Part of the hot path.
  virtual std::optional<std::uint64_t> stream_id(StreamHandle stream) const noexcept = 0;
  /// Null unless the stream is being captured. Throws DeviceError.
  virtual std::unique_ptr<StreamCapture> capture_of(StreamHandle stream) const = 0;
};

/// Turns source code into kernels that can be launched.
class KernelCompiler {
 public:
  /// The longest timeout of a compilation. After a timeout the result is a CompileFailure.
  static constexpr double kLongestSeconds = 300;

  virtual ~KernelCompiler() = default;

  /// Does not load or start the compiler, because a program with a warm cache needs no compiler.
  virtual const Toolchain& toolchain() = 0;
  /// Empty if sources can be compiled; else a sentence that says what is missing and how to install
  /// it.
  virtual std::string why_not_compile() = 0;
  /// Several threads may compile at once. Returns a CompileFailure if the compilation fails or the
  /// compiler cannot be started. Gives up after `seconds` if the compiler can be stopped. Throws
  /// DeviceError if there is no compiler (why_not_compile).
  virtual std::variant<Binary, CompileFailure> compile_within(const Source& source,
                                                              double seconds) = 0;
  std::variant<Binary, CompileFailure> compile(const Source& source) {
    return compile_within(source, kLongestSeconds);
  }
  /// The number of compilations to run in parallel.
  virtual int compile_threads() const = 0;
  /// Whether a compilation that runs during timing distorts the times.
  virtual bool compiling_disturbs_timing() const = 0;
  /// Rejects a malformed binary, or one for another architecture, as kLoadFailed. Rejects with
  /// kUnavailable if the environment fails (memory, descriptors); a retry may then succeed. Throws
  /// DeviceError if the device is lost.
  virtual std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                        const Launch& launch) = 0;
  /// The kernel linked into the library, set up for the instance's problem; null if the device has
  /// no linked-in kernel.
  virtual std::unique_ptr<CompiledKernel> built_in(const Instance& /*instance*/) { return nullptr; }
};

/// Measures the properties of a device that only launches reveal (CUDA: the GPC of each SM). Once
/// known, these properties are part of Device::limits().
class HardwareProbe {
 public:
  virtual ~HardwareProbe() = default;
  /// Identifies the individual device, because devices of one model differ. Empty if nothing is
  /// left to probe.
  virtual std::string key() const = 0;
  /// Launches kernels, waits for them and completes limits(). References to the old limits stay
  /// valid. Allowed while streams are captured; the probe's launches are not captured. Returns the
  /// result as text for use(). If the probe fails, logs the reason and returns an empty text. Runs
  /// at most once; afterwards key() is empty.
  virtual std::string run() = 0;
  /// Completes limits() from a text that an earlier run() returned. Ignores text that it cannot
  /// parse.
  virtual void use(std::string_view text) = 0;
};

/// A GPU, or the CPU. Thread-safe. Owned by whoever opened it, usually the library Context
/// (runtime/context/context.h).
class Device : public MemorySpace, public Streams, public KernelCompiler {
 public:
  virtual const Backend& backend() const = 0;
  virtual const DeviceIdentity& identity() const = 0;
  virtual const DeviceLimits& limits() const = 0;
  /// Null if all properties are known once the device is open.
  virtual HardwareProbe* probe() { return nullptr; }

  /// The total time of `launches` launches in seconds, measured on the device. An untimed launch
  /// comes first. On CUDA the launches are one graph, so the time contains no launch overhead. If
  /// isolated, the time of the interposed kernels is not included. Returns a Rejection if on CUDA
  /// the whole graph, or on the host the untimed launch, takes longer than ten seconds. Throws
  /// DeviceError if a kernel on CUDA never ends, or leaves the device unusable.
  virtual std::variant<double, Rejection> time(const TimedLaunch& timed, int launches) = 0;

  struct Clock {
    int mhz = 0;
    bool throttled = false;
  };
  virtual Clock clock() = 0;
  /// Another process that has used the device since then, as far as the device knows: "process
  /// 1650 (python3)"; else "".
  virtual std::string neighbour(std::chrono::system_clock::time_point since) = 0;

  /// Whether this is the calling thread's current device (Backend::current_ordinal). May return
  /// false for the current device if the check would be slow. Part of the hot path.
  virtual bool is_current() const noexcept = 0;
  /// A guard: while it lives, this device's CUDA context is current for the calling thread. No
  /// effect on the host.
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

  /// The message for an error number of CompiledKernel::run.
  virtual std::string describe(int error) const = 0;

 protected:
  virtual void* make_current() const noexcept = 0;
  virtual void restore_current(void* previous) const noexcept = 0;
};

}  // namespace tunedgemm::internal

#pragma once

// PlainDevice: the simplest Device, for tests of code that uses one. It allocates with malloc and
// multiplies in three loops, correctly or with a flaw that the test chooses.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kernel_templates/problem/problem.h"
#include "runtime/backend.h"
#include "runtime/device.h"
#include "runtime/evaluation/verifier.h"

namespace tunedgemm::internal {

enum class Flaw {
  kNone,
  kLeavesOutKTile,  ///< the last 16 of K
  kExchangesRows,   ///< the first two of D
  kForgetsBias,
  kForgetsAlpha,
  kTakesNextScale,    ///< that of the next row of A
  kExchangesStrides,  ///< of the scales of A
  kKeepsFirstScale,   ///< of each column of B, along K
  kRoundsInputs,      ///< to 10 bits of mantissa, as tf32 has
  kLeavesElementOut,  ///< the last element of D
  kGivesNan,          ///< in one element
  kWritesBehindD,
  kWritesBetweenRows,
  kReadsPadding,  ///< multiplies by the padding after each row of A
  kSpoilsCounter,
  kFailsToLaunch,
  kDoesNotCompile,
};

/// Multiplies f64, f32, f16, bf16 and fp8 into f64 or f32, and s8 into s32, in the problem's
/// accumulator; no activation. Thread-safe.
class LoopKernel final : public CompiledKernel {
 public:
  LoopKernel(const Problem& problem, Flaw flaw) : problem_(problem), flaw_(flaw) {}
  int run(const Launch& launch, const Arguments& arguments,
          StreamHandle stream) const noexcept override;

 private:
  double sum(const Arguments& arguments, std::int64_t entry, std::int64_t m, std::int64_t n) const;

  Problem problem_;
  Flaw flaw_;
};

class PlainDevice : public Device {
 public:
  /// Every source becomes a LoopKernel for this problem.
  PlainDevice(const Problem& problem, Flaw flaw);

  int compilations() const { return compilations_; }

  const Backend& backend() const override { return host_backend(); }
  const DeviceIdentity& identity() const override { return identity_; }
  const DeviceLimits& limits() const override { return limits_; }
  const Toolchain& toolchain() override { return toolchain_; }
  std::string why_not_compile() override { return ""; }
  std::variant<Binary, CompileFailure> compile_within(const Source& source,
                                                      double seconds) override;
  int compile_threads() const override { return 2; }
  bool compiling_disturbs_timing() const override { return false; }
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                const Launch& launch) override;
  std::string why_not_memory(const void*) const override { return ""; }
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override;
  std::int64_t free_memory_bytes() const override { return std::int64_t{64} << 20; }
  void copy_to_device(void* destination, const void* source, std::int64_t bytes) override;
  void copy_to_host(void* destination, const void* source, std::int64_t bytes) override;
  void set_bytes(void* destination, int value, std::int64_t bytes) override;
  int set_bytes_async(void* destination, int value, std::int64_t bytes,
                      StreamHandle stream) noexcept override;
  StreamHandle own_stream() override { return nullptr; }
  void synchronize(StreamHandle) override {}
  std::optional<std::uint64_t> stream_id(StreamHandle) const noexcept override { return 0; }
  std::unique_ptr<StreamCapture> capture_of(StreamHandle) const override { return nullptr; }
  std::variant<double, Rejection> time(const TimedLaunch& timed, int launches) override;
  Clock clock() override { return {}; }
  std::string neighbour(std::chrono::system_clock::time_point) override { return ""; }
  bool is_current() const noexcept override { return true; }
  std::string describe(int error) const override { return "error " + std::to_string(error); }

 protected:
  void* make_current() const noexcept override { return nullptr; }
  void restore_current(void*) const noexcept override {}

 private:
  Problem problem_;
  Flaw flaw_;
  DeviceIdentity identity_;
  DeviceLimits limits_;
  Toolchain toolchain_{"plain 1", "plain 1"};
  std::atomic<int> compilations_{0};
};

/// A backend of PlainDevices, or of the devices that a function makes.
class PlainBackend final : public Backend {
 public:
  using MakeDevice = std::function<std::unique_ptr<Device>()>;

  explicit PlainBackend(MakeDevice make_device =
                            [] { return std::make_unique<PlainDevice>(Problem{}, Flaw::kNone); })
      : make_device_(std::move(make_device)) {}
  std::string_view name() const override { return "host"; }
  int device_count(std::string*) const override { return 1; }
  int current_ordinal() const override { return 0; }
  std::string device_name(int) const override { return "plain"; }
  std::unique_ptr<Device> open(const DeviceOptions&) const override { return make_device_(); }
  std::string compiler_file() const override { return ""; }
  std::unique_ptr<Verifier> make_verifier(Device&, Store&) const override { return nullptr; }
  double roofline_us(const Problem&, const DeviceLimits&) const override { return 0; }
  double peak_operations_per_cycle(const Problem&, const DeviceLimits&) const override { return 0; }
  std::int64_t cold_bytes(const DeviceLimits&) const override { return 0; }
  bool cools_by_overwriting() const override { return false; }
  double cool_down_seconds() const override { return 0; }
  double usual_seconds_per_candidate() const override { return 1; }

 private:
  MakeDevice make_device_;
};

}  // namespace tunedgemm::internal

#pragma once

// HostDevice: the CPU as a Device. Kernels are compiled by the system's C++ compiler, loaded as
// shared objects, and run by a team of threads.

#include "runtime/device.h"
#include "runtime/host/compiler.h"
#include "runtime/host/processor.h"
#include "runtime/host/thread_team.h"

namespace tunedgemm::internal {

class HostDevice : public Device {
 public:
  /// The largest number of threads.
  static constexpr int kMostThreads = 1024;

  /// If `threads` is 0, uses available_threads(). If the system refuses some threads, uses fewer.
  /// Logs a warning if the team has fewer than `threads`.
  explicit HostDevice(int threads);

  const Backend& backend() const override;
  const DeviceIdentity& identity() const override { return identity_; }
  const DeviceLimits& limits() const override { return limits_; }
  const Toolchain& toolchain() override { return toolchain_; }
  std::string why_not_compile() override { return compiler_.why_not(); }

  std::variant<Binary, CompileFailure> compile_within(const Source& source,
                                                      double seconds) override;
  int compile_threads() const override { return team_.size(); }
  bool compiling_disturbs_timing() const override { return true; }
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                const Launch& launch) override;
  /// The linked-in kernel computes every problem class, so it can replace any candidate.
  std::unique_ptr<CompiledKernel> built_in(const Instance& instance) override;

  std::string why_not_memory(const void* pointer) const override;
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override;
  std::int64_t free_memory_bytes() const override;
  void copy_to_device(void* destination, const void* source, std::int64_t bytes) override;
  void copy_to_host(void* destination, const void* source, std::int64_t bytes) override;
  void set_bytes(void* destination, int value, std::int64_t bytes) override;
  int set_bytes_async(void* destination, int value, std::int64_t bytes,
                      StreamHandle stream) noexcept override;

  bool has_streams() const override { return false; }
  StreamHandle own_stream() override { return nullptr; }
  void synchronize(StreamHandle) override {}
  std::optional<std::uint64_t> stream_id(StreamHandle) const noexcept override { return 0; }
  std::unique_ptr<StreamCapture> capture_of(StreamHandle) const override { return nullptr; }

  std::variant<double, Rejection> time(const TimedLaunch& timed, int launches) override;
  Clock clock() override;
  std::string neighbour(std::chrono::system_clock::time_point) override { return ""; }
  bool is_current() const noexcept override { return true; }
  std::string describe(int error) const override;

 protected:
  void* make_current() const noexcept override { return nullptr; }
  void restore_current(void*) const noexcept override {}

 private:
  HostDevice(int threads, const Processor& processor);

  ThreadTeam team_;
  Compiler compiler_;
  DeviceIdentity identity_;
  DeviceLimits limits_;
  Toolchain toolchain_;
};

}  // namespace tunedgemm::internal

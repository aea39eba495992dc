#include "runtime/host/host_device.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <system_error>

#if __has_include(<gnu/libc-version.h>)
#include <gnu/libc-version.h>
#endif

#include "kernel_templates/base/log.h"
#include "runtime/backend.h"
#include "runtime/host/host_kernel.h"
#include "runtime/host/processor.h"

namespace tunedgemm::internal {
namespace {

class HostMemory final : public DeviceMemory {
 public:
  explicit HostMemory(std::int64_t bytes)
      : bytes_(bytes), data_(std::aligned_alloc(kAlignment, rounded(bytes))) {
    if (data_ == nullptr) {
      throw DeviceError(DeviceError::Kind::kOutOfMemory,
                        "allocating " + std::to_string(bytes) + " bytes of host memory");
    }
  }
  ~HostMemory() override { std::free(data_); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void* data() const override { return data_; }
  std::int64_t size_bytes() const override { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 256;

  static std::size_t rounded(std::int64_t bytes) {
    const auto least = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
    return (least + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::int64_t bytes_;
  void* data_;
};

// Whether the CPU can read the byte at `pointer`; true if that cannot be determined. Writing the
// byte to a pipe fails with EFAULT if a load would cause a segmentation fault. This is a direct
// system call, because sanitizers check the memory that the C library's write() gets.
bool is_readable(const void* pointer) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return true;
  }
  const bool fails = ::syscall(SYS_write, ends[1], pointer, 1) < 0 && errno == EFAULT;
  ::close(ends[0]);
  ::close(ends[1]);
  return !fails;
}

std::string c_library() {
#if __has_include(<gnu/libc-version.h>)
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "libc";
#endif
}

}  // namespace

HostDevice::HostDevice(int threads) : HostDevice(threads, this_processor()) {}

HostDevice::HostDevice(int threads, const Processor& processor)
    : team_(std::min(threads > 0 ? threads : available_threads(), kMostThreads),
            built_in_scratch_bytes()),
      compiler_(Compiler::find(processor.compiler_flags)) {
  if (team_.size() < threads) {
    log_warning("the host computes on " + std::to_string(team_.size()) + " threads in place of " +
                std::to_string(threads) +
                (team_.size() == kMostThreads ? ", the maximum"
                                              : ": the system provides no more (ulimit -u, -v)"));
  }
  identity_ = identity_of(processor, team_.size());
  limits_ = limits_of(processor, team_.size());
  toolchain_ = {.compiler = processor.features.empty()
                                ? compiler_.identity()
                                : compiler_.identity() + " for " + processor.features,
                .driver = c_library()};
}

const Backend& HostDevice::backend() const {
  return host_backend();
}

std::variant<Binary, CompileFailure> HostDevice::compile_within(const Source& source,
                                                                double seconds) {
  const auto limit =
      std::chrono::milliseconds(std::llround(1e3 * std::clamp(seconds, 0.0, kLongestSeconds)));
  return compiler_.compile(source, limit);
}

std::variant<std::unique_ptr<CompiledKernel>, Rejection> HostDevice::load(const Binary& binary,
                                                                          const Launch& launch) {
  auto loaded = LoadedObject::load(binary.code);
  if (auto* rejection = std::get_if<Rejection>(&loaded)) {
    return std::move(*rejection);
  }
  auto& object = std::get<std::unique_ptr<LoadedObject>>(loaded);
  const auto entry = reinterpret_cast<LoadedKernel::Entry>(object->symbol(binary.entry));
  if (entry == nullptr) {
    return Rejection{Reason::kLoadFailed, "the shared object has no symbol " + binary.entry};
  }
  if (!team_.reserve(launch.shared_bytes)) {
    return Rejection{Reason::kUnavailable, "no memory for " + std::to_string(launch.shared_bytes) +
                                               " bytes of scratch a thread"};
  }
  return std::make_unique<LoadedKernel>(std::move(object), entry, team_);
}

std::unique_ptr<CompiledKernel> HostDevice::built_in(const Instance& instance) {
  return std::make_unique<BuiltInKernel>(problem_class(instance.problem), team_);
}

std::string HostDevice::why_not_memory(const void* pointer) const {
  return is_readable(pointer)
             ? ""
             : "cannot be read by the CPU, on which this context computes; if it is memory of a "
               "GPU, use a context with the backend cuda, which reports an error if there is no "
               "GPU, or copy the matrices to the host";
}

std::unique_ptr<DeviceMemory> HostDevice::allocate(std::int64_t bytes) {
  return std::make_unique<HostMemory>(bytes);
}

std::int64_t HostDevice::free_memory_bytes() const {
  return available_memory_bytes();
}

void HostDevice::copy_to_device(void* destination, const void* source, std::int64_t bytes) {
  std::memcpy(destination, source, static_cast<std::size_t>(bytes));
}

void HostDevice::copy_to_host(void* destination, const void* source, std::int64_t bytes) {
  std::memcpy(destination, source, static_cast<std::size_t>(bytes));
}

void HostDevice::set_bytes(void* destination, int value, std::int64_t bytes) {
  std::memset(destination, value, static_cast<std::size_t>(bytes));
}

int HostDevice::set_bytes_async(void* destination, int value, std::int64_t bytes,
                                StreamHandle) noexcept {
  std::memset(destination, value, static_cast<std::size_t>(bytes));
  return 0;
}

std::variant<double, Rejection> HostDevice::time(const TimedLaunch& timed, int launches) {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kLongest{10};
  const std::size_t inputs = timed.rotation.size();
  const auto launch = [&](std::size_t number) {
    return timed.kernel->run(timed.launch, timed.rotation[number % inputs], nullptr);
  };
  const auto warm_up_start = SteadyClock::now();
  int error = launch(inputs - 1);
  if (error == 0 && SteadyClock::now() - warm_up_start > kLongest) {
    return Rejection{Reason::kTimedOut, "one launch took more than 10 s"};
  }
  const auto start = SteadyClock::now();
  for (int number = 0; number < launches && error == 0; ++number) {
    error = launch(static_cast<std::size_t>(number));
  }
  const std::chrono::duration<double> seconds = SteadyClock::now() - start;
  if (error != 0) {
    return Rejection{Reason::kLaunchFailed, describe(error)};
  }
  return seconds.count();
}

Device::Clock HostDevice::clock() {
  return {.mhz = current_mhz(), .throttled = false};
}

std::string HostDevice::describe(int error) const {
  return error == 0 ? "no error" : std::generic_category().message(error);
}

}  // namespace tunedgemm::internal

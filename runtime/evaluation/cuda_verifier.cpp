#include <algorithm>
#include <array>
#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/division.h"
#include "runtime/device.h"
#include "runtime/evaluation/verifier.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::int64_t kCtasPerSm = 16;
constexpr std::int64_t kTaskBytes = 1024;
constexpr std::int64_t kResultBytes = 256;

// If no thread can be started, the kernel is compiled on first use.
constexpr std::launch kPreferAThread = std::launch::async | std::launch::deferred;

Source reference_source(const std::string& name) {
  const SourceFile file = embedded_file("cuda/reference/" + name + ".cu");
  Source source;
  source.backend = "cuda";
  source.file = file;
  source.includes = included_files(file);
  source.entry = "tunedgemm_" + name;
  return source;
}

// One kernel of kernel_templates/cuda/reference.
class ReferenceKernel {
 public:
  ReferenceKernel(Device& device, Store& store, const std::string& name)
      : device_(device),
        binary_(std::async(kPreferAThread, [&device, &store, source = reference_source(name)] {
          return make(device, store, source);
        })) {}

  // `ctas` is the number of CTAs that would do the work in one pass. The grid may be smaller,
  // because every reference kernel loops until all work is done.
  void run(const void* task, std::int64_t task_bytes, DeviceMemory& memory, std::int64_t ctas) {
    if (!kernel_) {
      load();
    }
    const std::int64_t most = kCtasPerSm * std::max(device_.limits().sm_count, 1);
    Launch launch;
    launch.block = {kThreads, 1, 1};
    launch.grid[0] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(ctas, 1, most));
    device_.copy_to_device(memory.data(), task, task_bytes);
    Arguments arguments{};
    arguments.workspace = memory.data();
    if (const int error = kernel_->run(launch, arguments, device_.own_stream()); error != 0) {
      throw DeviceError(DeviceError::Kind::kFailed,
                        "a kernel of the verifier cannot be launched: " + device_.describe(error));
    }
  }

 private:
  // Uses a stored binary of this compiler, else compiles. If this process cannot compile, uses a
  // stored binary of another compiler.
  static Binary make(Device& device, Store& store, const Source& source) {
    const int architecture = device.limits().arch;
    const std::string& compiler = device.toolchain().compiler;
    std::vector<StoredBinary> stored =
        store.find_binaries(source, device.toolchain(), architecture, compiler);
    const bool is_own = !stored.empty() && stored.front().compiler == compiler;
    const std::string why_not = is_own ? "" : device.why_not_compile();
    if (is_own || (!stored.empty() && !why_not.empty())) {
      return std::move(stored.front().binary);
    }
    if (!why_not.empty()) {
      throw DeviceError(
          DeviceError::Kind::kUnavailable,
          "the kernels that verify results are in no cache and cannot be compiled: " + why_not);
    }
    auto compiled = device.compile(source);
    if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
      throw DeviceError(
          DeviceError::Kind::kUnavailable,
          "the verifier's " + std::string(source.file.name) + " does not compile: " + failure->log);
    }
    store.put_binary(source, device.toolchain(), architecture, std::get<Binary>(compiled));
    return std::get<Binary>(std::move(compiled));
  }

  void load() {
    auto loaded = device_.load(binary_.get(), Launch{});
    if (const auto* rejection = std::get_if<Rejection>(&loaded)) {
      const bool lacks_memory = rejection->reason == Reason::kUnavailable;
      throw DeviceError(
          lacks_memory ? DeviceError::Kind::kOutOfMemory : DeviceError::Kind::kUnavailable,
          "a kernel of the verifier cannot be loaded: " + rejection->detail);
    }
    kernel_ = std::get<0>(std::move(loaded));
  }

  Device& device_;
  std::future<Binary> binary_;
  std::unique_ptr<CompiledKernel> kernel_;
};

class CudaVerifier final : public Verifier {
 public:
  CudaVerifier(Device& device, Store& store)
      : device_(device),
        store_(store),
        task_(device.allocate(kTaskBytes)),
        result_(device.allocate(kResultBytes)),
        fill_(device, store, "fill_random"),
        gemm_(device, store, "gemm"),
        compare_(device, store, "compare"),
        erase_(device, store, "erase"),
        find_out_of_bounds_writes_(device, store, "find_out_of_bounds_writes") {}

  void fill(const reference::FillTask& task) override {
    const bool along_rows = task.strides.column <= task.strides.row;
    run(fill_, task, (along_rows ? task.rows : task.columns) * task.batch);
  }

  void compute(const reference::GemmTask& task) override {
    constexpr std::int64_t kTileRows = 16;
    constexpr std::int64_t kTileColumns = 64;
    run(gemm_, task,
        ceil_divide(task.sampling.rows, kTileRows) *
            ceil_divide(task.sampling.columns, kTileColumns));
  }

  reference::ComparisonResult compare(reference::CompareTask task) override {
    reference::ComparisonResult result{0, 0, ~reference::u64{0}};
    device_.copy_to_device(result_->data(), &result, sizeof result);
    task.result = static_cast<reference::ComparisonResult*>(result_->data());
    run(compare_, task, task.rows);
    device_.copy_to_host(&result, result_->data(), sizeof result);
    return result;
  }

  void erase(const reference::EraseTask& task) override { run(erase_, task, task.rows); }

  OutOfBoundsWrites find_out_of_bounds_writes(reference::OutOfBoundsTask task) override {
    std::array<reference::u64, 2> found{0, ~reference::u64{0}};
    device_.copy_to_device(result_->data(), found.data(), sizeof found);
    task.found = static_cast<reference::u64*>(result_->data());
    run(find_out_of_bounds_writes_, task, ceil_divide(task.count, kThreads));
    device_.copy_to_host(found.data(), result_->data(), sizeof found);
    return {static_cast<std::int64_t>(found[0]),
            static_cast<std::int64_t>(found[1] * sizeof(reference::u64))};
  }

  double mhz_since_last_call() override {
    if (!read_clocks_) {
      read_clocks_.emplace(device_, store_, "read_clocks");
      clocks_.resize(static_cast<std::size_t>(std::max(device_.limits().sm_count, 1)));
      readings_ = device_.allocate(clock_bytes());
    }
    const std::vector<reference::ClockReading> before = clocks_;
    device_.set_bytes(readings_->data(), 0, clock_bytes());
    const reference::ClockTask task{static_cast<reference::ClockReading*>(readings_->data()),
                                    static_cast<unsigned>(clocks_.size())};
    run(*read_clocks_, task, static_cast<std::int64_t>(clocks_.size()));
    device_.copy_to_host(clocks_.data(), readings_->data(), clock_bytes());
    std::vector<double> mhz;
    for (std::size_t index = 0; index < clocks_.size(); ++index) {
      const auto& [nanoseconds, cycles] = clocks_[index];
      // A reading of zero means that no CTA of that launch ran on the SM.
      if (before[index].nanoseconds != 0 && nanoseconds > before[index].nanoseconds) {
        mhz.push_back(static_cast<double>(cycles - before[index].cycles) * 1e3 /
                      static_cast<double>(nanoseconds - before[index].nanoseconds));
      }
    }
    return mhz.empty() ? 0 : median(std::move(mhz));
  }

  double reference_multiply_adds() const override {
    // This takes some 3 ms on a card with many f64 units, and 30 ms on a card with few.
    return 1e10;
  }

 private:
  template <class Task>
  void run(ReferenceKernel& kernel, const Task& task, std::int64_t ctas) {
    static_assert(sizeof(Task) <= kTaskBytes);
    const Device::Current current(device_);
    kernel.run(&task, static_cast<std::int64_t>(sizeof task), *task_, ctas);
  }

  std::int64_t clock_bytes() const {
    return static_cast<std::int64_t>(clocks_.size() * sizeof(reference::ClockReading));
  }

  Device& device_;
  Store& store_;
  std::unique_ptr<DeviceMemory> task_;
  std::unique_ptr<DeviceMemory> result_;
  ReferenceKernel fill_, gemm_, compare_, erase_, find_out_of_bounds_writes_;
  std::optional<ReferenceKernel> read_clocks_;   ///< created on first use
  std::vector<reference::ClockReading> clocks_;  ///< the readings of the last call, by SM
  std::unique_ptr<DeviceMemory> readings_;
};

}  // namespace

std::unique_ptr<Verifier> make_cuda_verifier(Device& device, Store& store) {
  return std::make_unique<CudaVerifier>(device, store);
}

}  // namespace tunedgemm::internal

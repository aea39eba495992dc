#include "runtime/evaluation/trial_runner.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "kernel_templates/base/division.h"
#include "runtime/backend.h"

namespace tunedgemm::internal {
namespace {

constexpr int kPoison = 0xff;
constexpr std::int64_t kMostSets = 1024;
constexpr std::int64_t kMostSampledElements = 4 << 20;

// Several sets of operands may together use 1/4 of most_bytes_. A single set may use all of it.
constexpr std::int64_t kFractionOfMemory = 4;

std::int64_t set_count(std::int64_t most_bytes, const VerifiedProblem& verified,
                       std::int64_t cold) {
  if (cold == 0) {
    return 1;
  }
  const auto touched =
      static_cast<std::int64_t>(std::clamp(minimum_bytes(verified.problem), 1.0, 1e15));
  const std::int64_t wanted = std::clamp<std::int64_t>(cold / touched + 2, 2, kMostSets);
  const std::int64_t affordable = most_bytes / kFractionOfMemory / verified.layout.bytes;
  return std::clamp<std::int64_t>(affordable, 1, wanted);
}

std::int64_t counter_bytes(const Launch& launch) {
  return std::min(launch.workspace_bytes, kWorkspaceCounterBytes);
}

}  // namespace

TrialRunner::TrialRunner(Device& device, std::unique_ptr<Verifier> verifier, const Problem& problem,
                         std::uint64_t seed, double memory_share)
    : device_(device),
      verifier_(std::move(verifier)),
      verified_(problem, seed),
      sampling_(
          sampling_for(problem, verifier_->reference_multiply_adds(), kMostSampledElements, seed)),
      is_limited_(memory_share < 1),
      most_bytes_(static_cast<std::int64_t>(memory_share *
                                            static_cast<double>(device.free_memory_bytes()))),
      cold_bytes_(device.backend().cold_bytes(device.limits())),
      sets_(set_count(most_bytes_, verified_, cold_bytes_)),
      operands_(allocate(sets_ * verified_.layout.bytes)),
      expected_(allocate(sampling_.rows * sampling_.columns *
                         static_cast<std::int64_t>(sizeof(double)))) {}

std::unique_ptr<DeviceMemory> TrialRunner::allocate(std::int64_t bytes) {
  if (is_limited_ && taken_bytes_ + bytes > most_bytes_) {
    throw DeviceError(DeviceError::Kind::kOutOfMemory,
                      "a tuning that needs " + std::to_string(taken_bytes_ + bytes) +
                          " bytes may take " + std::to_string(most_bytes_) + " of the free memory");
  }
  auto memory = device_.allocate(bytes);
  taken_bytes_ += memory->size_bytes();
  return memory;
}

std::byte* TrialRunner::set(std::int64_t index) const {
  return static_cast<std::byte*>(operands_->data()) + index * verified_.layout.bytes;
}

Arguments TrialRunner::arguments(std::int64_t set_index, GroupSizes sizes) const {
  Arguments arguments = verified_.arguments(set(set_index), sizes);
  arguments.workspace = workspace_ ? workspace_->data() : nullptr;
  return arguments;
}

// The constructor does not call this function, because the verifier's kernels may still be
// compiling.
void TrialRunner::fill_operands() {
  device_.set_bytes(operands_->data(), kPoison, operands_->size_bytes());
  for (reference::FillTask& task : verified_.fill_all(set(0))) {
    task.copies = sets_;
    task.copy_bytes = verified_.layout.bytes;
    verifier_->fill(task);
  }
  const std::vector<int>& numbers = verified_.group_numbers;
  for (std::int64_t index = 0; index < sets_ && !numbers.empty(); ++index) {
    device_.copy_to_device(set(index) + verified_.layout.groups, numbers.data(),
                           static_cast<std::int64_t>(numbers.size() * sizeof(int)));
  }
  verifier_->compute(verified_.gemm(sampling_, static_cast<double*>(expected_->data()), set(0)));
  is_filled_ = true;
}

void TrialRunner::provide_workspace(const Launch& launch) {
  if (launch.workspace_bytes == 0) {
    return;
  }
  if (!workspace_ || workspace_->size_bytes() < launch.workspace_bytes) {
    taken_bytes_ -= workspace_ ? workspace_->size_bytes() : 0;
    workspace_.reset();
    workspace_ = allocate(launch.workspace_bytes);
  }
  device_.set_bytes(workspace_->data(), kPoison, launch.workspace_bytes);
  device_.set_bytes(workspace_->data(), 0, counter_bytes(launch));
}

std::variant<double, Rejection> TrialRunner::check(const CompiledKernel& kernel,
                                                   const Launch& launch) {
  return rejected_unless_lost([&] { return check_or_throw(kernel, launch); });
}

std::variant<double, Rejection> TrialRunner::sample(TimedLaunch& timed, int launches) {
  return rejected_unless_lost([&] { return sample_or_throw(timed, launches); });
}

std::variant<double, Rejection> TrialRunner::check_or_throw(const CompiledKernel& kernel,
                                                            const Launch& launch) {
  if (!is_filled_) {
    fill_operands();
  }
  provide_workspace(launch);
  verifier_->erase(verified_.erase(set(0)));
  if (verified_.problem.c_is_d) {
    verifier_->fill(verified_.fill_c(set(0)));
  }
  if (const int error = kernel.run(launch, arguments(0, GroupSizes::kUneven), device_.own_stream());
      error != 0) {
    return Rejection{Reason::kLaunchFailed, device_.describe(error)};
  }
  device_.synchronize(device_.own_stream());

  const reference::ComparisonResult result = verifier_->compare(
      verified_.compare(sampling_, static_cast<const double*>(expected_->data()), set(0)));
  const std::string wrong = result.wrong == 0 ? "" : wrong_result(result);
  if (const std::string outside = out_of_bounds_writes(); !outside.empty()) {
    return Rejection{Reason::kOutOfBounds, outside};
  }
  if (!wrong.empty()) {
    return Rejection{Reason::kWrongResult, wrong};
  }
  if (!counters_are_zero(launch)) {
    return Rejection{Reason::kWrongResult,
                     "the counters at the start of the workspace are not zero after the launch"};
  }
  return __builtin_bit_cast(double, result.worst);
}

// "batch=0 m=3 n=17: got 1.25, expected 0.5; the worst is 4.2 times the error bound off; 17 of 4096
// elements wrong"
std::string TrialRunner::wrong_result(const reference::ComparisonResult& result) {
  const reference::CompareTask task =
      verified_.compare(sampling_, static_cast<const double*>(expected_->data()), set(0));
  const auto first = static_cast<std::int64_t>(result.first_wrong);
  const std::int64_t row = first / task.n, column = first % task.n;
  const reference::Element at = verified_.element(row, column);
  const long long offset = reference::offset_of(task.strides, at.batch, at.m, column);
  const std::int64_t bytes = size_bytes(verified_.problem.d.type);
  std::array<std::byte, sizeof(double)> element{};
  device_.copy_to_host(element.data(), static_cast<const std::byte*>(task.d) + offset * bytes,
                       bytes);
  std::ostringstream text;
  text.imbue(std::locale::classic());  // the program's may group digits
  text << "batch=" << at.batch << " m=" << at.m << " n=" << column << ": got "
       << reference::load(task.format, element.data(), 0);
  const long long sampled_row =
      reference::sample_index(row, sampling_.first_row, sampling_.row_step, sampling_.rows);
  const long long sampled_column = reference::sample_index(
      column, sampling_.first_column, sampling_.column_step, sampling_.columns);
  if (sampled_row >= 0 && sampled_column >= 0) {
    double expected = 0;
    device_.copy_to_host(&expected,
                         task.expected + sampled_row * sampling_.columns + sampled_column,
                         sizeof expected);
    text << ", expected " << expected;
  }
  text << "; the worst is " << __builtin_bit_cast(double, result.worst)
       << " times the error bound off; " << result.wrong << " of " << task.rows * task.n
       << " elements wrong";
  return text.str();
}

// Poisons D again. Any value in D's region that is then not poison was written out of bounds.
std::string TrialRunner::out_of_bounds_writes() {
  verifier_->erase(verified_.erase(set(0)));
  const OutOfBoundsWrites found =
      verifier_->find_out_of_bounds_writes(verified_.find_out_of_bounds_writes(set(0)));
  if (found.count == 0) {
    return "";
  }
  const std::int64_t from_d = found.first_byte - (verified_.layout.d - verified_.layout.d_region);
  return "wrote outside D: " + std::to_string(found.count) + " values of 8 bytes, the first one " +
         std::to_string(from_d) + " bytes from D's start";
}

bool TrialRunner::counters_are_zero(const Launch& launch) {
  std::vector<std::byte> counters(static_cast<std::size_t>(counter_bytes(launch)));
  if (!counters.empty()) {
    device_.copy_to_host(counters.data(), workspace_->data(), counter_bytes(launch));
  }
  return std::all_of(counters.begin(), counters.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

TimedLaunch TrialRunner::prepare_timing(const CompiledKernel& kernel, const Launch& launch) {
  TimedLaunch timed;
  timed.kernel = &kernel;
  timed.launch = launch;
  timed.launch_regime = verified_.problem.launch_regime;
  const bool is_grouped = !verified_.group_numbers.empty();
  const std::int64_t turns = is_grouped && sets_ % kSkewedTurn != 0 ? kSkewedTurn : 1;
  for (std::int64_t index = 0; index < turns * sets_; ++index) {
    const bool is_skewed = index % kSkewedTurn == kSkewedTurn - 1;
    timed.rotation.push_back(
        arguments(index % sets_, is_skewed ? GroupSizes::kSkewed : GroupSizes::kEqual));
  }
  return timed;
}

std::variant<double, Rejection> TrialRunner::sample_or_throw(TimedLaunch& timed, int launches) {
  if (!is_filled_) {
    fill_operands();
  }
  if (!verified_.group_numbers.empty()) {
    launches = static_cast<int>(round_up(launches, kSkewedTurn));
  }
  // A larger workspace may have replaced the workspace for which `timed` was prepared.
  void* const workspace = workspace_ ? workspace_->data() : nullptr;
  if (timed.rotation.front().workspace != workspace) {
    for (Arguments& each : timed.rotation) {
      each.workspace = workspace;
    }
    timed.prepared.reset();
  }
  const bool uses_all_sets = launches >= static_cast<int>(timed.rotation.size());
  if (cold_bytes_ > 0 && !uses_all_sets) {
    // The previous sample used the first sets, and nothing has evicted them since.
    if (!device_.backend().cools_by_overwriting()) {
      std::rotate(timed.rotation.begin(), timed.rotation.begin() + launches, timed.rotation.end());
      timed.prepared.reset();
    } else {
      flushed_ = flushed_ ? std::move(flushed_) : allocate(cold_bytes_);
      device_.set_bytes_async(flushed_->data(), 0, cold_bytes_, device_.own_stream());
    }
  }
  auto seconds = device_.time(timed, launches);
  if (auto* rejection = std::get_if<Rejection>(&seconds)) {
    return std::move(*rejection);
  }
  return std::get<double>(seconds) * 1e6 / launches;
}

void TrialRunner::work() {
  if (!is_filled_) {
    fill_operands();
  }
  reference::FillTask task = verified_.fill_a(set(0));
  task.copies = sets_;
  task.copy_bytes = verified_.layout.bytes;
  verifier_->fill(task);
  device_.synchronize(device_.own_stream());
}

}  // namespace tunedgemm::internal

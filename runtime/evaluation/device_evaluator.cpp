#include "runtime/evaluation/device_evaluator.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/backend.h"
#include "runtime/evaluation/candidate_compiler.h"
#include "runtime/evaluation/operands.h"
#include "runtime/evaluation/trial_runner.h"
#include "runtime/evaluation/verifier.h"

namespace tunedgemm::internal {
namespace {

using SteadyClock = std::chrono::steady_clock;

// An idle GPU reaches its full clock after some tens of milliseconds of work.
constexpr std::chrono::milliseconds kLongestWarmUp{100};
constexpr double kFractionOfFullClock = 0.9;

// Limits the timeout, because infinity does not convert to a duration. No compilation takes a day.
constexpr double kLongestCompilation = 24 * 3600;

// Equal problems are verified with equal inputs, so that a tuning can be repeated.
std::uint64_t seed_for(const CanonicalProblem& problem) {
  return std::stoull(fingerprint(problem).substr(0, 16), nullptr, 16);
}

}  // namespace

class DeviceEvaluator::DeviceTrial final : public Trial {
 public:
  DeviceTrial(Device& device, TrialRunner& runner, Binary binary,
              std::shared_ptr<const CompiledKernel> kernel, const Launch& launch)
      : device_(device),
        runner_(runner),
        binary_(std::move(binary)),
        kernel_(std::move(kernel)),
        launch_(launch) {}

  const Binary& binary() const override { return binary_; }

  std::variant<double, Rejection> check() override {
    const Device::Current current(device_);
    return runner_.check(*kernel_, launch_);
  }

  std::variant<double, Rejection> sample(int launches) override {
    const Device::Current current(device_);
    if (timed_.kernel == nullptr) {
      timed_ = runner_.prepare_timing(*kernel_, launch_);
    }
    return runner_.sample(timed_, launches);
  }

 private:
  Device& device_;
  TrialRunner& runner_;
  Binary binary_;
  std::shared_ptr<const CompiledKernel> kernel_;
  Launch launch_;
  TimedLaunch timed_;  ///< without a kernel until the first sample
};

DeviceEvaluator::DeviceEvaluator(Device& device, Store& store, const CanonicalProblem& problem,
                                 std::shared_ptr<CandidateCompiler> compiler, double memory_share)
    : device_(device),
      problem_(problem),
      compiler_(compiler ? std::move(compiler)
                         : std::make_shared<CandidateCompiler>(device, store, nullptr)) {
  std::unique_ptr<Verifier> verifier = device.backend().make_verifier(device, store);
  verifier_ = verifier.get();
  runner_ = std::make_unique<TrialRunner>(device, std::move(verifier), problem, seed_for(problem),
                                          memory_share);
}

VerifiedProblem DeviceEvaluator::verified_problem() const {
  return {problem_, seed_for(problem_)};
}

DeviceEvaluator::~DeviceEvaluator() {
  compiler_->end_problem();
}

void DeviceEvaluator::set_compile_deadline(double seconds) {
  const double left = std::clamp(seconds - now_seconds(), 0.0, kLongestCompilation);
  compiler_->set_deadline(SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                                   std::chrono::duration<double>(left)));
}

void DeviceEvaluator::compile_ahead(std::span<const Instance> candidates) {
  if (device_.why_not_compile().empty()) {
    compiler_->start(candidates);
  }
}

void DeviceEvaluator::compile_next(std::span<const Instance> candidates) {
  if (device_.why_not_compile().empty()) {
    compiler_->start_next(candidates);
  }
}

bool DeviceEvaluator::is_compiled(const Instance& candidate) {
  return compiler_->is_compiled(candidate);
}

void DeviceEvaluator::forget(const Instance& candidate) {
  compiler_->forget(candidate);
}

int DeviceEvaluator::compile_batch() const {
  return device_.compiling_disturbs_timing() ? device_.compile_threads() : 0;
}

Prepared DeviceEvaluator::prepare(const Instance& instance) {
  const Device::Current current(device_);
  if (const std::string why_not = device_.why_not_compile(); !why_not.empty()) {
    auto built_in = device_.built_in(instance);
    if (!built_in) {
      return Rejection{Reason::kUnavailable, why_not};
    }
    Binary binary;
    binary.entry = instance.source().entry;
    return std::make_unique<DeviceTrial>(device_, *runner_, std::move(binary), std::move(built_in),
                                         instance.launch);
  }
  auto made = rejected_unless_lost([&] { return compiler_->binary(instance); });
  if (auto* rejection = std::get_if<Rejection>(&made)) {
    return std::move(*rejection);
  }
  auto loaded = device_.load(std::get<Binary>(made), instance.launch);
  if (auto* rejection = std::get_if<Rejection>(&loaded)) {
    return std::move(*rejection);
  }
  return std::make_unique<DeviceTrial>(device_, *runner_, std::get<Binary>(std::move(made)),
                                       std::get<0>(std::move(loaded)), instance.launch);
}

void DeviceEvaluator::warm_up() {
  const Device::Current current(device_);
  const SteadyClock::time_point end = SteadyClock::now() + kLongestWarmUp;
  const double full_mhz = kFractionOfFullClock * device_.identity().clock_mhz;
  do {
    const int mhz = device_.clock().mhz;
    const bool known = mhz > 0 && full_mhz > 0;
    if (known ? mhz >= full_mhz : is_warm_) {
      break;
    }
    runner_->work();
  } while (SteadyClock::now() < end);
  is_warm_ = true;
}

double DeviceEvaluator::cool_down_seconds() const {
  return device_.backend().cool_down_seconds();
}

void DeviceEvaluator::cool_down(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Evaluator::Clock DeviceEvaluator::clock() {
  const Device::Clock now = device_.clock();
  return {now.mhz, now.throttled};
}

std::string DeviceEvaluator::neighbour() {
  return device_.neighbour(began_);
}

double DeviceEvaluator::now_seconds() {
  return std::chrono::duration<double>(SteadyClock::now().time_since_epoch()).count();
}

double DeviceEvaluator::roofline_us() const {
  return device_.backend().roofline_us(problem_, device_.limits());
}

std::unique_ptr<Trial> DeviceEvaluator::trial(std::shared_ptr<const CompiledKernel> kernel,
                                              const Launch& launch) {
  return std::make_unique<DeviceTrial>(device_, *runner_, Binary{}, std::move(kernel), launch);
}

double DeviceEvaluator::mhz_since_last_call() {
  return verifier_->mhz_since_last_call();
}

}  // namespace tunedgemm::internal

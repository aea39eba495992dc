// Tests that the race of a winner's launch variants takes only the rest of the tuning's budget. The
// device is a fake: it claims to be a GPU, but its kernels are plain loops on the CPU
// (plain_device.h).

#include "runtime/evaluation/launch_race.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <variant>
#include <vector>

#include "cache/store.h"
#include "tests/runtime/support/plain_device.h"
#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/memory_store.h"
#include "tests/support/wgmma_config.h"
#include "tuner/time_budget.h"

using Catch::Matchers::ContainsSubstring;

namespace tunedgemm::internal {
namespace {

CanonicalProblem problem() {
  return canonical(make_problem(64, 64, 64, DataType::kF16, DataType::kF16, DataType::kF32));
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A device that claims to be a GPU whose kernels have several launch variants.
class LoopingGpu final : public PlainDevice {
 public:
  explicit LoopingGpu(std::chrono::milliseconds longer = {})
      : PlainDevice(problem(), Flaw::kNone), longer_(longer) {
    limits_.gpc_of_sm = eight_gpcs(limits_.sm_count);
  }
  const DeviceLimits& limits() const override { return limits_; }

  int loads = 0;
  double loaded_at = 0;          // the first time
  std::vector<double> timed_at;  // when time() was called
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                const Launch& launch) override {
    loaded_at = loads++ == 0 ? now_seconds() : loaded_at;
    return PlainDevice::load(binary, launch);
  }
  std::variant<double, Rejection> time(const TimedLaunch& timed, int launches) override {
    timed_at.push_back(now_seconds());
    std::this_thread::sleep_for(longer_);
    auto seconds = PlainDevice::time(timed, launches);
    std::get<double>(seconds) += std::chrono::duration<double>(longer_).count();
    return seconds;
  }

 private:
  DeviceLimits limits_ = h200();
  std::chrono::milliseconds longer_;
};

LaunchRace race(LoopingGpu& device, const LaunchRaceBudget& budget) {
  const Candidate candidate{find_family("wgmma"), wgmma_config()};
  const Instance winner = instantiate(problem(), candidate, device.limits()).value();
  Binary binary;
  binary.entry = winner.source().entry;
  binary.code.assign(16, std::byte{1});
  return fastest_launch(device, *memory_store(), winner, binary, 10, budget);
}

}  // namespace

TEST_CASE("Launches are not compared after the budget is spent, and the remark says so") {
  for (const double seconds :
       {-1.0, 0.0, 0.9 * TimeBudget::kGraceSeconds, std::numeric_limits<double>::quiet_NaN()}) {
    LoopingGpu device;
    const LaunchRace result = race(device, {.seconds = seconds, .cancelled = {}});
    CHECK_FALSE(result.choice);
    CHECK(result.seconds == 0);
    CHECK(result.remark == "launches not compared, the budget was spent");
    CHECK(device.loads == 0);
  }
}

// The budget is asked before each round, so the last round may end late, however busy the CPU is.
TEST_CASE("A race of launches begins no round after its budget, and reports its time") {
  constexpr double kBudget = 1;
  constexpr int kVariants = 2;
  for (const double budget : {kBudget, std::numeric_limits<double>::infinity()}) {
    CAPTURE(budget);
    LoopingGpu device(std::chrono::milliseconds(100));
    const double begin = now_seconds();
    const LaunchRace result = race(device, {.seconds = budget, .cancelled = {}});
    const double seconds = now_seconds() - begin;
    CAPTURE(result.remark);
    CHECK(device.loads == kVariants);
    REQUIRE_FALSE(device.timed_at.empty());
    CHECK(result.seconds > 0);
    CHECK(result.seconds >= device.timed_at.back() - device.timed_at.front());
    CHECK(result.seconds <= seconds);
    const auto late = std::count_if(device.timed_at.begin(), device.timed_at.end(),
                                    [&](double time) { return time > device.loaded_at + kBudget; });
    if (budget == kBudget) {
      CHECK((result.choice || result.remark == "launches not compared, the budget was spent"));
      CHECK(late < 2 * kVariants);
    } else {
      CHECK(result.choice);
      CHECK(late >= 2 * kVariants);
    }
  }
}

TEST_CASE("A race of launches that is interrupted decides nothing, and says so") {
  LoopingGpu device;
  const LaunchRace result = race(device, {.seconds = 10, .cancelled = [] { return true; }});
  CHECK_FALSE(result.choice);
  CHECK_THAT(result.remark, ContainsSubstring("interrupted"));
  CHECK(result.seconds < 5);
}

}  // namespace tunedgemm::internal

// Tests that the race of a winner's launch variants takes only the rest of the tuning's budget. The
// device is a fake: it claims to be a GPU, but its kernels are plain loops on the CPU
// (plain_device.h).

#include "runtime/evaluation/launch_race.h"

#include <limits>

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

Problem problem() {
  return canonical(make_problem(64, 64, 64, DataType::kF16, DataType::kF16, DataType::kF32))
      .problem;
}

// A device that claims to be a GPU whose kernels have several launch variants.
class LoopingGpu final : public PlainDevice {
 public:
  LoopingGpu() : PlainDevice(problem(), Flaw::kNone) {
    limits_.gpc_of_sm = eight_gpcs(limits_.sm_count);
  }
  const DeviceLimits& limits() const override { return limits_; }

  int loads = 0;
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                const Launch& launch) override {
    ++loads;
    return PlainDevice::load(binary, launch);
  }

 private:
  DeviceLimits limits_ = h200();
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

TEST_CASE("A race of launches stays within the remaining budget and reports its time") {
  for (const double seconds : {2.0, std::numeric_limits<double>::infinity()}) {
    LoopingGpu device;
    const LaunchRace result = race(device, {.seconds = seconds, .cancelled = {}});
    CHECK(result.choice);
    CHECK(device.loads == 2);
    CHECK(result.seconds > 0);
    CHECK(result.seconds < seconds);
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

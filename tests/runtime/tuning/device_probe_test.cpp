// Some device properties are found by launching probes. They are probed once, then read from the
// store.

#include "runtime/tuning/device_probe.h"
#include "runtime/calls/arguments.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cache/store.h"
#include "runtime/context/call_key.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/runtime/support/plain_device.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

// A device whose probe returns `sees`.
class DeviceWithSecret final : public PlainDevice, private HardwareProbe {
 public:
  explicit DeviceWithSecret(std::string hardware, std::string sees = "seen")
      : PlainDevice(make_problem(1, 1, 1, DataType::kF32, DataType::kF32, DataType::kF32),
                    Flaw::kNone),
        hardware_(std::move(hardware)),
        sees_(std::move(sees)) {}

  HardwareProbe* probe() override { return this; }

  int launches = 0;

 private:
  std::string key() const override { return is_probed_ ? "" : hardware_; }
  std::string run() override {
    ++launches;
    is_probed_ = true;
    return sees_;
  }
  void use(std::string_view text) override { is_probed_ = text == "seen"; }

  std::string hardware_, sees_;
  bool is_probed_ = false;
};

std::unique_ptr<Store> open_store(const fs::path& path) {
  StoreOptions options;
  options.path = path;
  return Store::open(options);
}

// The number of probe launches in a new process on a device with this hardware.
int launches_of(const std::string& hardware, const fs::path& path,
                const std::string& sees = "seen") {
  DeviceWithSecret device(hardware, sees);
  const auto store = open_store(path);
  DeviceProbe probe(device, *store);
  CHECK(device.launches == 0);
  probe.complete();
  probe.complete();
  return device.launches;
}

}  // namespace

TEST_CASE("Hardware is probed once for all later processes") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  CHECK(launches_of("first", path) == 1);
  CHECK(launches_of("first", path) == 0);
  CHECK(launches_of("second", path) == 1);
  CHECK(launches_of("first", path) == 0);
  CHECK(launches_of("second", path) == 0);
}

TEST_CASE("A probe that cannot be parsed is repeated") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  CHECK(launches_of("first", path) == 1);
  open_store(path)->put_note("probe first", "nonsense");
  CHECK(launches_of("first", path) == 1);
  CHECK(launches_of("first", path) == 0);
}

TEST_CASE("A probe without a result is not stored, and not repeated in its process") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  CHECK(launches_of("first", path, "") == 1);
  CHECK(launches_of("first", path, "") == 1);
}

TEST_CASE("An exported cache does not reveal the hardware it comes from") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db", copy = folder.path() / "copy.db";
  CHECK(launches_of("first", path) == 1);
  CHECK(open_store(path)->export_to(copy).empty());
  CHECK(launches_of("first", copy) == 1);
}

TEST_CASE("A GPC-aware plan uses the GPCs of the store, else of a probe", "[gpu][wgmma]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  if (device->limits().gpc_of_sm.empty()) {
    TUNEDGEMM_SKIP("the GPCs of this device are not known");
  }
  const TemporaryFolder folder;
  ContextOptions options;
  options.backend = &cuda_backend();
  options.policy = Policy::kFail;
  options.store.path = folder.path() / "cache.db";
  constexpr std::int64_t kM = 256, kN = 512, kK = 8192;
  const CanonicalProblem asked =
      canonical(make_problem(kM, kN, kK, DataType::kF16, DataType::kF16, DataType::kF16));
  const std::vector<Instance> ranked = ranked_candidates(asked, device->limits());
  const auto winner = std::ranges::find_if(
      ranked, [](const Instance& instance) { return instance.launch.workspace_is_optional; });
  REQUIRE(winner != ranked.end());
  store_winner(*open_store(options.store.path), *winner, *device);

  const tunedgemm_problem problem{.m = kM,
                                  .n = kN,
                                  .k = kK,
                                  .type_a = TUNEDGEMM_TYPE_F16,
                                  .type_b = TUNEDGEMM_TYPE_F16,
                                  .type_d = TUNEDGEMM_TYPE_F16};
  const auto memory = device->allocate(64);
  const tunedgemm_buffers buffers{.a = memory->data(), .b = memory->data(), .d = memory->data()};
  for (const bool is_stored : {false, true}) {
    const auto context = Context::create(options);
    CHECK(context->device().limits().gpc_of_sm.empty() != is_stored);
    const Device::Current current(context->device());
    // Another stream of this thread is being captured, in the most restrictive mode.
    const OwnStream captured;
    captured.begin_capture();
    const Plan& plan = context->plan(checked_call(call_key(problem, buffers)), nullptr);
    test_driver().cuGraphDestroy(captured.end_capture());
    CHECK(plan.candidate == winner->candidate);
    CHECK(plan.launch == winner->launch);
    CHECK(context->device().limits().gpc_of_sm == device->limits().gpc_of_sm);
  }
}

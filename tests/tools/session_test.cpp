// tune-all's session on several devices, for which contexts of the host stand in.

#include "tools/tune_all/session.h"

#include <map>
#include <memory>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"
#include "tools/tune_all/estimate.h"

namespace tunedgemm::internal {
namespace {

// Contexts of one thread each, with the same cache file.
class Devices {
 public:
  explicit Devices(int count) {
    ContextOptions options;
    options.backend = &host_backend();
    options.device.host_threads = 1;
    options.store.path = folder_.path() / "cache.db";
    for (int device = 0; device < count; ++device) {
      owned_.push_back(Context::create(options));
      contexts_.push_back(owned_.back().get());
    }
  }
  std::span<Context* const> contexts() const { return contexts_; }

 private:
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<Context>> owned_;
  std::vector<Context*> contexts_;
};

SessionOptions quick() {
  SessionOptions options;
  options.shape.rigor = Rigor::kQuick;
  options.shape.budget = {.seconds = 100, .candidates = 2};
  return options;
}

WorkList shapes(std::int64_t count) {
  WorkList work;
  for (std::int64_t m = 1; m <= count; ++m) {
    work.shapes.push_back(
        {.name = "m" + std::to_string(m),
         .problem = make_problem(m, 8, 8, DataType::kF32, DataType::kF32, DataType::kF32)});
  }
  return work;
}

std::vector<bool> none_is_tuned(const WorkList& work) {
  return std::vector<bool>(work.shapes.size());
}

TEST_CASE("Several devices tune each shape of a list once, and the outcomes are in its order") {
  const Devices devices(3);
  const WorkList work = shapes(7);
  const Session session = tune_shapes(devices.contexts(), work, quick(), none_is_tuned(work));
  REQUIRE(session.outcomes.size() == 7);
  for (std::size_t index = 0; index < 7; ++index) {
    const Outcome& outcome = session.outcomes[index];
    CAPTURE(index, outcome.failure);
    CHECK(outcome.shape.name == work.shapes[index].name);
    CHECK(outcome.kind == TuneResult::Kind::kTuned);
    CHECK(outcome.record.has_value());
  }
  std::ostringstream summary;
  print_summary(summary, session, devices.contexts());
  CHECK_THAT(summary.str(), Catch::Matchers::ContainsSubstring("7 shapes on 3 ") &&
                                Catch::Matchers::ContainsSubstring("7 tuned"));

  const Session again = tune_shapes(devices.contexts(), work, quick(), std::vector<bool>(7, true));
  for (const Outcome& outcome : again.outcomes) {
    CHECK(outcome.kind == TuneResult::Kind::kCached);
  }
}

TEST_CASE("More devices than shapes, and no shape at all, are no trouble") {
  const Devices devices(3);
  for (const std::int64_t count : {0, 1}) {
    const WorkList work = shapes(count);
    const Session session = tune_shapes(devices.contexts(), work, quick(), none_is_tuned(work));
    REQUIRE(session.outcomes.size() == static_cast<std::size_t>(count));
    CHECK(std::all_of(session.outcomes.begin(), session.outcomes.end(),
                      [](const Outcome& outcome) { return outcome.record.has_value(); }));
  }
}

TEST_CASE("When the time is over, no device begins another shape") {
  const Devices devices(2);
  const WorkList work = shapes(6);
  SessionOptions options = quick();
  options.total_seconds = 1e-9;
  const Session session = tune_shapes(devices.contexts(), work, options, none_is_tuned(work));
  for (const Outcome& outcome : session.outcomes) {
    CHECK_FALSE(outcome.was_tried);
    CHECK(outcome.failure == "not tried: --total-seconds is over");
  }
}

TEST_CASE(
    "A shape to tune costs one look-up of its winner, a tuned one a second for the estimate") {
  const Devices devices(1);
  const WorkList work = shapes(3);
  const Store& store = devices.contexts().front()->store();
  const auto lookups_of_run = [&] {
    const std::int64_t before = store.lookups();
    std::vector<bool> is_tuned;
    for (const PlannedShape& planned : estimate(devices.contexts(), work.shapes, quick()).shapes) {
      is_tuned.push_back(planned.tuned);
    }
    tune_shapes(devices.contexts(), work, quick(), is_tuned);
    return store.lookups() - before;
  };
  CHECK(lookups_of_run() == 3);
  CHECK(lookups_of_run() == 6);
}

}  // namespace
}  // namespace tunedgemm::internal

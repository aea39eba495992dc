#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "kernel_templates/base/text.h"
#include "tests/support/catch.h"
#include "tests/support/memory_store.h"
#include "tests/tuner/support/fake_family.h"
#include "tests/tuner/support/replay.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {
namespace {

TEST_CASE("A replay says what was recorded, in the recorded time") {
  const RecordedRun run = parse_recorded_run(
      "recorded-run 3\n# where and when\n\nproblem " + to_text(Problem{}) +
      "\ndevice roofline_us=139.25 batch=4 ahead_seconds=0.5 warm_up_seconds=0.2 "
      "cool_down_seconds=0.004\nclock mhz=1980 throttled=0\nclock mhz=1200 throttled=1\n"
      "candidate mma block_m=128 block_n=256\n"
      "prepared seconds=0.1 registers=168 shared_bytes=1024 spill_bytes=0 compile_ms=412.125\n"
      "checked seconds=0.004 error=0.1\n"
      "sample us=203.4 launches=5 seconds=0.0013\nsample us=0.25 launches=1 seconds=1e-7\n"
      "candidate mma block_m=7 block_n=7\n"
      "rejected at=prepare seconds=0.25 reason=1 detail=line 3: no statement\n");
  ReplayEvaluator replay(run);
  const FakeFamily mma("mma");
  const auto candidate = [&](const std::string& knobs) {
    Instance instance;
    instance.candidate = Candidate{&mma, *parse_config(knobs)};
    return instance;
  };
  Prepared good = replay.prepare(candidate("block_m=128 block_n=256"));
  Trial& trial = *std::get<std::unique_ptr<Trial>>(good);
  CHECK(trial.binary().registers == 168);
  CHECK(std::get<double>(trial.check()) == 0.1);
  CHECK(replay.now_seconds() == Catch::Approx(0.104));
  CHECK(std::get<double>(trial.sample(5)) == 203.4);
  CHECK(replay.now_seconds() == Catch::Approx(0.1053));
  CHECK(std::get<double>(trial.sample(1)) == 0.25);
  // From the beginning again, with twice as many launches in all.
  CHECK(std::get<double>(trial.sample(11)) == 203.4);
  CHECK(replay.now_seconds() == Catch::Approx(0.1079).epsilon(1e-5));

  CHECK(std::get<Rejection>(replay.prepare(candidate("block_m=7 block_n=7"))).reason ==
        Reason::kCompileFailed);
  CHECK(std::holds_alternative<Rejection>(replay.prepare(candidate("block_m=9"))));
  CHECK(replay.clock().mhz == 1980);
  CHECK(replay.clock().throttled);
  CHECK(replay.clock().mhz == 1200);
}

// The families of a recorded run, whatever they are called.
std::map<std::string, std::unique_ptr<FakeFamily>> families_of(const RecordedRun& run) {
  std::map<std::string, std::unique_ptr<FakeFamily>> families;
  for (const RecordedCandidate& recorded : run.candidates) {
    const std::string name(split(recorded.text, ' ').front());
    const auto [family, is_new] = families.try_emplace(name);
    if (is_new) {
      family->second = std::make_unique<FakeFamily>(family->first);
    }
  }
  return families;
}

TEST_CASE("Each recorded run has one winner, whatever the order and the stretch of the samples") {
  const auto folder = std::filesystem::path(TUNEDGEMM_SOURCE_FOLDER) / "tests" / "data";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("tuning_")) {
      continue;
    }
    ++files;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    INFO(entry.path());
    RecordedRun run = parse_recorded_run(text.str());
    const auto families = families_of(run);
    TuneOptions options;
    for (const RecordedCandidate& recorded : run.candidates) {
      const auto& family = families.at(std::string(split(recorded.text, ' ').front()));
      options.candidates.push_back(
          {family.get(),
           *parse_config(std::string_view(recorded.text)
                             .substr(std::min(family->name().size(), recorded.text.size())))});
    }
    options.default_candidate = options.candidates.front();
    std::map<std::string, int> winners;
    constexpr int kReplays = 40;
    for (options.seed = 0; options.seed < kReplays; ++options.seed) {
      for (RecordedCandidate& recorded : run.candidates) {
        if (recorded.samples.size() > 1) {
          std::rotate(recorded.samples.begin(), recorded.samples.begin() + 1,
                      recorded.samples.end());
        }
      }
      ReplayEvaluator replay(run);
      const Tuning tuning = tune(run.problem, {}, {}, {}, replay, *memory_store(), options);
      REQUIRE(tuning.record);
      CHECK(tuning.record->max_error <= 1);
      CHECK(tuning.record->measurement.median_us <= 1.005 * tuning.record->default_us);
      ++winners[tuning.record->family + " " + to_text(tuning.record->config)];
    }
    int most = 0;
    for (const auto& [winner, count] : winners) {
      most = std::max(most, count);
    }
    CHECK(most >= 0.95 * kReplays);
  }
  CHECK(files > 0);
}

}  // namespace
}  // namespace tunedgemm::internal

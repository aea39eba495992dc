#include "tuner/replay.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "kernel_templates/problem/fields.h"
#include "tests/support/catch.h"
#include "tests/tuner/support/fake_family.h"
#include "tests/tuner/support/simulated_device.h"
#include "tuner/recording.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {
namespace {

Problem square() {
  return make_problem(4096, 4096, 4096, DataType::kF16, DataType::kF16, DataType::kF16);
}

std::unique_ptr<Store> memory() {
  StoreOptions in_memory;
  in_memory.access = StoreOptions::Access::kMemoryOnly;
  return Store::open(in_memory);
}

// A run with everything in it that can happen.
RecordedRun eventful_run() {
  RecordedRun run;
  run.problem = square();
  run.roofline_us = 139.25;
  run.compile_batch = 4;
  run.ahead_seconds = 0.5;
  run.warm_up_seconds = 0.2;
  run.cool_down_seconds = 0.004;
  run.clocks = {{1980, false}, {1200, true}};
  RecordedCandidate good;
  good.candidate = "mma block_m=128 block_n=256";
  good.registers = 168;
  good.shared_bytes = 1024;
  good.compile_ms = 412.125;
  good.prepare_seconds = 0.1;
  good.error = 0.1;
  good.check_seconds = 0.004;
  good.samples = {{203.4, 5, 0.0013}, {1.0 / 3, 1, 1e-7}};
  RecordedCandidate hung = good;
  hung.candidate = "naive_2d";
  hung.spill_bytes = 16;
  hung.failure = {RecordedCandidate::Stage::kSample, {Reason::kTimedOut, "5 s"}};
  RecordedCandidate wrong;
  wrong.candidate = "mma block_m=64 block_n=64";
  wrong.check_seconds = 0.5;
  wrong.failure = {RecordedCandidate::Stage::kCheck, {Reason::kWrongResult, ""}};
  RecordedCandidate broken;
  broken.candidate = "mma block_m=7 block_n=7";
  broken.prepare_seconds = 0.25;
  broken.failure = {RecordedCandidate::Stage::kPrepare,
                    {Reason::kCompileFailed, "line 3: \\n is no\nstatement detail=7"}};
  run.candidates = {good, hung, wrong, broken};
  return run;
}

RecordedRun parsed(const std::string& text) {
  const auto run = parse_recorded_run(text);
  INFO((std::holds_alternative<std::string>(run) ? std::get<std::string>(run) : ""));
  REQUIRE(std::holds_alternative<RecordedRun>(run));
  return std::get<RecordedRun>(run);
}

TEST_CASE("A recorded run survives its text") {
  const RecordedRun run = eventful_run();
  const RecordedRun again = parsed("recorded-run 3\n# where and when\n\n" +
                                   to_text(run).substr(to_text(run).find('\n') + 1));
  CHECK(again.problem == run.problem);
  CHECK(again.cool_down_seconds == run.cool_down_seconds);
  CHECK(again.candidates == run.candidates);
  CHECK(to_text(again) == to_text(run));
}

TEST_CASE("A malformed recorded run is refused with the number of the line") {
  const std::string text = to_text(eventful_run());
  const auto refused = [](const std::string& malformed) {
    const auto run = parse_recorded_run(malformed);
    REQUIRE(std::holds_alternative<std::string>(run));
    return std::get<std::string>(run);
  };
  const auto begins = [](const std::string& start) { return Catch::Matchers::StartsWith(start); };
  CHECK_THAT(refused(""), begins("line 1:"));
  CHECK_THAT(refused("recorded-run 1\n"), begins("line 1:"));
  CHECK_THAT(refused("recorded-run 3\nproblem m=1\n"), begins("line 2:"));
  CHECK_THAT(refused("recorded-run 3\ndevice roofline_us=1 batch=0 ahead_seconds=0 "
                     "warm_up_seconds=0\n"),
             begins("line 2:"));
  CHECK_THAT(refused("recorded-run 3\nsample us=1 launches=1 seconds=1\n"), begins("line 2:"));
  CHECK_THAT(refused("recorded-run 3\n\nclock mhz=fast throttled=0\n"), begins("line 3:"));
  CHECK_THAT(refused("recorded-run 3\ncandidate mma\nsample us=1 launches=1\n"), begins("line 3:"));
  CHECK_THAT(refused("recorded-run 3\ncandidate mma\nrejected at=home reason=1 detail=\n"),
             begins("line 3:"));
}

TEST_CASE("A replay says what was recorded, in the recorded time") {
  const RecordedRun run = eventful_run();
  ReplayEvaluator replay(run);
  const FakeFamily mma("mma"), naive("naive_2d");
  const auto candidate = [](const Family& family, const std::string& knobs) {
    Instance instance;
    instance.candidate = Candidate{&family, *parse_config(knobs)};
    return instance;
  };
  Prepared good = replay.prepare(candidate(mma, "block_m=128 block_n=256"));
  Trial& trial = *std::get<std::unique_ptr<Trial>>(good);
  CHECK(trial.binary().registers == 168);
  CHECK(std::get<double>(trial.check()) == 0.1);
  CHECK(replay.now_seconds() == Catch::Approx(0.104));
  CHECK(std::get<double>(trial.sample(5)) == 203.4);
  CHECK(replay.now_seconds() == Catch::Approx(0.1053));
  CHECK(std::get<double>(trial.sample(1)) == 1.0 / 3);
  // From the beginning again, with twice as many launches in all.
  CHECK(std::get<double>(trial.sample(11)) == 203.4);
  CHECK(replay.now_seconds() == Catch::Approx(0.1079).epsilon(1e-5));

  Prepared hung = replay.prepare(candidate(naive, ""));
  Trial& hanging = *std::get<std::unique_ptr<Trial>>(hung);
  CHECK(std::holds_alternative<double>(hanging.sample(1)));
  CHECK(std::holds_alternative<double>(hanging.sample(1)));
  CHECK(std::get<Rejection>(hanging.sample(1)).reason == Reason::kTimedOut);

  Prepared wrong = replay.prepare(candidate(mma, "block_m=64 block_n=64"));
  CHECK(std::get<Rejection>(std::get<std::unique_ptr<Trial>>(wrong)->check()).reason ==
        Reason::kWrongResult);
  CHECK(std::get<Rejection>(replay.prepare(candidate(mma, "block_m=7 block_n=7"))).reason ==
        Reason::kCompileFailed);
  CHECK(std::holds_alternative<Rejection>(replay.prepare(candidate(mma, "block_m=9"))));
  CHECK(replay.clock().mhz == 1980);
  CHECK(replay.clock().throttled);
  CHECK(replay.clock().mhz == 1200);
}

TEST_CASE("A tuning that is recorded and replayed decides the same, in the same time") {
  const FakeFamily family;
  SimulatedDevice device(3);
  device.noise = 0.004;
  device.outlier_probability = 0.03;
  device.cool_down_before_sample = 0.004;
  TuneOptions options;
  for (int number = 0; number < 16; ++number) {
    Behaviour behaviour;
    behaviour.us = 200 + 37 * number % 50;
    behaviour.spill_bytes = number == 7 ? 8 : 0;
    behaviour.error = number == 9 ? 3 : 0.2;
    options.candidates.push_back(family.candidate(number % 4, 32 << number / 4));
    device.add(options.candidates.back(), behaviour);
  }
  options.default_candidate = options.candidates.front();
  RecordingEvaluator recording(device, square());
  const Tuning real = tune(square(), {}, {}, {}, recording, *memory(), options);

  const RecordedRun run = parsed(to_text(recording.run()));
  ReplayEvaluator replay(run);
  const Tuning again = tune(square(), {}, {}, {}, replay, *memory(), options);
  REQUIRE(real.record);
  REQUIRE(again.record);
  CHECK(again.record->config == real.record->config);
  CHECK(again.record->measurement == real.record->measurement);
  CHECK(again.record->ties == real.record->ties);
  CHECK(again.record->spent_seconds == Catch::Approx(real.record->spent_seconds));
  CHECK(again.trials.size() == real.trials.size());
}

// The families of a recorded run, whatever they are called.
std::map<std::string, std::unique_ptr<FakeFamily>> families_of(const RecordedRun& run) {
  std::map<std::string, std::unique_ptr<FakeFamily>> families;
  for (const RecordedCandidate& recorded : run.candidates) {
    const std::string name(split(recorded.candidate, ' ').front());
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
    RecordedRun run = parsed(text.str());
    const auto families = families_of(run);
    TuneOptions options;
    for (const RecordedCandidate& recorded : run.candidates) {
      const auto& family = families.at(std::string(split(recorded.candidate, ' ').front()));
      options.candidates.push_back(
          {family.get(),
           *parse_config(std::string_view(recorded.candidate)
                             .substr(std::min(family->name().size(), recorded.candidate.size())))});
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
      const Tuning tuning = tune(run.problem, {}, {}, {}, replay, *memory(), options);
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

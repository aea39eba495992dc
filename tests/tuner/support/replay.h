#pragma once

// ReplayEvaluator: gives the answers of a recorded tuning again, in the recorded time, so that
// decisions are tested on the same numbers as often as wanted.
//
// A recorded run is text: a line is a keyword and fields "name=value"; empty lines and those that
// begin with # are skipped. The first line is "recorded-run 3". Then, once each:
//
//     problem m=4096 n=4096 ...                       as to_text(Problem) writes it
//     device roofline_us=140 batch=0 ahead_seconds=0.9 warm_up_seconds=0.2 cool_down_seconds=0.004
//     clock mhz=1755 throttled=0                      one for each question, in order
//
// and for every candidate a line with its text, followed by its outcome:
//
//     candidate mma block_m=128 ...
//     prepared seconds=0.1 registers=168 shared_bytes=0 spill_bytes=0 compile_ms=412
//     checked seconds=0.004 error=0.12
//     sample us=203.4 launches=5 seconds=0.0013       one for each, in order
//     rejected at=prepare seconds=0.004 reason=5 detail=the rest of the line; in place of the above

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tuner/evaluator.h"

namespace tunedgemm::internal {

struct RecordedSample {
  double us = 0;
  int launches = 1;
  double seconds = 0;  ///< how long taking the sample took
};

struct RecordedCandidate {
  std::string text;  ///< to_text(Candidate)
  Binary binary;
  double prepare_seconds = 0;
  std::optional<Rejection> rejection;  ///< of prepare()
  double error = 0;
  double check_seconds = 0;
  std::vector<RecordedSample> samples;
};

struct RecordedRun {
  Problem problem;
  double roofline_us = 0;
  int compile_batch = 0;
  double ahead_seconds = 0;      ///< all calls of compile_ahead together
  double warm_up_seconds = 0;    ///< one call
  double cool_down_seconds = 0;  ///< before each sample of the finals
  std::vector<Evaluator::Clock> clocks;
  std::vector<RecordedCandidate> candidates;
};

/// Throws std::runtime_error with the line that cannot be read.
RecordedRun parse_recorded_run(std::string_view text);

/// Samples come back in their order, from the first again after the last; a sample of another
/// number of launches than was recorded takes time in proportion. A candidate that is not in the
/// run is rejected as kCompileFailed. Trials refer to the evaluator, and both to the run.
class ReplayEvaluator final : public Evaluator {
 public:
  explicit ReplayEvaluator(const RecordedRun& run);

  void compile_ahead(std::span<const Instance> candidates) override;
  int compile_batch() const override { return run_.compile_batch; }
  Prepared prepare(const Instance& instance) override;
  void warm_up() override { now_seconds_ += run_.warm_up_seconds; }
  void cool_down(double seconds) override { now_seconds_ += seconds; }
  double cool_down_seconds() const override { return run_.cool_down_seconds; }
  Clock clock() override;
  double now_seconds() override { return now_seconds_; }
  double roofline_us() const override { return run_.roofline_us; }

 private:
  class RecordedTrial;

  const RecordedRun& run_;
  std::unordered_map<std::string_view, const RecordedCandidate*> candidates_;
  std::unordered_map<std::string_view, std::size_t> next_sample_;
  std::size_t next_clock_ = 0;
  double now_seconds_ = 0;
};

}  // namespace tunedgemm::internal

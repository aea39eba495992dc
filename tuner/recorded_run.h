#pragma once

// RecordedRun: all that an evaluator said during a tuning, as text that is kept beside the tests.
//
// The format: a line is a keyword and fields "name=value"; empty lines and those that begin with #
// are skipped. The first line is "recorded-run 3". Then, once each:
//
//     problem m=4096 n=4096 ...                       as to_text(Problem) writes it
//     device roofline_us=140 batch=0 ahead_seconds=0.9 warm_up_seconds=0.2 cool_down_seconds=0.004
//     clock mhz=1755 throttled=0                      one for each question, in order
//
// and for every candidate a line with its text, followed by what came of it:
//
//     candidate mma block_m=128 ...
//     prepared seconds=0.1 registers=168 shared_bytes=0 spill_bytes=0 compile_ms=412
//     checked seconds=0.004 error=0.12
//     sample us=203.4 launches=5 seconds=0.0013       one for each, in order
//     rejected at=check seconds=0.004 reason=5 detail=the rest of the line, \n for a new one
//
// `rejected` stands in place of `prepared` or `checked`, or after the samples that went before it.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tuner/evaluator.h"

namespace tunedgemm::internal {

struct RecordedSample {
  double us = 0;
  int launches = 1;
  double seconds = 0;  ///< what taking the sample cost

  friend bool operator==(const RecordedSample&, const RecordedSample&) = default;
};

struct RecordedCandidate {
  /// What a rejection came in place of.
  enum class Stage { kPrepare, kCheck, kSample };
  struct Failure {
    Stage stage = Stage::kPrepare;
    Rejection rejection;

    friend bool operator==(const Failure&, const Failure&) = default;
  };

  std::string candidate;  ///< to_text(Candidate)
  int registers = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t spill_bytes = 0;
  double compile_ms = 0;
  double prepare_seconds = 0;
  double error = 0;
  double check_seconds = 0;
  std::vector<RecordedSample> samples;
  std::optional<Failure> failure;

  friend bool operator==(const RecordedCandidate&, const RecordedCandidate&) = default;
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

std::string to_text(const RecordedRun& run);
/// The run, or a sentence that says in which line the text is wrong.
std::variant<RecordedRun, std::string> parse_recorded_run(std::string_view text);

}  // namespace tunedgemm::internal

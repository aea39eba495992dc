#include "tests/tuner/support/replay.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw std::runtime_error("cannot be read as part of a recorded run: " + std::string(text));
}

template <class Number>
Number number(std::string_view fields, std::string_view name) {
  for (const auto& [known, digits] : split_fields(fields)) {
    Number value{};
    const char* end = digits.data() + digits.size();
    if (known == name && std::from_chars(digits.data(), end, value).ptr == end) {
      return value;
    }
  }
  refuse(fields);
}

void read_candidate_line(std::string_view keyword, std::string_view fields,
                         RecordedCandidate& candidate) {
  if (keyword == "prepared") {
    candidate.prepare_seconds = number<double>(fields, "seconds");
    candidate.binary.registers = number<int>(fields, "registers");
    candidate.binary.shared_bytes = number<std::int64_t>(fields, "shared_bytes");
    candidate.binary.spill_bytes = number<std::int64_t>(fields, "spill_bytes");
    candidate.binary.compile_ms = number<double>(fields, "compile_ms");
  } else if (keyword == "checked") {
    candidate.check_seconds = number<double>(fields, "seconds");
    candidate.error = number<double>(fields, "error");
  } else if (keyword == "sample") {
    candidate.samples.push_back({number<double>(fields, "us"), number<int>(fields, "launches"),
                                 number<double>(fields, "seconds")});
  } else if (keyword == "rejected" && fields.starts_with("at=prepare ")) {
    candidate.prepare_seconds = number<double>(fields, "seconds");
    candidate.rejection = Rejection{Reason{number<int>(fields, "reason")},
                                    std::string(fields.substr(fields.find("detail=")))};
  } else {
    refuse(keyword);
  }
}

void read_line(std::string_view keyword, std::string_view fields, RecordedRun& run) {
  if (keyword == "problem") {
    run.problem = parse_problem(fields).value();
  } else if (keyword == "device") {
    run.roofline_us = number<double>(fields, "roofline_us");
    run.compile_batch = number<int>(fields, "batch");
    run.ahead_seconds = number<double>(fields, "ahead_seconds");
    run.warm_up_seconds = number<double>(fields, "warm_up_seconds");
    run.cool_down_seconds = number<double>(fields, "cool_down_seconds");
  } else if (keyword == "clock") {
    run.clocks.push_back({number<int>(fields, "mhz"), number<int>(fields, "throttled") != 0});
  } else if (keyword == "candidate") {
    run.candidates.emplace_back().text = fields;
    run.candidates.back().binary.entry = split(fields, ' ').front();
  } else if (run.candidates.empty()) {
    refuse(keyword);
  } else {
    read_candidate_line(keyword, fields, run.candidates.back());
  }
}

}  // namespace

RecordedRun parse_recorded_run(std::string_view text) {
  RecordedRun run;
  const std::vector<std::string_view> lines = split(text, '\n');
  if (lines.front() != "recorded-run 3") {
    refuse(lines.front());
  }
  for (const std::string_view line : std::span(lines).subspan(1)) {
    if (!line.empty() && !line.starts_with('#')) {
      const std::size_t keyword_end = std::min(line.find(' '), line.size() - 1);
      read_line(line.substr(0, keyword_end), line.substr(keyword_end + 1), run);
    }
  }
  return run;
}

class ReplayEvaluator::RecordedTrial final : public Trial {
 public:
  RecordedTrial(const RecordedCandidate& recorded, std::size_t& next_sample, double& now_seconds)
      : recorded_(recorded), next_sample_(next_sample), now_seconds_(now_seconds) {}

  const Binary& binary() const override { return recorded_.binary; }

  std::variant<double, Rejection> check() override {
    now_seconds_ += recorded_.check_seconds;
    return recorded_.error;
  }

  std::variant<double, Rejection> sample(int launches) override {
    if (recorded_.samples.empty()) {
      return Rejection{Reason::kTimedOut, "no sample was recorded"};
    }
    const RecordedSample& sample = recorded_.samples[next_sample_ % recorded_.samples.size()];
    ++next_sample_;
    // One more launch than is timed: see Trial::sample.
    now_seconds_ += sample.seconds * (launches + 1) / (sample.launches + 1);
    return sample.us;
  }

 private:
  const RecordedCandidate& recorded_;
  std::size_t& next_sample_;
  double& now_seconds_;
};

ReplayEvaluator::ReplayEvaluator(const RecordedRun& run) : run_(run) {
  for (const RecordedCandidate& candidate : run.candidates) {
    candidates_.emplace(candidate.text, &candidate);
  }
}

void ReplayEvaluator::compile_ahead(std::span<const Instance> candidates) {
  const double part = static_cast<double>(candidates.size()) /
                      static_cast<double>(std::max<std::size_t>(1, run_.candidates.size()));
  now_seconds_ += run_.ahead_seconds * part;
}

Prepared ReplayEvaluator::prepare(const Instance& instance) {
  const auto found = candidates_.find(to_text(instance.candidate));
  if (found == candidates_.end()) {
    return Rejection{Reason::kCompileFailed, "not in the recorded run"};
  }
  const RecordedCandidate& recorded = *found->second;
  now_seconds_ += recorded.prepare_seconds;
  if (recorded.rejection) {
    return *recorded.rejection;
  }
  return std::make_unique<RecordedTrial>(recorded, next_sample_[found->first], now_seconds_);
}

Evaluator::Clock ReplayEvaluator::clock() {
  if (run_.clocks.empty()) {
    return {};
  }
  return run_.clocks[std::min(next_clock_++, run_.clocks.size() - 1)];
}

}  // namespace tunedgemm::internal

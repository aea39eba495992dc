#include "tuner/recording.h"

#include <algorithm>
#include <utility>

namespace tunedgemm::internal {

using Stage = RecordedCandidate::Stage;

class RecordingEvaluator::WitnessedTrial final : public Trial {
 public:
  // Candidates are found by number, since the list of them grows.
  WitnessedTrial(std::unique_ptr<Trial> trial, RecordingEvaluator& recording, std::size_t number)
      : trial_(std::move(trial)), recording_(recording), number_(number) {}

  const Binary& binary() const override { return trial_->binary(); }

  std::variant<double, Rejection> check() override {
    const double begin = recording_.now_seconds();
    auto checked = trial_->check();
    record().check_seconds = recording_.now_seconds() - begin;
    if (const double* error = std::get_if<double>(&checked)) {
      record().error = *error;
    } else {
      record().failure = {Stage::kCheck, std::get<Rejection>(checked)};
    }
    return checked;
  }

  std::variant<double, Rejection> sample(int launches) override {
    const double begin = recording_.now_seconds();
    auto sampled = trial_->sample(launches);
    if (const double* us = std::get_if<double>(&sampled)) {
      record().samples.push_back({*us, launches, recording_.now_seconds() - begin});
    } else {
      record().failure = {Stage::kSample, std::get<Rejection>(sampled)};
    }
    return sampled;
  }

 private:
  RecordedCandidate& record() { return recording_.run_.candidates[number_]; }

  std::unique_ptr<Trial> trial_;
  RecordingEvaluator& recording_;
  std::size_t number_;
};

RecordingEvaluator::RecordingEvaluator(Evaluator& recorded, const Problem& problem)
    : recorded_(recorded) {
  run_.problem = problem;
  run_.roofline_us = recorded.roofline_us();
  run_.compile_batch = recorded.compile_batch();
  run_.cool_down_seconds = recorded.cool_down_seconds();
}

void RecordingEvaluator::compile_ahead(std::span<const Instance> candidates) {
  const double begin = now_seconds();
  recorded_.compile_ahead(candidates);
  run_.ahead_seconds += now_seconds() - begin;
}

Prepared RecordingEvaluator::prepare(const Instance& instance) {
  const std::string text = to_text(instance.candidate);
  auto record =
      std::find_if(run_.candidates.begin(), run_.candidates.end(),
                   [&](const RecordedCandidate& known) { return known.candidate == text; });
  if (record == run_.candidates.end()) {
    record = run_.candidates.insert(record, RecordedCandidate{});
    record->candidate = text;
  }
  const double begin = now_seconds();
  Prepared prepared = recorded_.prepare(instance);
  record->prepare_seconds = now_seconds() - begin;
  if (const Rejection* rejection = std::get_if<Rejection>(&prepared)) {
    record->failure = {Stage::kPrepare, *rejection};
    return prepared;
  }
  auto& trial = std::get<std::unique_ptr<Trial>>(prepared);
  record->registers = trial->binary().registers;
  record->shared_bytes = trial->binary().shared_bytes;
  record->spill_bytes = trial->binary().spill_bytes;
  record->compile_ms = trial->binary().compile_ms;
  return std::make_unique<WitnessedTrial>(
      std::move(trial), *this, static_cast<std::size_t>(record - run_.candidates.begin()));
}

void RecordingEvaluator::warm_up() {
  const double begin = now_seconds();
  recorded_.warm_up();
  run_.warm_up_seconds = now_seconds() - begin;
}

Evaluator::Clock RecordingEvaluator::clock() {
  return run_.clocks.emplace_back(recorded_.clock());
}

}  // namespace tunedgemm::internal

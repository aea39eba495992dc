#include "tuner/trial_log.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace tunedgemm::internal {

std::size_t TrialLog::open(const Instance& candidate) {
  const auto& [family, config] = candidate.candidate;
  TrialRecord line;
  line.family = family->name();
  line.config = config;
  line.family_fingerprint = family->fingerprint();
  line.predicted_us = candidate.predicted_us;
  const auto old = std::find_if(trials_.begin(), trials_.end(), [&](const TrialRecord& trial) {
    return trial.family == line.family && trial.config == line.config;
  });
  if (old != trials_.end()) {
    *old = std::move(line);
    return static_cast<std::size_t>(old - trials_.begin());
  }
  trials_.push_back(std::move(line));
  return trials_.size() - 1;
}

void TrialLog::write(std::size_t line) const {
  task_.store.put_trial(task_.key, trials_[line]);
  if (writes_at_once_) {
    task_.store.flush();
  }
}

void TrialLog::reject(std::size_t line, Reason reason, std::string detail) {
  reject(line, Rejection{reason, std::move(detail)});
}

void TrialLog::reject(std::size_t line, const Rejection& rejection) {
  trials_[line].rejection = rejection;
  write(line);
}

InFlight::InFlight(const Task& task, const TrialRecord& trial)
    : task_(task), exceptions_(std::uncaught_exceptions()) {
  if (marks()) {
    task_.store.mark_in_flight(task_.key, trial.family, trial.config, trial.family_fingerprint);
  }
}

InFlight::~InFlight() {
  if (marks() && std::uncaught_exceptions() == exceptions_) {
    task_.store.clear_in_flight(task_.key);
  }
}

}  // namespace tunedgemm::internal

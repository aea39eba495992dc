#include "cache/tables/rows.h"

namespace tunedgemm::internal {

void put_trial(sqlite::Connection& connection, const KeyRows& key, const TrialRecord& trial) {
  using sqlite::Value;
  const auto& measured = trial.measurement;
  const auto& rejected = trial.rejection;
  connection.insert(
      "INSERT OR REPLACE", "trial",
      {{"problem", key.problem},
       {"device", key.device},
       {"toolchain", key.toolchain},
       {"config", config_row(connection, trial.family, trial.config)},
       {"family_fingerprint", trial.family_fingerprint},
       {"reason", rejected ? Value(static_cast<std::int64_t>(rejected->reason)) : Value()},
       {"detail", rejected ? rejected->detail : ""},
       {"median_us", measured ? Value(measured->median_us) : Value()},
       {"low_us", measured ? Value(measured->low_us) : Value()},
       {"high_us", measured ? Value(measured->high_us) : Value()},
       {"samples", measured ? Value(sqlite::to_blob(measured->samples_us)) : Value()},
       {"final_round", trial.final_round},
       {"predicted_us", trial.predicted_us},
       {"max_error", trial.max_error},
       {"registers", trial.registers},
       {"shared_bytes", trial.shared_bytes},
       {"spill_bytes", trial.spill_bytes},
       {"compile_ms", trial.compile_ms},
       {"sm_clock_mhz", trial.sm_clock_mhz},
       {"tried_at", utc_now()}});
}

void forget_finals(sqlite::Connection& connection, const KeyRows& key) {
  sqlite::Statement(connection,
                    "UPDATE trial SET final_round = 0 WHERE final_round AND problem = ? AND "
                    "device = ? AND toolchain = ?")
      .bind(key.problem, key.device, key.toolchain)
      .run();
}

std::vector<TrialRecord> read_trials(const sqlite::Connection& connection, const TuningKey& key) {
  sqlite::Statement rows(
      connection,
      "SELECT c.family, c.knobs, t.family_fingerprint, t.final_round, t.predicted_us, "
      "t.max_error, t.registers, t.shared_bytes, t.spill_bytes, t.compile_ms, t.sm_clock_mhz, "
      "t.median_us IS NOT NULL, t.median_us, t.low_us, t.high_us, t.samples, "
      "t.reason IS NOT NULL, t.reason, t.detail "
      "FROM trial t JOIN config c ON c.id = t.config "
      "JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device "
      "JOIN toolchain o ON o.id = t.toolchain "
      "WHERE p.fingerprint = ? AND d.fingerprint = ? AND o.fingerprint = ? ORDER BY t.id");
  rows.bind(fingerprint(key.problem), fingerprint(key.device), fingerprint(key.toolchain));
  std::vector<TrialRecord> trials;
  while (rows.step()) {
    TrialRecord trial;
    Measurement measurement;
    Rejection rejection;
    std::string knobs;
    bool measured = false, rejected = false;
    rows.read(trial.family, knobs, trial.family_fingerprint, trial.final_round, trial.predicted_us,
              trial.max_error, trial.registers, trial.shared_bytes, trial.spill_bytes,
              trial.compile_ms, trial.sm_clock_mhz, measured, measurement.median_us,
              measurement.low_us, measurement.high_us, measurement.samples_us, rejected,
              rejection.reason, rejection.detail);
    if (auto config = parse_config(knobs)) {
      trial.config = std::move(*config);
      trial.measurement = measured ? std::optional(std::move(measurement)) : std::nullopt;
      trial.rejection = rejected ? std::optional(std::move(rejection)) : std::nullopt;
      trials.push_back(std::move(trial));
    }
  }
  return trials;
}

std::int64_t delete_trials(sqlite::Connection& connection, const TuningKey& key) {
  sqlite::Statement(connection, "DELETE FROM trial" + std::string(kOfKey))
      .bind(fingerprint(key.problem), fingerprint(key.device), fingerprint(key.toolchain))
      .run();
  return connection.changes();
}

std::map<std::string, std::vector<TrialRecord>> read_timed_at_other_m(
    const sqlite::Connection& connection, const CanonicalProblem& problem,
    const std::string& device) {
  sqlite::Statement rows(
      connection,
      "SELECT p.fingerprint, c.family, c.knobs, t.family_fingerprint, t.predicted_us, t.median_us "
      "FROM trial t "
      "JOIN config c ON c.id = t.config JOIN problem p ON p.id = t.problem "
      "JOIN (SELECT id, fingerprint AS device_fingerprint FROM device) d ON d.id = t.device "
      "WHERE " +
          std::string(kOfOneClass) +
          " AND n = ?11 AND k = ?12 AND batch = ?13 AND t.median_us IS NOT NULL ORDER BY t.id");
  bind_class(rows, problem, device, problem->n, problem->k, problem->batch);
  std::map<std::string, std::vector<TrialRecord>> trials;
  while (rows.step()) {
    TrialRecord trial;
    Measurement measurement;
    std::string key, knobs;
    rows.read(key, trial.family, knobs, trial.family_fingerprint, trial.predicted_us,
              measurement.median_us);
    if (auto config = parse_config(knobs)) {
      trial.config = std::move(*config);
      trial.measurement = std::move(measurement);
      trials[key].push_back(std::move(trial));
    }
  }
  return trials;
}

}  // namespace tunedgemm::internal

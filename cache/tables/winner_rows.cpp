#include "cache/tables/winner_rows.h"

#include <array>

#include "cache/tables/dimension_rows.h"
#include "kernel_templates/problem/fields.h"

namespace tunedgemm {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

// Whether the winner that is there is more thorough, and still counts.
bool must_keep(sqlite::Connection& connection, const KeyRows& key, const Record& record,
               const IsCurrent& is_current) {
  sqlite::Statement find(connection,
                         "SELECT w.rigor, w.complete, w.candidates_tried, c.family, "
                         "w.family_fingerprint "
                         "FROM winner w JOIN config c ON c.id = w.config "
                         "WHERE w.problem = ? AND w.device = ? AND w.toolchain = ?");
  if (!find.bind(key.problem, key.device, key.toolchain).step()) {
    return false;
  }
  Rigor rigor{};
  bool complete = false;
  int tried = 0;
  std::string family, fingerprint;
  find.read(rigor, complete, tried, family, fingerprint);
  // An unfinished tuning counts for what it has tried, whatever it was meant to become.
  const bool greater = rigor > record.rigor && (complete || tried >= record.candidates_tried);
  const bool finished =
      complete && !record.complete && (rigor == record.rigor || tried > record.candidates_tried);
  const bool fuller = greater || finished;
  return fuller && is_current(family, fingerprint);
}

}  // namespace

StoredWinner stored(const Record& record) {
  StoredWinner winner{record, to_text(record.problem), to_text(record.config), joined(record.ties),
                      ""};
  winner.record.problem = Problem();
  winner.record.config = Config();
  winner.record.ties.clear();
  return winner;
}

std::optional<Record> parsed(const StoredWinner& winner) {
  auto problem = parse_problem(winner.problem_text);
  auto config = parse_config(winner.knobs);
  if (!problem || !config) {
    return std::nullopt;
  }
  Record record = winner.record;
  record.problem = *problem;
  record.config = std::move(*config);
  if (!winner.ties.empty()) {
    for (const std::string_view line : split(winner.ties, '\n')) {
      record.ties.emplace_back(line);
    }
  }
  return record;
}

bool put_winner(sqlite::Connection& connection, const Record& record,
                std::optional<std::int64_t> kernel, const IsCurrent& is_current) {
  const KeyRows key = key_rows(connection, {record.problem, record.device, record.toolchain});
  if (must_keep(connection, key, record, is_current)) {
    return false;
  }
  connection.insert("INSERT OR REPLACE", "winner",
                    {{"problem", key.problem},
                     {"device", key.device},
                     {"toolchain", key.toolchain},
                     {"config", config_row(connection, record.family, record.config)},
                     {"family_fingerprint", record.family_fingerprint},
                     {"kernel", kernel ? sqlite::Value(*kernel) : sqlite::Value()},
                     {"median_us", record.measurement.median_us},
                     {"low_us", record.measurement.low_us},
                     {"high_us", record.measurement.high_us},
                     {"samples", sqlite::to_blob(record.measurement.samples_us)},
                     {"default_us", record.default_us},
                     {"naive_us", record.naive_us},
                     {"runner_up_us", record.runner_up_us},
                     {"tie_count", record.ties.size()},
                     {"ties", joined(record.ties)},
                     {"rigor", record.rigor},
                     {"candidates_tried", record.candidates_tried},
                     {"candidates_legal", record.candidates_legal},
                     {"complete", record.complete},
                     {"spent_seconds", record.spent_seconds},
                     {"compile_seconds", record.compile_seconds},
                     {"check_seconds", record.check_seconds},
                     {"screen_seconds", record.screen_seconds},
                     {"finals_seconds", record.finals_seconds},
                     {"max_error", record.max_error},
                     {"tuned_at", record.tuned_at}});
  set_current_family(connection, record.family, record.family_fingerprint);
  return true;
}

void read_winners(const sqlite::Connection& connection, WithState with_state,
                  const std::function<void(const std::string& problem, const std::string& device,
                                           StoredWinner)>& take) {
  const std::string query =
      "SELECT problem_fingerprint, problem_text, device_fingerprint, backend, device_name, "
      "compute_capability, units, memory_bytes, l2_bytes, clock_mhz, power_limit_watts, "
      "compiler, driver, family, knobs, family_fingerprint, median_us, low_us, high_us, samples, "
      "default_us, naive_us, runner_up_us, ties, rigor, candidates_tried, candidates_legal, "
      "complete, spent_seconds, compile_seconds, check_seconds, screen_seconds, finals_seconds, "
      "max_error, tuned_at, ";
  sqlite::Statement rows(
      connection, query + (with_state == WithState::kYes ? "state" : "''") + " FROM winner_v1");
  std::string problem, device;
  int backend = 0;
  while (rows.step()) {
    StoredWinner winner;
    Record& r = winner.record;
    rows.read(problem, winner.problem_text, device, backend, r.device.name,
              r.device.compute_capability, r.device.units, r.device.memory_bytes, r.device.l2_bytes,
              r.device.clock_mhz, r.device.power_limit_watts, r.toolchain.compiler,
              r.toolchain.driver, r.family, winner.knobs, r.family_fingerprint,
              r.measurement.median_us, r.measurement.low_us, r.measurement.high_us,
              r.measurement.samples_us, r.default_us, r.naive_us, r.runner_up_us, winner.ties,
              r.rigor, r.candidates_tried, r.candidates_legal, r.complete, r.spent_seconds,
              r.compile_seconds, r.check_seconds, r.screen_seconds, r.finals_seconds, r.max_error,
              r.tuned_at, winner.state);
    r.device.backend = backend_name(backend);
    take(problem, device, std::move(winner));
  }
}

std::int64_t delete_winners(sqlite::Connection& connection, const std::string& problem) {
  constexpr std::string_view kOfProblem =
      " WHERE problem IN (SELECT id FROM problem WHERE fingerprint = ?)";
  sqlite::Statement trials(connection, std::string("DELETE FROM trial").append(kOfProblem));
  trials.bind(problem).run();
  sqlite::Statement winners(connection, std::string("DELETE FROM winner").append(kOfProblem));
  winners.bind(problem).run();
  return connection.changes();
}

WinnersStamp winners_stamp(sqlite::Connection& connection) {
  return {connection.integer("SELECT max(id) FROM winner"),
          connection.integer("SELECT count(*) FROM winner")};
}

}  // namespace tunedgemm

#include "cache/tables/rows.h"

#include <array>

#include "cache/sqlite/schema.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

// Whether the stored winner is more thorough and still current.
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
  // A stored unfinished tuning is kept only if it tried at least as many candidates.
  const bool greater = rigor > record.rigor && (complete || tried >= record.candidates_tried);
  const bool finished =
      complete && !record.complete && (rigor == record.rigor || tried > record.candidates_tried);
  const bool fuller = greater || finished;
  return fuller && is_current(family, fingerprint);
}

// Columns of the view winner_v1, in the order of record_in().
constexpr std::string_view kColumns =
    "problem_text, backend, device_name, compute_capability, units, memory_bytes, l2_bytes, "
    "clock_mhz, power_limit_watts, compiler, driver, family, knobs, family_fingerprint, median_us, "
    "low_us, high_us, samples, default_us, naive_us, runner_up_us, ties, rigor, candidates_tried, "
    "candidates_legal, complete, spent_seconds, compile_seconds, check_seconds, screen_seconds, "
    "finals_seconds, max_error, tuned_at, remark, vendor_us, vendor";
constexpr int kColumnCount = 36;

// Neighbours are searched within these factors, one after the other, since the search within a
// small factor reads few rows. Beyond the last factor a neighbour predicts no better than the cost
// model.
constexpr std::array kReaches{2.0, 4.0, 16.0};
// The number of winners that are searched on each side: this many with the nearest smaller M, and
// this many with the nearest M that is equal or larger.
constexpr int kDistantNeighbours = 1000;

// An extent plus one, so that ratios are defined for an extent of 0.
double size(std::int64_t extent) {
  return 1.0 + static_cast<double>(extent);
}

std::optional<Record> record_in(const sqlite::Statement& row) {
  Record r;
  std::string problem_text, knobs, ties;
  int backend = 0;
  row.read(problem_text, backend, r.device.name, r.device.compute_capability, r.device.units,
           r.device.memory_bytes, r.device.l2_bytes, r.device.clock_mhz, r.device.power_limit_watts,
           r.toolchain.compiler, r.toolchain.driver, r.family, knobs, r.family_fingerprint,
           r.measurement.median_us, r.measurement.low_us, r.measurement.high_us,
           r.measurement.samples_us, r.default_us, r.naive_us, r.runner_up_us, ties, r.rigor,
           r.candidates_tried, r.candidates_legal, r.complete, r.spent_seconds, r.compile_seconds,
           r.check_seconds, r.screen_seconds, r.finals_seconds, r.max_error, r.tuned_at, r.remark,
           r.vendor_us, r.vendor);
  r.device.backend = backend_name(backend);
  const auto problem = parse_problem(problem_text);
  auto config = parse_config(knobs);
  if (!problem || !config) {
    return std::nullopt;
  }
  r.problem = canonical(*problem);
  r.config = std::move(*config);
  if (!ties.empty()) {
    for (const std::string_view line : split(ties, '\n')) {
      r.ties.emplace_back(line);
    }
  }
  return r;
}

std::vector<Record> records_in(sqlite::Statement& rows) {
  std::vector<Record> winners;
  while (rows.step()) {
    if (auto record = record_in(rows)) {
      winners.push_back(std::move(*record));
    }
  }
  return winners;
}

}  // namespace

bool put_winner(sqlite::Connection& connection, const Record& record,
                std::optional<std::int64_t> kernel, const IsCurrent& is_current, Replace replace) {
  const KeyRows key = key_rows(connection, {record.problem, record.device, record.toolchain});
  const bool replaces_any = replace == Replace::kAnyIfComplete && record.complete;
  if (!replaces_any && must_keep(connection, key, record, is_current)) {
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
                     {"tuned_at", record.tuned_at},
                     {"remark", record.remark},
                     {"vendor_us", record.vendor_us},
                     {"vendor", record.vendor}});
  set_current_family(connection, record.family, record.family_fingerprint);
  return true;
}

std::vector<WinnerWithState> read_winners(const sqlite::Connection& connection) {
  sqlite::Statement rows(connection, "SELECT " + std::string(kColumns) +
                                         ", state FROM winner_v1 ORDER BY device_name, type_a, "
                                         "type_b, type_d, m, n, k, batch, " +
                                         std::string(kPreferredFirst));
  std::vector<WinnerWithState> winners;
  while (rows.step()) {
    if (auto record = record_in(rows)) {
      WinnerWithState& winner = winners.emplace_back();
      winner.record = std::move(*record);
      rows.read_one(kColumnCount, winner.state);
    }
  }
  return winners;
}

std::vector<Record> find_winners(const sqlite::Connection& connection, const WinnerKey& key) {
  sqlite::Statement rows(connection, "SELECT " + std::string(kColumns) +
                                         " FROM winner_v1 WHERE problem_fingerprint = ? AND "
                                         "device_fingerprint = ?");
  rows.bind(key.problem, key.device);
  return records_in(rows);
}

std::unordered_set<std::string> read_tuned_problems(const sqlite::Connection& connection,
                                                    const std::string& device) {
  sqlite::Statement rows(connection,
                         "SELECT problem_fingerprint FROM winner_v1 WHERE device_fingerprint = ?");
  rows.bind(device);
  std::unordered_set<std::string> problems;
  std::string problem;
  while (rows.step()) {
    rows.read(problem);
    problems.insert(problem);
  }
  return problems;
}

std::optional<Binary> find_binary_of_winner(const sqlite::Connection& connection,
                                            const TuningKey& key) {
  sqlite::Statement row(
      connection,
      "SELECT k.code, k.sha256, k.entry, k.registers, k.shared_bytes, k.spill_bytes, k.compile_ms "
      "FROM winner w JOIN kernel k ON k.id = w.kernel JOIN problem p ON p.id = w.problem "
      "JOIN device d ON d.id = w.device JOIN toolchain t ON t.id = w.toolchain "
      "WHERE p.fingerprint = ? AND d.fingerprint = ? AND t.fingerprint = ?");
  if (!row.bind(fingerprint(key.problem), fingerprint(key.device), fingerprint(key.toolchain))
           .step()) {
    return std::nullopt;
  }
  Binary binary;
  std::string hash;
  row.read(binary.code, hash, binary.entry, binary.registers, binary.shared_bytes,
           binary.spill_bytes, binary.compile_ms);
  return hash_of(binary.code) == hash ? std::optional(std::move(binary)) : std::nullopt;
}

void renew_winner(sqlite::Connection& connection, const TuningKey& key,
                  const std::string& family_fingerprint, const std::string& source_fingerprint) {
  const KeyRows rows = key_rows(connection, key);
  // If the new source's binary is stored already, the winner gets that binary.
  sqlite::Statement(connection,
                    "UPDATE OR IGNORE kernel SET source = ?1 WHERE id = (SELECT kernel FROM winner "
                    "WHERE problem = ?2 AND device = ?3 AND toolchain = ?4)")
      .bind(source_fingerprint, rows.problem, rows.device, rows.toolchain)
      .run();
  sqlite::Statement(
      connection,
      "UPDATE winner SET family_fingerprint = ?1, kernel = coalesce((SELECT k.id FROM "
      "kernel k JOIN kernel old ON old.id = winner.kernel WHERE k.source = ?2 AND "
      "(k.compiler, k.architecture) = (old.compiler, old.architecture)), kernel) "
      "WHERE problem = ?3 AND device = ?4 AND toolchain = ?5")
      .bind(family_fingerprint, source_fingerprint, rows.problem, rows.device, rows.toolchain)
      .run();
}

void put_comparison(sqlite::Connection& connection, const Record& winner) {
  const KeyRows key = key_rows(connection, {winner.problem, winner.device, winner.toolchain});
  sqlite::Statement(connection,
                    "UPDATE winner SET vendor_us = ?, vendor = ? WHERE problem = ? AND device = ? "
                    "AND toolchain = ? AND tuned_at = ?")
      .bind(winner.vendor_us, winner.vendor, key.problem, key.device, key.toolchain,
            winner.tuned_at)
      .run();
}

std::vector<std::string> find_neighbours(const sqlite::Connection& connection,
                                         const CanonicalProblem& problem, const std::string& device,
                                         int count) {
  // The distance is at least the ratio of M, so the index on M narrows the search.
  sqlite::Statement rows(
      connection,
      "SELECT problem_fingerprint FROM (SELECT problem_fingerprint, "
      "max(1.0 + m, ?11) / min(1.0 + m, ?11) * max(1.0 + n, ?12) / min(1.0 + n, ?12) * "
      "max(1.0 + k, ?13) / min(1.0 + k, ?13) * max(1.0 + batch, ?14) / min(1.0 + batch, ?14) "
      "AS apart FROM winner_v1 WHERE " +
          std::string(kOfOneClass) +
          " AND m BETWEEN ?11 / ?15 - 1 AND ?11 * ?15) "
          "WHERE apart <= ?15 ORDER BY apart LIMIT ?16");
  std::vector<std::string> problems;
  for (const double reach : kReaches) {
    problems.clear();
    bind_class(rows, problem, device, size(problem->m), size(problem->n), size(problem->k),
               size(problem->batch), reach, count);
    while (rows.step()) {
      rows.read(problems.emplace_back());
    }
    if (problems.size() == static_cast<std::size_t>(count)) {
      break;  // a larger factor can only add more distant problems
    }
  }
  return problems;
}

std::vector<std::string> find_distant_neighbours(const sqlite::Connection& connection,
                                                 const CanonicalProblem& problem,
                                                 const std::string& device, int count) {
  const std::string next = "SELECT problem_fingerprint, family, knobs, m FROM winner_v1 WHERE " +
                           std::string(kOfOneClass) + " AND m ";
  // With min(), SQLite takes the bare columns from the row that has the minimum.
  sqlite::Statement rows(
      connection,
      "SELECT problem_fingerprint, min(max(1.0 + m, ?12) / min(1.0 + m, ?12)) AS apart FROM ("
      "SELECT * FROM (" +
          next + ">= ?11 ORDER BY m LIMIT ?13) UNION ALL SELECT * FROM (" + next +
          "< ?11 ORDER BY m DESC LIMIT ?13)) GROUP BY family, knobs ORDER BY apart LIMIT ?14");
  bind_class(rows, problem, device, problem->m, size(problem->m), kDistantNeighbours, count);
  std::vector<std::string> problems;
  while (rows.step()) {
    rows.read_one(0, problems.emplace_back());
  }
  return problems;
}

std::vector<Record> find_winners_at_other_m(const sqlite::Connection& connection,
                                            const CanonicalProblem& problem,
                                            const std::string& device) {
  sqlite::Statement rows(connection, "SELECT " + std::string(kColumns) + " FROM winner_v1 WHERE " +
                                         std::string(kOfOneClass) +
                                         " AND n = ?11 AND k = ?12 AND batch = ?13 ORDER BY m");
  bind_class(rows, problem, device, problem->n, problem->k, problem->batch);
  return records_in(rows);
}

std::int64_t delete_winner(sqlite::Connection& connection, const TuningKey& key) {
  sqlite::Statement(connection, "DELETE FROM winner" + std::string(kOfKey))
      .bind(fingerprint(key.problem), fingerprint(key.device), fingerprint(key.toolchain))
      .run();
  return connection.changes();
}

std::int64_t newest_winner(sqlite::Connection& connection) {
  return connection.integer("SELECT max(id) FROM winner");
}

}  // namespace tunedgemm::internal

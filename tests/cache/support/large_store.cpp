#include "tests/cache/support/large_store.h"

#include <string>
#include <vector>

#include "cache/sqlite/schema.h"
#include "cache/sqlite/sqlite.h"
#include "cache/tables/rows.h"
#include "tests/cache/support/sample.h"

namespace tunedgemm::internal::large_store {
namespace {

constexpr int kConfigs = 1000;

// The columns of winners and of trials that are the same in copies with another toolchain.
const std::string kOfWinner =
    "family_fingerprint, kernel, low_us, high_us, samples, default_us, naive_us, runner_up_us, "
    "tie_count, ties, rigor, candidates_tried, candidates_legal, complete, spent_seconds, "
    "compile_seconds, check_seconds, screen_seconds, finals_seconds, max_error, tuned_at, remark, "
    "vendor_us, vendor";
const std::string kOfTrial =
    "family_fingerprint, reason, detail, median_us, low_us, high_us, samples, final_round, "
    "predicted_us, max_error, registers, shared_bytes, spill_bytes, compile_ms, sm_clock_mhz, "
    "tried_at";

// The INSERT statement for a row like this one, with its values as parameters.
std::string insertion(const std::string& table, const std::vector<sqlite::Column>& row) {
  std::string names, marks;
  for (const sqlite::Column& column : row) {
    names += (names.empty() ? "" : ", ") + std::string(column.name);
    marks += marks.empty() ? "?" : ", ?";
  }
  return "INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")";
}

std::vector<sqlite::Column> row_of(const CanonicalProblem& problem) {
  std::vector<sqlite::Column> row = problem_columns(problem);
  row.emplace_back("fingerprint", fingerprint(problem));
  row.emplace_back("text", to_text(problem));
  return row;
}

void add_problems(sqlite::Connection& connection, int count) {
  sqlite::Statement insert(connection, insertion("problem", row_of(problem(0))));
  for (int number = 1; number < count; ++number) {
    int parameter = 0;
    for (const sqlite::Column& column : row_of(problem(number))) {
      insert.bind_one(++parameter, column.value);
    }
    insert.run();
    insert.bind();
  }
}

void add_configs(sqlite::Connection& connection) {
  Config config;
  for (int number = 0; number < kConfigs; ++number) {
    config.set("block_m", number % 2 == 0 ? 64 : 128);
    config.set("stages", number / 2);
    config_row(connection, sample::family().name(), config);
  }
}

}  // namespace

CanonicalProblem problem(int number) {
  constexpr int kTypes = 2, kLayers = 100;
  const DataType type = number % kTypes == 0 ? DataType::kF16 : DataType::kBF16;
  const int layer = number / kTypes % kLayers;
  const std::int64_t m = 1 + 16 * (number / kTypes / kLayers);
  return canonical(
      make_problem(m, 512 * (1 + layer % 10), 512 * (1 + layer / 10), type, type, type, "nt"));
}

void fill(const std::filesystem::path& path, int winners) {
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
  connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
  sqlite::Transaction transaction(connection);
  Record record = sample::record(1);
  record.problem = problem(0);
  record.tuned_at = "2026-11-21 10:32:05";
  record.measurement.samples_us.assign(20, 12.5F);
  put_winner(
      connection, record, std::nullopt, [](auto, auto) { return true; }, Replace::kLessThorough);
  set_current_toolchain(connection, record.device, record.toolchain);
  add_problems(connection, winners);
  add_configs(connection);
  // The other rows differ from the first in problem, config and time.
  connection.execute("INSERT INTO winner (problem, device, toolchain, config, median_us, " +
                     kOfWinner +
                     ") SELECT p.id, w.device, w.toolchain, w.config, 10 + p.id % 1000, " +
                     kOfWinner + " FROM winner w, problem p WHERE p.id > 1 ORDER BY p.id");
  connection.execute(
      "WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < " +
      std::to_string(kTrialsOfAWinner) +
      ") INSERT INTO trial (problem, device, toolchain, config, " + kOfTrial +
      ") "
      "SELECT w.problem, w.device, w.toolchain, 1 + (w.problem * 7 + n) % " +
      std::to_string(kConfigs) +
      ", w.family_fingerprint, CASE WHEN n > 14 THEN n - 14 END, CASE WHEN n > 14 THEN "
      "'a candidate that could not win' ELSE '' END, CASE WHEN n < 15 THEN w.median_us + n END, "
      "CASE WHEN n < 15 THEN w.low_us END, CASE WHEN n < 15 THEN w.high_us END, "
      "CASE WHEN n < 15 THEN w.samples END, n < 8, 10 + n, 0.25, 128, 49152, 0, 42, 1755, "
      "w.tuned_at FROM winner w CROSS JOIN number ORDER BY w.problem");
  transaction.commit();
}

Garbage add_garbage(const std::filesystem::path& path, int winners) {
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
  connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
  sqlite::Transaction transaction(connection);
  const std::string old = std::to_string(toolchain_row(connection, sample::toolchain("570.10")));
  const auto add_old = [&](const std::string& table, const std::string& columns) {
    connection.execute("UPDATE " + table + " SET toolchain = " + old + " WHERE problem % 10 = 1");
    connection.execute("INSERT INTO " + table + " (problem, device, toolchain, config, " + columns +
                       ") SELECT problem, device, " + old + ", config, " + columns + " FROM " +
                       table + " WHERE problem % 10 <> 1 ORDER BY id");
  };
  add_old("winner", "median_us, " + kOfWinner);
  add_old("trial", kOfTrial);
  connection.execute(
      "UPDATE winner SET family_fingerprint = 'old' WHERE problem % 10 = 2 AND "
      "toolchain = " +
      old);
  Garbage garbage;
  const auto count = [&](const std::string& where) {
    return static_cast<int>(connection.integer("SELECT count(*) FROM winner WHERE " + where));
  };
  garbage.void_winners = count("family_fingerprint = 'old'");
  garbage.replaced_winners = count("toolchain = " + old + " AND problem % 10 NOT IN (1, 2)");
  garbage.kernels = winners / 10;
  for (int number = 0; number < garbage.kernels; ++number) {
    put_kernel(connection, {std::to_string(number), "nvrtc 12.0", 90}, sample::binary(5000));
  }
  transaction.commit();
  return garbage;
}

}  // namespace tunedgemm::internal::large_store

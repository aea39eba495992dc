// The part of Archive that merges another file. Both files have the same tables, so SQL can copy
// sets of rows. Rows are matched by their unique columns, since ids differ between files.

#include <algorithm>
#include <span>

#include "cache/archive/archive.h"
#include "cache/sqlite/schema.h"
#include "cache/trust.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;
using sqlite::Statement;

// The columns that both files have, except columns of ids.
std::vector<std::string> common_columns(const Connection& connection, const std::string& table,
                                        std::initializer_list<std::string_view> ids) {
  std::vector<std::string> columns = connection.column_names(table);
  const std::vector<std::string> theirs = connection.column_names(table, "other");
  std::erase_if(columns, [&](const std::string& column) {
    return column == "id" || std::find(ids.begin(), ids.end(), column) != ids.end() ||
           std::find(theirs.begin(), theirs.end(), column) == theirs.end();
  });
  return columns;
}

// Lists the columns, each after the prefix: ", o.x, o.y".
std::string listed(std::span<const std::string> columns, const std::string& prefix) {
  std::string text;
  for (const std::string& column : columns) {
    text += prefix + column;
  }
  return text;
}

void add_dimension(Connection& connection, const std::string& table) {
  const std::string columns =
      listed(common_columns(connection, table, {"toolchain"}), ", ").substr(2);
  connection.execute("INSERT OR IGNORE INTO main." + table + " (" + columns + ") SELECT " +
                     columns + " FROM other." + table);
}

// Skips binaries whose hash is wrong.
std::int64_t add_kernels(const Connection& connection) {
  const std::string columns = listed(common_columns(connection, "kernel", {}), ", ").substr(2);
  Statement theirs(connection,
                   "SELECT o.id, o.code, o.sha256 FROM other.kernel o WHERE NOT EXISTS "
                   "(SELECT 1 FROM main.kernel k WHERE (k.source, k.compiler, k.architecture) = "
                   "(o.source, o.compiler, o.architecture))");
  Statement add(connection, "INSERT INTO main.kernel (" + columns + ") SELECT " + columns +
                                " FROM other.kernel WHERE id = ?");
  std::int64_t added = 0;
  while (theirs.step()) {
    std::int64_t id = 0;
    std::vector<std::byte> code;
    std::string hash;
    theirs.read(id, code, hash);
    if (hash_of(code) == hash) {
      add.bind(id).run();
      ++added;
    }
  }
  return added;
}

// The columns of a winner that both files have, without its key.
std::vector<std::string> winner_columns(const Connection& connection) {
  return common_columns(connection, "winner",
                        {"problem", "device", "toolchain", "config", "kernel"});
}

// `winner_pair` has a row for each winner of the other file, paired with this file's winner for the
// same key. Store::merge documents which of the two stays. The last columns of the comparison make
// the order total.
void pair_winners(Connection& connection) {
  const std::vector<std::string> columns = winner_columns(connection);
  const std::string ours = listed(columns, ", w."), theirs = listed(columns, ", o.");
  connection.execute(R"sql(
CREATE TEMP TABLE winner_pair AS
SELECT o.id AS theirs, w.id AS ours, p.id AS problem, d.id AS device, t.id AS toolchain,
       c.id AS config, k.id AS kernel,
       w.id IS NULL OR
       (o.family_fingerprint IS m.value, o.complete, o.rigor, length(o.samples), o.tuned_at,
        -o.median_us, c.text)sql" +
                     theirs + R"sql(, k.id IS NOT NULL) >
       (w.family_fingerprint IS n.value, w.complete, w.rigor, length(w.samples), w.tuned_at,
        -w.median_us, wc.text)sql" +
                     ours + R"sql(, w.kernel IS NOT NULL) AS is_taken,
       (c.id)sql" + theirs +
                     ") IS (w.config" + ours + R"sql() AS is_same,
       w.id IS NOT NULL AND (w.config, w.median_us, w.tuned_at) IS NOT
                            (c.id, o.median_us, o.tuned_at) AS is_conflict
FROM other.winner o
JOIN other.problem op ON op.id = o.problem     JOIN main.problem p USING (fingerprint)
JOIN other.device od ON od.id = o.device       JOIN main.device d ON d.fingerprint = od.fingerprint
JOIN other.toolchain ot ON ot.id = o.toolchain
JOIN main.toolchain t ON t.fingerprint = ot.fingerprint
JOIN other.config oc ON oc.id = o.config       JOIN main.config c ON c.text = oc.text
LEFT JOIN other.kernel ok ON ok.id = o.kernel
LEFT JOIN main.kernel k ON (k.source, k.compiler, k.architecture) =
                           (ok.source, ok.compiler, ok.architecture)
LEFT JOIN main.meta m ON m.name = 'family ' || c.family
LEFT JOIN main.winner w ON (w.problem, w.device, w.toolchain) = (p.id, d.id, t.id)
LEFT JOIN main.config wc ON wc.id = w.config
LEFT JOIN main.meta n ON n.name = 'family ' || wc.family;
CREATE INDEX temp.winner_pair_key ON winner_pair (problem, device, toolchain);
)sql");
}

void read_tuned(const Statement& row, int column, MergeConflict::Tuned& tuned) {
  std::string ties;
  row.read_one(column, tuned.config);
  row.read_one(column + 1, tuned.median_us);
  row.read_one(column + 2, ties);
  if (!ties.empty()) {
    for (const std::string_view line : split(ties, '\n')) {
      tuned.ties.emplace_back(line);
    }
  }
}

constexpr std::string_view kKey = "x.problem || ' ' || x.device || ' ' || x.toolchain";

std::vector<MergeConflict> conflicts(const Connection& connection) {
  Statement rows(connection,
                 "SELECT " + std::string(kKey) +
                     ", p.text, d.name, x.is_taken, wc.text, w.median_us, w.ties, c.text, "
                     "o.median_us, o.ties FROM temp.winner_pair x "
                     "JOIN main.problem p ON p.id = x.problem "
                     "JOIN main.device d ON d.id = x.device JOIN main.config c ON c.id = x.config "
                     "JOIN other.winner o ON o.id = x.theirs JOIN main.winner w ON w.id = x.ours "
                     "JOIN main.config wc ON wc.id = w.config WHERE x.is_conflict ORDER BY p.id");
  std::vector<MergeConflict> found;
  while (rows.step()) {
    MergeConflict& conflict = found.emplace_back();
    rows.read(conflict.key, conflict.problem, conflict.device, conflict.is_taken);
    read_tuned(rows, 4, conflict.ours);
    read_tuned(rows, 7, conflict.theirs);
  }
  return found;
}

std::vector<MergeResult::Winner> their_winners(const Connection& connection) {
  Statement rows(connection, "SELECT " + std::string(kKey) +
                                 ", o.median_us FROM temp.winner_pair x "
                                 "JOIN other.winner o ON o.id = x.theirs");
  std::vector<MergeResult::Winner> found;
  while (rows.step()) {
    MergeResult::Winner& winner = found.emplace_back();
    rows.read(winner.key, winner.median_us);
  }
  return found;
}

std::int64_t add_winners(Connection& connection) {
  const std::vector<std::string> columns = winner_columns(connection);
  connection.execute(
      "DELETE FROM main.winner WHERE id IN "
      "(SELECT ours FROM temp.winner_pair WHERE is_taken)");
  connection.execute("INSERT INTO main.winner (problem, device, toolchain, config, kernel" +
                     listed(columns, ", ") +
                     ") SELECT x.problem, x.device, x.toolchain, x.config, x.kernel" +
                     listed(columns, ", o.") +
                     " FROM temp.winner_pair x JOIN other.winner o ON o.id = x.theirs "
                     "WHERE x.is_taken ORDER BY o.id");
  return connection.changes();
}

// Keeps each candidate's newest outcome; of two from the same second, the values of the rows
// decide. Clears `final_round` in all trials except those of the winner's tuning.
std::int64_t add_trials(Connection& connection) {
  connection.execute(
      "UPDATE main.trial SET final_round = 0 WHERE final_round AND (problem, device, toolchain) IN "
      "(SELECT problem, device, toolchain FROM temp.winner_pair WHERE is_taken AND NOT is_same)");
  const std::vector<std::string> columns = common_columns(
      connection, "trial", {"problem", "device", "toolchain", "config", "final_round"});
  std::string updates = "final_round = excluded.final_round";
  std::string theirs = "excluded.tried_at", ours = "trial.tried_at";
  for (const std::string& column : columns) {
    updates.append(", ").append(column).append(" = excluded.").append(column);
    theirs.append(", ifnull(excluded.").append(column).append(", 0)");
    ours.append(", ifnull(trial.").append(column).append(", 0)");
  }
  connection.execute(
      "INSERT INTO main.trial (problem, device, toolchain, config, final_round" +
      listed(columns, ", ") +
      ") SELECT p.id, d.id, t.id, c.id, o.final_round AND EXISTS (SELECT 1 FROM "
      "temp.winner_pair x WHERE (x.is_taken OR x.is_same) AND "
      "(x.problem, x.device, x.toolchain) = (p.id, d.id, t.id))" +
      listed(columns, ", o.") +
      " FROM other.trial o "
      "JOIN other.problem op ON op.id = o.problem "
      "JOIN main.problem p ON p.fingerprint = op.fingerprint "
      "JOIN other.device od ON od.id = o.device "
      "JOIN main.device d ON d.fingerprint = od.fingerprint "
      "JOIN other.toolchain ot ON ot.id = o.toolchain "
      "JOIN main.toolchain t ON t.fingerprint = ot.fingerprint "
      "JOIN other.config oc ON oc.id = o.config JOIN main.config c ON c.text = oc.text "
      "WHERE true ON CONFLICT (problem, device, toolchain, config) DO UPDATE SET " +
      updates + " WHERE (" + theirs + ", excluded.final_round) > (" + ours +
      ", trial.final_round)");
  return connection.changes();
}

// Adds the classes of invariant problems; where both files have one, this file's stays. A file
// recovered by `.dump` may lack the table.
void add_classes(Connection& connection) {
  if (!connection.column_names("meta", "other").empty()) {
    connection.execute(
        "INSERT OR IGNORE INTO main.meta SELECT name, value FROM other.meta "
        "WHERE name GLOB 'accumulation class of *'");
  }
}

// Copies the names of tuned problems. A file recovered by `.dump` may lack the table.
void add_names(Connection& connection) {
  const std::vector<std::string> columns = connection.column_names("request", "other");
  if (std::find(columns.begin(), columns.end(), "name") == columns.end()) {
    return;
  }
  for (const auto& [key, name] : read_names(connection, "other")) {
    add_name(connection, key, name);
  }
}

MergeResult merge_attached(Connection& connection) {
  MergeResult result;
  for (const char* table : {"toolchain", "device", "problem", "config"}) {
    add_dimension(connection, table);
  }
  connection.execute(
      "UPDATE main.device SET toolchain = (SELECT t.id FROM other.device od "
      "JOIN other.toolchain ot ON ot.id = od.toolchain "
      "JOIN main.toolchain t ON t.fingerprint = ot.fingerprint "
      "WHERE od.fingerprint = device.fingerprint) WHERE toolchain IS NULL");
  result.binaries = add_kernels(connection);
  pair_winners(connection);
  result.conflicts = conflicts(connection);
  result.found = their_winners(connection);
  result.winners = add_winners(connection);
  result.trials = add_trials(connection);
  add_names(connection);
  add_classes(connection);
  return result;
}

// Empty if the other file is a cache of this or an older version, or was recovered by `.dump`,
// which keeps the tables but loses the application id and the version.
std::string why_not_mergeable(Connection& connection) {
  const std::int64_t id = connection.integer("PRAGMA other.application_id");
  const std::int64_t version = connection.integer("PRAGMA other.user_version");
  if (id != kApplicationId && (id != 0 || version != 0)) {
    return "it is a file of another program";
  }
  if (version > kSchemaVersion) {
    return "it is of a newer version of this library";
  }
  for (const char* table :
       {"toolchain", "device", "problem", "config", "kernel", "trial", "winner"}) {
    Statement find(connection,
                   "SELECT 1 FROM other.sqlite_schema WHERE type = 'table' AND name = ?");
    if (!find.bind(table).step()) {
      return "it has no table " + std::string(table);
    }
  }
  return "";
}

}  // namespace

MergeResult Archive::merge(const fs::path& from) {
  write_pending();
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  follow_file();
  if (!file_ || !file_->writable) {
    return {.failure = path().string() + " cannot be written, so nothing can be merged into it"};
  }
  const Trust trust = examine_trust(from);
  if (!trust) {
    return {.failure = from.string() + " is not used: " + trust.why_not};
  }
  std::error_code ignored;
  if (fs::equivalent(trust.real_path, file_->path, ignored)) {
    return {.failure = from.string() + " is the cache itself"};
  }
  MergeResult result;
  try {
    auto into =
        Connection::open(file_->path, Connection::Mode::kReadWrite, options_.busy_timeout_ms);
    into.attach_to_read(trust.real_path, "other");
    if (const std::string why_not = why_not_mergeable(into); !why_not.empty()) {
      return {.failure = from.string() + " cannot be merged: " + why_not};
    }
    std::optional<sqlite::Transaction> transaction;
    {
      const LockFile::Held held(*file_->writers_lock, options_.busy_timeout_ms);
      transaction.emplace(into);
    }
    // Templates count as current if they are those of this library, which may differ from the
    // library that wrote the other file.
    Statement families(into, "SELECT DISTINCT family FROM other.config");
    std::string name;
    while (families.step()) {
      families.read(name);
      if (const Family* registered = family(name)) {
        set_current_family(into, name, registered->fingerprint());
      }
    }
    result = merge_attached(into);
    transaction->commit();
  } catch (const sqlite::Error& error) {
    return {.failure =
                from.string() + " could not be merged, and nothing has changed: " + error.what()};
  }
  forget_found();
  return result;
}

}  // namespace tunedgemm::internal

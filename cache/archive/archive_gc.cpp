// The part of Archive that deletes what serves no call and no tuning any more, and shrinks the
// file. cache/README.md, "Decisions", says why each kind of row stays or goes.

#include <algorithm>

#include "cache/archive/archive.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;
using sqlite::Statement;

// Other processes tune these keys: their rows stay.
constexpr const char* kNotLeased =
    " AND NOT EXISTS (SELECT 1 FROM lease l WHERE (l.problem, l.device, l.toolchain) = "
    "(x.problem, x.device, x.toolchain))";

// `doomed` has the winners to delete. A void winner goes unless a call could still renew it
// (Store::find_outdated) and has no other. A winner of an old toolchain goes if a call prefers
// another one. An unknown family has no template here; its winners are not void.
const std::string kListWinners = std::string(R"sql(
CREATE TEMP TABLE graded AS
SELECT w.id, w.problem, w.device, w.toolchain, w.kernel,
       w.family_fingerprint <> f.fingerprint AS is_void,
       w.toolchain <> d.toolchain AS is_old,
       w.kernel IS NOT NULL AND (d.toolchain IS NULL OR t.compiler = now.compiler) AS is_renewable
FROM winner w
JOIN config c ON c.id = w.config
JOIN device d ON d.id = w.device
JOIN toolchain t ON t.id = w.toolchain
LEFT JOIN toolchain now ON now.id = d.toolchain
LEFT JOIN temp.template f ON f.family = c.family;

CREATE INDEX temp.graded_problem ON graded (problem, device);

CREATE TEMP TABLE doomed AS
SELECT x.id, x.kernel, x.is_void IS 1 AS is_void FROM temp.graded x
WHERE CASE WHEN x.is_void
      THEN NOT x.is_renewable OR EXISTS
           (SELECT 1 FROM temp.graded u WHERE (u.problem, u.device) = (x.problem, x.device)
                                              AND u.is_void = 0)
      ELSE x.is_old AND EXISTS
           (SELECT 1 FROM temp.graded u WHERE (u.problem, u.device) = (x.problem, x.device)
                                              AND u.is_void = 0 AND u.is_old = 0) END)sql") +
                                 kNotLeased;

// No tuning reads the trials of an old template, nor those of an old toolchain without a winner.
const std::string kDeleteTrials = std::string(R"sql(
DELETE FROM trial WHERE id IN (
SELECT x.id FROM trial x
JOIN config c ON c.id = x.config
JOIN device d ON d.id = x.device
LEFT JOIN temp.template f ON f.family = c.family
WHERE (x.family_fingerprint <> f.fingerprint OR
       (x.toolchain <> d.toolchain AND NOT EXISTS
        (SELECT 1 FROM winner w WHERE (w.problem, w.device, w.toolchain) =
                                      (x.problem, x.device, x.toolchain)))))sql") +
                                  kNotLeased + ")";

// Without a winner a binary stays if its compiler is in use: it may be the kernel of a call that
// was not tuned, of a winner's launches without a workspace, or of the verifier.
constexpr const char* kDeleteKernels = R"sql(
DELETE FROM kernel WHERE id NOT IN (SELECT kernel FROM winner WHERE kernel IS NOT NULL) AND
(id IN (SELECT kernel FROM temp.doomed) OR
 NOT EXISTS (SELECT 1 FROM device d LEFT JOIN toolchain t ON t.id = d.toolchain
             WHERE d.compute_capability = kernel.architecture
                   AND (t.id IS NULL OR t.compiler = kernel.compiler)) AND
 (compiler, architecture) NOT IN (SELECT t.compiler, d.compute_capability FROM winner w
                                  JOIN toolchain t ON t.id = w.toolchain
                                  JOIN device d ON d.id = w.device)))sql";

constexpr const char* kDeleteUnreferenced = R"sql(
DELETE FROM request WHERE name = '' AND calls = 0 AND EXISTS
  (SELECT 1 FROM winner w WHERE (w.problem, w.device) = (request.problem, request.device));
DELETE FROM problem WHERE id NOT IN
  (SELECT problem FROM winner UNION SELECT problem FROM trial UNION SELECT problem FROM request
   UNION SELECT problem FROM lease);
DELETE FROM device WHERE id NOT IN
  (SELECT device FROM winner UNION SELECT device FROM trial UNION SELECT device FROM request
   UNION SELECT device FROM lease);
DELETE FROM toolchain WHERE id NOT IN
  (SELECT toolchain FROM winner UNION SELECT toolchain FROM trial UNION
   SELECT toolchain FROM lease UNION
   SELECT toolchain FROM device WHERE toolchain IS NOT NULL);
DELETE FROM config WHERE id NOT IN
  (SELECT config FROM winner UNION SELECT config FROM trial UNION
   SELECT in_flight FROM lease WHERE in_flight IS NOT NULL);
)sql";

// Rows that a size limit may delete, in the order of `place`, with their sizes, which are a few
// percent too small, so that the file keeps the limit. A crash stays known, since its candidate
// would end a process again. The trials of unfinished tunings stay, too.
std::string surplus_trials(const std::string& final_round) {
  return "SELECT x.id, 110 + length(x.detail) + coalesce(length(x.samples), 0) AS bytes, "
         "row_number() OVER (ORDER BY w.tuned_at, w.id, x.id) AS place FROM trial x "
         "JOIN winner w ON (w.problem, w.device, w.toolchain) = (x.problem, x.device, x.toolchain) "
         "WHERE x.final_round = " +
         final_round + " AND x.reason IS NOT " +
         std::to_string(static_cast<int>(Reason::kCrashed)) + kNotLeased;
}
constexpr const char* kSurplusKernels =
    "SELECT id, 200 + length(code) AS bytes, id AS place FROM kernel "
    "WHERE id NOT IN (SELECT kernel FROM winner WHERE kernel IS NOT NULL)";

std::int64_t delete_from(Connection& connection, const std::string& statement) {
  Statement(connection, statement).run();
  return connection.changes();
}

// The size of the file without its free pages.
std::int64_t used_bytes(Connection& connection) {
  return (connection.integer("PRAGMA page_count") - connection.integer("PRAGMA freelist_count")) *
         connection.integer("PRAGMA page_size");
}

// Deletes the first surplus rows of the table, until they have `excess` bytes, which it lowers by
// their size. Returns their number.
std::int64_t delete_surplus(Connection& connection, const std::string& table,
                            const std::string& surplus, std::int64_t& excess) {
  if (excess <= 0) {
    return 0;
  }
  connection.execute("DELETE FROM temp.surplus");
  Statement(connection,
            "INSERT INTO temp.surplus SELECT id, bytes FROM (SELECT id, bytes, sum(bytes) OVER "
            "(ORDER BY place ROWS UNBOUNDED PRECEDING) - bytes AS before FROM (" +
                surplus + ")) WHERE before < ?")
      .bind(excess)
      .run();
  excess -= connection.integer("SELECT sum(bytes) FROM temp.surplus");
  return delete_from(connection,
                     "DELETE FROM " + table + " WHERE id IN (SELECT id FROM temp.surplus)");
}

// `bytes_after` is an estimate.
GcResult delete_garbage(Connection& connection, std::int64_t max_bytes) {
  GcResult result;
  end_dead_leases(connection);
  connection.execute(kListWinners);
  result.void_winners = connection.integer("SELECT count(*) FROM temp.doomed WHERE is_void");
  result.replaced_winners =
      connection.integer("SELECT count(*) FROM temp.doomed WHERE NOT is_void");
  connection.execute("DELETE FROM winner WHERE id IN (SELECT id FROM temp.doomed)");
  result.trials = delete_from(connection, kDeleteTrials);
  result.kernels = delete_from(connection, kDeleteKernels);
  connection.execute(kDeleteUnreferenced);
  result.bytes_after = used_bytes(connection);
  if (max_bytes > 0) {
    std::int64_t excess = result.bytes_after - max_bytes;
    connection.execute("CREATE TEMP TABLE surplus (id INTEGER PRIMARY KEY, bytes INTEGER)");
    result.trials += delete_surplus(connection, "trial", surplus_trials("0"), excess);
    result.kernels += delete_surplus(connection, "kernel", kSurplusKernels, excess);
    result.trials += delete_surplus(connection, "trial", surplus_trials("1"), excess);
    connection.execute(kDeleteUnreferenced);
    result.bytes_after = std::min(used_bytes(connection), max_bytes + excess);
  }
  return result;
}

}  // namespace

GcResult Archive::collect_garbage(const GcOptions& options) {
  write_pending();
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  follow_file();
  if (!file_ || !file_->writable) {
    return {.failure = path().string() + " cannot be written, so nothing can be deleted from it"};
  }
  const fs::path& file = file_->path;
  GcResult result;
  auto connection = Connection::open(file, Connection::Mode::kReadWrite, options_.busy_timeout_ms);
  // SQLite would search a million trials for each config that is deleted.
  connection.execute("PRAGMA foreign_keys = OFF; PRAGMA cache_size = -200000");
  connection.execute("CREATE TEMP TABLE template (family TEXT PRIMARY KEY, fingerprint TEXT)");
  const LockFile::Held held(*file_->writers_lock, options_.busy_timeout_ms);
  try {
    sqlite::Transaction transaction(connection);
    Statement families(connection, "SELECT DISTINCT family FROM config");
    for (std::string name; families.step();) {
      families.read(name);
      if (const Family* registered = family(name)) {
        connection.insert("INSERT", "template",
                          {{"family", name}, {"fingerprint", registered->fingerprint()}});
      }
    }
    // A write-ahead log may have the newest pages.
    const std::int64_t bytes_before =
        connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size");
    result = delete_garbage(connection, options.max_bytes);
    result.bytes_before = bytes_before;
    if (options.mode == GcOptions::Mode::kDryRun) {
      return result;
    }
    transaction.commit();
  } catch (const sqlite::Error& error) {
    return {.failure = file.string() +
                       " is unchanged, since its rows could not be deleted: " + error.what()};
  }
  forget_found();
  try {
    connection.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const sqlite::Error& error) {
    result.failure = "the rows are deleted, but " + file.string() +
                     " could not be made smaller; repeat the command later: " + error.what();
  }
  result.bytes_after = static_cast<std::int64_t>(fs::file_size(file));
  return result;
}

}  // namespace tunedgemm::internal

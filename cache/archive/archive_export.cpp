// The part of Archive that exports a copy. Copying the file itself would lose the changes in its
// journal or write-ahead log.

#include <sys/stat.h>

#include <stdexcept>

#include "cache/archive/archive.h"
#include "cache/file/publish.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using Selects = std::function<bool(const WinnerWithState&)>;

// `kept` has the keys of the selected winners. Call it before rows are deleted: the state of a
// winner depends on other rows.
void list_selected(sqlite::Connection& copied, const Selects& selects) {
  copied.execute("CREATE TEMP TABLE kept (problem, device, toolchain)");
  sqlite::Statement keep(copied,
                         "INSERT INTO kept SELECT p.id, d.id, t.id FROM problem p, device d, "
                         "toolchain t WHERE (p.fingerprint, d.fingerprint, t.fingerprint) = "
                         "(?, ?, ?)");
  for (const WinnerWithState& winner : read_winners(copied)) {
    if (selects(winner)) {
      const Record& record = winner.record;
      keep.bind(fingerprint(record.problem), fingerprint(record.device),
                fingerprint(record.toolchain))
          .run();
    }
  }
}

// Rejected trials, and the binaries of other candidates, serve no call.
void delete_all_but_selected(sqlite::Connection& copied) {
  copied.execute(R"sql(
DELETE FROM winner WHERE (problem, device, toolchain) NOT IN (SELECT * FROM kept);
DELETE FROM trial WHERE median_us IS NULL OR reason IS NOT NULL
                     OR (problem, device, toolchain) NOT IN (SELECT * FROM kept);
DELETE FROM kernel WHERE id NOT IN (SELECT kernel FROM winner WHERE kernel IS NOT NULL);
DELETE FROM request WHERE (problem, device) NOT IN (SELECT problem, device FROM winner);
DELETE FROM problem WHERE id NOT IN (SELECT problem FROM winner);
DELETE FROM device WHERE id NOT IN (SELECT device FROM winner);
DELETE FROM toolchain WHERE id NOT IN (SELECT toolchain FROM winner)
                        AND id NOT IN (SELECT toolchain FROM device WHERE toolchain IS NOT NULL);
DELETE FROM config WHERE id NOT IN (SELECT config FROM winner UNION SELECT config FROM trial);
VACUUM;
)sql");
}

// Throws std::runtime_error if no winner is selected.
void copy(sqlite::Connection& from, const fs::path& to, const Selects& selects) {
  sqlite::Statement(from, "VACUUM INTO ?").bind(to.string()).run();
  auto copied = sqlite::Connection::open(to, sqlite::Connection::Mode::kReadWrite, 0);
  // Nobody else sees the copy yet, and it is discarded if anything fails.
  copied.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
  // Leases, probes and requests are local to this machine, but the names of tuned problems are not.
  copied.execute(
      "DELETE FROM lease; DELETE FROM meta WHERE name GLOB 'probe *'; "
      "DELETE FROM request WHERE name = '' OR NOT EXISTS (SELECT 1 FROM winner w WHERE "
      "w.problem = request.problem AND w.device = request.device); UPDATE request SET calls = 0");
  if (selects) {
    list_selected(copied, selects);
    if (copied.integer("SELECT count(*) FROM kept") == 0) {
      throw std::runtime_error("no winner is selected");
    }
    delete_all_but_selected(copied);
  }
  // A system file must be readable by all users. Programs that open it change nothing.
  chmod(to.c_str(), S_IRUSR | S_IRGRP | S_IROTH);
}

}  // namespace

std::string Archive::export_to(const fs::path& destination, const Selects& selects) {
  write_pending();
  const fs::path target = fs::absolute(destination);
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  if (!file_ && !memory_) {
    return "nothing has been stored yet, so there is nothing to write to " + target.string();
  }
  sqlite::Connection& source = file_ ? file_->connection : *memory_;
  const PrivateBuild build(target, [&](const fs::path& path) { copy(source, path, selects); });
  return build.publish_unless_there()
             ? ""
             : target.string() + " is there already: remove it or choose another name";
}

}  // namespace tunedgemm::internal

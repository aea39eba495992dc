#include "cache/tables/rows.h"

#include <ctime>

namespace tunedgemm::internal {
namespace {

// A process on another machine or in another PID namespace cannot be checked. It counts as alive
// for this long after it renewed its lease. A live process renews its lease with every candidate
// that it marks and when it writes trials, and no candidate takes this long. The time also allows
// for differences between clocks.
constexpr std::int64_t kSilentSeconds = 15 * 60;

struct LeaseRow {
  KeyRows key;
  ProcessIdentity process;
  std::string token;
  std::int64_t renewed = 0;
  std::string family, knobs, family_fingerprint;  // of the candidate in flight; empty if none
};

// The columns of read_lease().
constexpr const char* kSelect =
    "SELECT l.problem, l.device, l.toolchain, l.host, l.boot, l.pid, l.pid_started, l.token, "
    "l.renewed, c.family, c.knobs, l.in_flight_family_fingerprint "
    "FROM lease l LEFT JOIN config c ON c.id = l.in_flight ";

LeaseRow read_lease(const sqlite::Statement& lease) {
  LeaseRow row;
  lease.read(row.key.problem, row.key.device, row.key.toolchain, row.process.host, row.process.boot,
             row.process.pid, row.process.started, row.token, row.renewed, row.family, row.knobs,
             row.family_fingerprint);
  return row;
}

std::optional<LeaseRow> find_lease(sqlite::Connection& connection, const TuningKey& key) {
  sqlite::Statement find(connection,
                         std::string(kSelect) +
                             "JOIN problem p ON p.id = l.problem JOIN device d ON d.id = l.device "
                             "JOIN toolchain t ON t.id = l.toolchain "
                             "WHERE p.fingerprint = ? AND d.fingerprint = ? AND t.fingerprint = ?");
  find.bind(fingerprint(key.problem), fingerprint(key.device), fingerprint(key.toolchain));
  return find.step() ? std::optional(read_lease(find)) : std::nullopt;
}

bool is_alive(const LeaseRow& row) {
  const Liveness alive = liveness(row.process);
  const std::int64_t now = std::time(nullptr);
  const bool is_recent = row.renewed > now - kSilentSeconds && row.renewed < now + kSilentSeconds;
  return alive == Liveness::kAlive || (alive == Liveness::kUnknown && is_recent);
}

// Records the candidate in flight, if there is one, as crashed.
void reject_as_crashed(sqlite::Connection& connection, const LeaseRow& row) {
  if (row.family.empty()) {
    return;
  }
  TrialRecord trial;
  trial.family = row.family;
  trial.config = parse_config(row.knobs).value_or(Config());
  trial.family_fingerprint = row.family_fingerprint;
  trial.rejection = Rejection{Reason::kCrashed, "it was in flight when the tuning of process " +
                                                    std::to_string(row.process.pid) + " on " +
                                                    row.process.host + " ended"};
  put_trial(connection, row.key, trial);
}

constexpr const char* kOfThisHolder =
    " WHERE problem = ? AND device = ? AND toolchain = ? "
    "AND host = ? AND boot = ? AND pid = ? AND pid_started = ?";

}  // namespace

bool is_held(sqlite::Connection& connection, const TuningKey& key) {
  const auto row = find_lease(connection, key);
  return row && is_alive(*row);
}

bool claim_lease(sqlite::Connection& connection, const TuningKey& key, const LeaseHolder& holder) {
  const auto row = find_lease(connection, key);
  if (row && is_alive(*row)) {
    return false;
  }
  if (row) {
    reject_as_crashed(connection, *row);
  }
  const KeyRows rows = key_rows(connection, key);
  connection.insert("INSERT OR REPLACE", "lease",
                    {{"problem", rows.problem},
                     {"device", rows.device},
                     {"toolchain", rows.toolchain},
                     {"token", holder.token},
                     {"host", holder.process.host},
                     {"boot", holder.process.boot},
                     {"pid", holder.process.pid},
                     {"pid_started", holder.process.started},
                     {"renewed", std::time(nullptr)}});
  return true;
}

void release_lease(sqlite::Connection& connection, const TuningKey& key,
                   const LeaseHolder& holder) {
  const KeyRows rows = key_rows(connection, key);
  const ProcessIdentity& process = holder.process;
  // If the tuning ended with an exception, the mark is still set: the candidate may have made the
  // device unusable.
  const auto row = find_lease(connection, key);
  const bool is_own = row && row->process == process && row->token == holder.token;
  if (is_own) {
    reject_as_crashed(connection, *row);
  }
  sqlite::Statement remove(connection,
                           std::string("DELETE FROM lease") + kOfThisHolder + " AND token = ?");
  remove.bind(rows.problem, rows.device, rows.toolchain, process.host, process.boot, process.pid,
              process.started, holder.token);
  remove.run();
}

void end_dead_leases(sqlite::Connection& connection) {
  std::vector<LeaseRow> dead;
  for (sqlite::Statement leases(connection, kSelect); leases.step();) {
    if (LeaseRow row = read_lease(leases); !is_alive(row)) {
      dead.push_back(std::move(row));
    }
  }
  for (const LeaseRow& row : dead) {
    reject_as_crashed(connection, row);
    sqlite::Statement(connection,
                      "DELETE FROM lease WHERE problem = ? AND device = ? AND toolchain = ?")
        .bind(row.key.problem, row.key.device, row.key.toolchain)
        .run();
  }
}

void renew_lease(sqlite::Connection& connection, const TuningKey& key,
                 const ProcessIdentity& process) {
  const KeyRows rows = key_rows(connection, key);
  sqlite::Statement renew(connection, std::string("UPDATE lease SET renewed = ?") + kOfThisHolder);
  renew.bind(std::int64_t{std::time(nullptr)}, rows.problem, rows.device, rows.toolchain,
             process.host, process.boot, process.pid, process.started);
  renew.run();
}

void set_in_flight(sqlite::Connection& connection, const TuningKey& key,
                   const ProcessIdentity& process, const CandidateInFlight& candidate) {
  const KeyRows rows = key_rows(connection, key);
  const std::int64_t config = config_row(connection, candidate.family, candidate.config);
  const std::int64_t now = std::time(nullptr);
  sqlite::Statement update(connection, std::string("UPDATE lease SET renewed = ?, in_flight = ?, "
                                                   "in_flight_family_fingerprint = ?") +
                                           kOfThisHolder);
  update.bind(now, config, candidate.family_fingerprint, rows.problem, rows.device, rows.toolchain,
              process.host, process.boot, process.pid, process.started);
  update.run();
  if (connection.changes() == 0) {
    // This process has no lease: insert one, unless another process holds it.
    connection.insert("INSERT OR IGNORE", "lease",
                      {{"problem", rows.problem},
                       {"device", rows.device},
                       {"toolchain", rows.toolchain},
                       {"token", ""},
                       {"host", process.host},
                       {"boot", process.boot},
                       {"pid", process.pid},
                       {"pid_started", process.started},
                       {"renewed", now},
                       {"in_flight", config},
                       {"in_flight_family_fingerprint", candidate.family_fingerprint}});
  }
}

void clear_in_flight(sqlite::Connection& connection, const TuningKey& key,
                     const ProcessIdentity& process) {
  const KeyRows rows = key_rows(connection, key);
  const auto run = [&](const std::string& statement) {
    sqlite::Statement change(connection, statement);
    change.bind(rows.problem, rows.device, rows.toolchain, process.host, process.boot, process.pid,
                process.started);
    change.run();
  };
  run(std::string("DELETE FROM lease") + kOfThisHolder + " AND token = ''");
  run(std::string("UPDATE lease SET in_flight = NULL, in_flight_family_fingerprint = NULL") +
      kOfThisHolder);
}

}  // namespace tunedgemm::internal

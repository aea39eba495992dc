#include "cache/tables/rows.h"

#include <utility>

namespace tunedgemm::internal {
namespace {

struct RequestRow {
  std::int64_t problem = 0, device = 0;
};

// Adds the calls to the row's and replaces its names; makes the row if it is missing.
void add_row(sqlite::Connection& connection, const RequestRow& row, std::int64_t calls,
             const std::string& names) {
  sqlite::Statement(connection,
                    "INSERT INTO request (problem, device, calls, asked_at, name) "
                    "VALUES (?, ?, ?, ?, ?) ON CONFLICT (problem, device) DO UPDATE SET "
                    "calls = calls + excluded.calls, asked_at = excluded.asked_at, "
                    "name = excluded.name")
      .bind(row.problem, row.device, calls, utc_now(), names)
      .run();
}

}  // namespace

void add_calls(sqlite::Connection& connection, const Request& request,
               const DeviceIdentity& device) {
  const std::int64_t problem = problem_row(connection, request.problem);
  const std::int64_t device_id = device_row(connection, device);
  sqlite::Statement find(connection, "SELECT name FROM request WHERE problem = ? AND device = ?");
  std::string names;
  if (find.bind(problem, device_id).step()) {
    find.read(names);
  }
  add_row(connection, {problem, device_id}, request.calls,
          joined_names(std::move(names), request.name));
}

void add_name(sqlite::Connection& connection, const WinnerKey& key, const std::string& name) {
  sqlite::Statement find(connection,
                         "SELECT p.id, d.id, coalesce(r.name, '') FROM problem p JOIN device d "
                         "LEFT JOIN request r ON r.problem = p.id AND r.device = d.id "
                         "WHERE p.fingerprint = ? AND d.fingerprint = ? AND EXISTS "
                         "(SELECT 1 FROM winner w WHERE w.problem = p.id AND w.device = d.id)");
  if (!find.bind(key.problem, key.device).step()) {
    return;
  }
  RequestRow row;
  std::string stored;
  find.read(row.problem, row.device, stored);
  if (std::string names = joined_names(stored, name); names != stored) {
    add_row(connection, row, 0, names);
  }
}

std::vector<std::pair<WinnerKey, std::string>> read_names(const sqlite::Connection& connection,
                                                          const std::string& schema) {
  sqlite::Statement rows(connection, "SELECT p.fingerprint, d.fingerprint, r.name FROM " + schema +
                                         ".request r JOIN " + schema +
                                         ".problem p ON p.id = r.problem JOIN " + schema +
                                         ".device d ON d.id = r.device WHERE r.name <> ''");
  std::vector<std::pair<WinnerKey, std::string>> names;
  while (rows.step()) {
    auto& [key, name] = names.emplace_back();
    rows.read(key.problem, key.device, name);
  }
  return names;
}

void delete_request_without_winner(sqlite::Connection& connection, const TuningKey& key) {
  sqlite::Statement(connection,
                    "DELETE FROM request WHERE problem = (SELECT id FROM problem WHERE "
                    "fingerprint = ?) AND device = (SELECT id FROM device WHERE fingerprint = ?) "
                    "AND NOT EXISTS (SELECT 1 FROM winner w WHERE w.problem = request.problem AND "
                    "w.device = request.device)")
      .bind(fingerprint(key.problem), fingerprint(key.device))
      .run();
}

std::vector<Request> read_requests(const sqlite::Connection& connection,
                                   const DeviceIdentity& device, Requested which) {
  sqlite::Statement rows(
      connection,
      "SELECT p.text, r.calls, r.name FROM request r JOIN problem p ON p.id = r.problem "
      "JOIN device d ON d.id = r.device WHERE d.fingerprint = ? AND (? OR NOT EXISTS "
      "(SELECT 1 FROM winner w WHERE w.problem = r.problem AND w.device = r.device)) "
      "ORDER BY r.calls * p.flops DESC, p.id");
  rows.bind(fingerprint(device), which == Requested::kAll);
  std::vector<Request> requests;
  while (rows.step()) {
    std::string text;
    std::int64_t calls = 0;
    std::string name;
    rows.read(text, calls, name);
    if (const auto problem = parse_problem(text)) {
      requests.push_back({canonical(*problem), calls, name});
    }
  }
  return requests;
}

}  // namespace tunedgemm::internal

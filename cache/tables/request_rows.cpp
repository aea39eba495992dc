#include "cache/tables/rows.h"

#include <utility>

namespace tunedgemm::internal {

void add_calls(sqlite::Connection& connection, const Request& request,
               const DeviceIdentity& device) {
  sqlite::Statement add(connection,
                        "INSERT INTO request (problem, device, calls, asked_at, name) "
                        "VALUES (?, ?, ?, ?, ?) ON CONFLICT (problem, device) DO UPDATE SET "
                        "calls = calls + excluded.calls, asked_at = excluded.asked_at, "
                        "name = coalesce(nullif(excluded.name, ''), name)");
  add.bind(problem_row(connection, request.problem), device_row(connection, device), request.calls,
           utc_now(), request.name);
  add.run();
}

std::vector<Request> read_requests(const sqlite::Connection& connection,
                                   const DeviceIdentity& device) {
  sqlite::Statement rows(
      connection,
      "SELECT p.text, r.calls, r.name FROM request r JOIN problem p ON p.id = r.problem "
      "JOIN device d ON d.id = r.device WHERE d.fingerprint = ? AND NOT EXISTS "
      "(SELECT 1 FROM winner w WHERE w.problem = r.problem AND w.device = r.device) "
      "ORDER BY r.calls * p.flops DESC, p.id");
  rows.bind(fingerprint(device));
  std::vector<Request> requests;
  while (rows.step()) {
    std::string text;
    std::int64_t calls = 0;
    std::string name;
    rows.read(text, calls, name);
    if (auto problem = parse_problem(text)) {
      requests.push_back({*problem, calls, name});
    }
  }
  return requests;
}

}  // namespace tunedgemm::internal

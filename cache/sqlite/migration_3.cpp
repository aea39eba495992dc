// What version 3 changes in a file of version 2:
//
//   problem   an index by which the neighbours of a problem are found
//   device    the memory in whole GiB, as identities have it now. Rows that become equal are merged
//             into the one that was tuned last: winners, trials and requests of all of them are
//             found there.

#include "cache/sqlite/migration_3.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cache/record.h"

namespace tunedgemm::internal {
namespace {

struct DeviceRow {
  std::int64_t id = 0;
  DeviceIdentity identity;
};

// The one that was tuned last comes first.
std::vector<DeviceRow> devices_of(const sqlite::Connection& connection) {
  sqlite::Statement rows(
      connection,
      "SELECT id, backend, name, compute_capability, units, memory_bytes, l2_bytes, clock_mhz, "
      "power_limit_watts FROM device d "
      "ORDER BY (SELECT max(tuned_at) FROM winner w WHERE w.device = d.id) DESC, id DESC");
  std::vector<DeviceRow> devices;
  while (rows.step()) {
    auto& [id, device] = devices.emplace_back();
    int backend = 0;
    rows.read(id, backend, device.name, device.compute_capability, device.units,
              device.memory_bytes, device.l2_bytes, device.clock_mhz, device.power_limit_watts);
    device.backend = backend_name(backend);
    device.memory_bytes = in_whole_gib(device.memory_bytes);
  }
  return devices;
}

// Of two winners for one problem with one toolchain stays the one whose template is current, then
// the one of the more thorough tuning, then the newer one.
constexpr const char* kDropLesserWinners = R"sql(
WITH graded AS (
  SELECT w.id, w.problem, w.toolchain, w.device,
         row_number() OVER (
           PARTITION BY w.problem, w.toolchain
           ORDER BY w.family_fingerprint IS
                    (SELECT value FROM meta WHERE name = 'family ' || c.family) DESC,
                    w.complete DESC, w.rigor DESC, w.tuned_at DESC) AS preference
  FROM winner w JOIN config c ON c.id = w.config
  WHERE w.device IN (?1, ?2)
)
DELETE FROM winner WHERE id IN (SELECT id FROM graded WHERE preference > 1)
)sql";

void merge(sqlite::Connection& connection, std::int64_t from, std::int64_t to) {
  const auto run = [&](const std::string& sql) {
    sqlite::Statement(connection, sql).bind(from, to).run();
  };
  run(kDropLesserWinners);
  run("UPDATE winner SET device = ?2 WHERE device = ?1");
  run("INSERT INTO request (problem, device, calls, asked_at) "
      "SELECT problem, ?2, calls, asked_at FROM request WHERE device = ?1 "
      "ON CONFLICT (problem, device) DO UPDATE SET calls = calls + excluded.calls, "
      "asked_at = max(asked_at, excluded.asked_at)");
  for (const std::string table : {"trial", "lease"}) {
    run("UPDATE OR IGNORE " + table + " SET device = ?2 WHERE device = ?1");
  }
  for (const std::string table : {"trial", "lease", "request"}) {
    sqlite::Statement(connection, "DELETE FROM " + table + " WHERE device = ?").bind(from).run();
  }
  sqlite::Statement(connection, "DELETE FROM device WHERE id = ?").bind(from).run();
}

void round_memory(sqlite::Connection& connection) {
  const std::vector<DeviceRow> devices = devices_of(connection);
  std::map<std::string, std::int64_t> kept;  // by fingerprint
  for (const DeviceRow& device : devices) {
    const auto [same, is_first] = kept.emplace(fingerprint(device.identity), device.id);
    if (!is_first) {
      merge(connection, device.id, same->second);
    }
  }
  // After the merges: a row that was merged may have had the fingerprint that another gets.
  sqlite::Statement update(connection,
                           "UPDATE device SET memory_bytes = ?, fingerprint = ? WHERE id = ?");
  for (const DeviceRow& device : devices) {
    const std::string key = fingerprint(device.identity);
    if (kept.at(key) == device.id) {
      update.bind(device.identity.memory_bytes, key, device.id).run();
    }
  }
}

}  // namespace

Migration migration_to_version_3() {
  return {
      "CREATE INDEX problem_neighbours ON problem (type_a, type_b, type_d, order_a, order_b, beta, "
      "bias, activation, numerics, m, n, k, batch);\n",
      round_memory};
}

}  // namespace tunedgemm::internal

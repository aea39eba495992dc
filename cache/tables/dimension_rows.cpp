#include "cache/tables/rows.h"

#include <array>
#include <vector>

#include "cache/sqlite/schema.h"

namespace tunedgemm::internal {
std::int64_t problem_row(sqlite::Connection& connection, const CanonicalProblem& problem) {
  const std::string key = fingerprint(problem);
  std::vector<sqlite::Column> row = problem_columns(problem);
  row.emplace_back("fingerprint", key);
  row.emplace_back("text", to_text(problem));
  return connection.find_or_insert("problem", {"fingerprint", key}, row);
}

std::int64_t device_row(sqlite::Connection& connection, const DeviceIdentity& device) {
  const std::string key = fingerprint(device);
  const std::array row{
      sqlite::Column{"fingerprint", key},
      sqlite::Column{"backend", backend_number(device.backend)},
      sqlite::Column{"name", device.name},
      sqlite::Column{"compute_capability", device.compute_capability},
      sqlite::Column{"units", device.units},
      sqlite::Column{"memory_bytes", device.memory_bytes},
      sqlite::Column{"l2_bytes", device.l2_bytes},
      sqlite::Column{"clock_mhz", device.clock_mhz},
      sqlite::Column{"power_limit_watts", device.power_limit_watts},
  };
  return connection.find_or_insert("device", {"fingerprint", key}, row);
}

std::int64_t toolchain_row(sqlite::Connection& connection, const Toolchain& toolchain) {
  const std::string key = fingerprint(toolchain);
  const std::array row{
      sqlite::Column{"fingerprint", key},
      sqlite::Column{"compiler", toolchain.compiler},
      sqlite::Column{"driver", toolchain.driver},
  };
  return connection.find_or_insert("toolchain", {"fingerprint", key}, row);
}

std::int64_t config_row(sqlite::Connection& connection, std::string_view family,
                        const Config& config) {
  const std::string knobs = to_text(config);
  const std::string text = std::string(family) + (knobs.empty() ? "" : " ") + knobs;
  const std::array row{
      sqlite::Column{"text", text},
      sqlite::Column{"family", family},
      sqlite::Column{"knobs", knobs},
  };
  return connection.find_or_insert("config", {"text", text}, row);
}

KeyRows key_rows(sqlite::Connection& connection, const TuningKey& key) {
  return KeyRows{problem_row(connection, key.problem), device_row(connection, key.device),
                 toolchain_row(connection, key.toolchain)};
}

std::vector<DeviceIdentity> read_similar_devices(const sqlite::Connection& connection,
                                                 const DeviceIdentity& device) {
  sqlite::Statement rows(
      connection,
      "SELECT name, units, memory_bytes, l2_bytes, clock_mhz, power_limit_watts FROM device d "
      "WHERE backend = ? AND compute_capability = ? AND fingerprint <> ? AND EXISTS "
      "(SELECT 1 FROM winner w WHERE w.device = d.id)");
  rows.bind(backend_number(device.backend), device.compute_capability, fingerprint(device));
  std::vector<DeviceIdentity> devices;
  while (rows.step()) {
    DeviceIdentity& similar = devices.emplace_back();
    similar.backend = device.backend;
    similar.compute_capability = device.compute_capability;
    rows.read(similar.name, similar.units, similar.memory_bytes, similar.l2_bytes,
              similar.clock_mhz, similar.power_limit_watts);
  }
  return devices;
}

void set_current_toolchain(sqlite::Connection& connection, const DeviceIdentity& device,
                           const Toolchain& toolchain) {
  const std::int64_t current = toolchain_row(connection, toolchain);
  sqlite::Statement update(connection, "UPDATE device SET toolchain = ?1 WHERE id = ?2");
  update.bind(current, device_row(connection, device)).run();
}

void set_current_family(sqlite::Connection& connection, const std::string& name,
                        const std::string& fingerprint) {
  connection.insert("INSERT OR REPLACE", "meta",
                    {{"name", "family " + name}, {"value", fingerprint}});
}

void set_note(sqlite::Connection& connection, const std::string& name, const std::string& text) {
  connection.insert("INSERT OR REPLACE", "meta", {{"name", name}, {"value", text}});
}

std::string find_note(const sqlite::Connection& connection, const std::string& name) {
  sqlite::Statement find(connection, "SELECT value FROM meta WHERE name = ?");
  std::string text;
  if (find.bind(name).step()) {
    find.read(text);
  }
  return text;
}

}  // namespace tunedgemm::internal

// What version 2 changes in a file of version 1:
//
//   wgmma      group -> group_m, raster -> raster_along_n, stages_d -> epilogue_stages,
//              by_gpc -> gpc_aware; programmatic=1 is what launches were before there was a choice
//   naive_2d   has no knob any more: wide=0 is the config without it. A row with wide=1 stays as
//              history: its fingerprint is not carried on, so it is void.
//
// A winner and a trial of the templates of CarriedFamily get the new fingerprint and stay what they
// were; those of older templates were void and stay so. A winner's binary gets the fingerprint that
// its source has now.

#include "cache/sqlite/migration_2.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/family.h"
#include "kernel_templates/source.h"

namespace tunedgemm::internal {
namespace {

// Never changed once version 2 is released, whatever becomes of the templates later.
constexpr std::array kCarried{
    CarriedFamily{"naive_1d", "199fdedbd68a4a606b67108bf1c6ef49",
                  "f700378a6f5a9fd1f0890f4f443e05c4"},
    CarriedFamily{"naive_2d", "b24d36d3bcc3f638cf9586e040770b8a",
                  "cbb0902639b9dbe5dad0c8a16fd0638f"},
    CarriedFamily{"row_per_block", "fdb967be167d431ffc629aa0f792ff53",
                  "5175c5b94af717abb6e6ccf4889f4ded"},
    CarriedFamily{"row_shared", "11f7db1fc142b7a562b9a9fd78a40188",
                  "903db635cf901fd1a60af2439417e14b"},
    CarriedFamily{"tiled_shared", "43f9490f092dc8c20c390735730f24d8",
                  "9bddbb0c5e1dd2a8606fb6073376343b"},
    CarriedFamily{"simt", "cec6c361a5091084ebf2e652ead0b1c4", "c79cb68d5ee3f0d94bbe93f21d45a01c"},
    CarriedFamily{"mma", "4c5e5fac13736c609291123c258e8af4", "bc16036d1ce1b69e8bb4bffc1c4686f5"},
    CarriedFamily{"wgmma", "13a60136ea0c79f0bac752b947bf3e9e", "1dea5e522a69d209f58153848017d77e"},
    CarriedFamily{"naive_mnk", "b501b44eeffb8ee7d62664f599cde756",
                  "de08c024c3f801e66e28a58871b8db1d"},
    CarriedFamily{"reordered_mkn", "b2403c2a2df456ba47ea700c561cdd67",
                  "1c2280fa1349f44529e6c353aae8f61d"},
    CarriedFamily{"transposed_b", "7b910aaf4609e1d9f813c6d1d8f3e226",
                  "3ce68973a95d99fcb58f9e0024de37f3"},
    CarriedFamily{"blocked", "7a1a0f81d1e46bf72e61b7b775982913",
                  "01d2fb81f847cc374c083feb579c9e67"}};

// The names in a list of knobs that begins with a space, and what comes before one of them.
std::string renamed(const std::string& knobs) {
  constexpr std::array<std::pair<const char*, const char*>, 5> kNames{
      {{"group", "group_m"},
       {"raster", "raster_along_n"},
       {"stages_d", "epilogue_stages"},
       {"by_gpc", "gpc_aware"},
       {"swap_ab", "programmatic=1 swap_ab"}}};
  std::string expression = knobs;
  for (const auto& [old_name, new_name] : kNames) {
    expression.insert(0, "replace(");
    expression.append(", ' ").append(old_name).append("=', ' ").append(new_name).append("=')");
  }
  return expression;
}

std::string carry_fingerprints() {
  std::string statements =
      "CREATE TABLE carried (family TEXT NOT NULL, old TEXT NOT NULL PRIMARY KEY, "
      "new TEXT NOT NULL) STRICT;\n";
  for (const CarriedFamily& family : kCarried) {
    statements += "INSERT INTO carried VALUES ('" + std::string(family.name) + "', '" +
                  std::string(family.version_1) + "', '" + std::string(family.version_2) + "');\n";
  }
  const auto carry = [&](const std::string& table, const std::string& column,
                         const std::string& config) {
    statements += "UPDATE " + table + " SET " + column +
                  " = (SELECT new FROM carried WHERE old = " + column + ") WHERE " + column +
                  " IN (SELECT old FROM carried) AND " + config +
                  " NOT IN (SELECT id FROM config WHERE text = 'naive_2d wide=1');\n";
  };
  carry("winner", "family_fingerprint", "config");
  carry("trial", "family_fingerprint", "config");
  carry("lease", "in_flight_family_fingerprint", "in_flight");
  // A table whose rows are of another library's templates stays as it is.
  statements +=
      "UPDATE meta SET value = (SELECT new FROM carried WHERE old = value) "
      "WHERE value IN (SELECT old FROM carried);\n"
      "DROP TABLE carried;\n";
  return statements;
}

// Of winners that were carried on and have a binary.
struct WinnerWithBinary {
  std::int64_t kernel = 0;
  int backend = 0, compute_capability = 0, units = 0;
  std::string problem, family, knobs, fingerprint;
};

// Wide limits: they decide whether a config may run, and that was decided when it was tuned.
DeviceLimits limits_of(const WinnerWithBinary& winner) {
  DeviceLimits limits;
  limits.backend = backend_name(winner.backend);
  limits.arch = winner.compute_capability;
  limits.sm_count = winner.compute_capability > 0 ? winner.units : 0;
  limits.threads = winner.units;
  limits.simd_bits = std::numeric_limits<int>::max();
  limits.shared_bytes_per_block = std::numeric_limits<std::int32_t>::max();
  limits.shared_bytes_per_sm = std::numeric_limits<std::int32_t>::max();
  return limits;
}

std::optional<Source> source_of(const WinnerWithBinary& winner) {
  const Family* family = find_family(winner.family);
  const auto problem = parse_problem(winner.problem);
  const auto config = parse_config(winner.knobs);
  if (family == nullptr || family->fingerprint() != winner.fingerprint || !problem || !config ||
      !why_not(*problem).empty()) {
    return std::nullopt;
  }
  const Instantiation made = family->instantiate(*problem, *config, limits_of(winner));
  return made ? std::optional(made->source()) : std::nullopt;
}

// A source's fingerprint changes with the names of its file and of its defines, and no SQL can make
// it. A binary whose key is not made anew is not found, and is compiled anew when it is called for.
void carry_binaries(sqlite::Connection& connection) {
  std::vector<WinnerWithBinary> winners;
  {
    sqlite::Statement rows(
        connection,
        "SELECT w.kernel, d.backend, d.compute_capability, d.units, p.text, c.family, c.knobs, "
        "w.family_fingerprint FROM winner w JOIN device d ON d.id = w.device "
        "JOIN problem p ON p.id = w.problem JOIN config c ON c.id = w.config "
        "WHERE w.kernel IS NOT NULL");
    while (rows.step()) {
      WinnerWithBinary& winner = winners.emplace_back();
      rows.read(winner.kernel, winner.backend, winner.compute_capability, winner.units,
                winner.problem, winner.family, winner.knobs, winner.fingerprint);
    }
  }
  sqlite::Statement rename(connection, "UPDATE OR IGNORE kernel SET source = ? WHERE id = ?");
  for (const WinnerWithBinary& winner : winners) {
    if (const auto source = source_of(winner)) {
      rename.bind(fingerprint(*source), winner.kernel).run();
    }
  }
}

}  // namespace

std::span<const CarriedFamily> carried_families() {
  return kCarried;
}

Migration migration_to_version_2() {
  const std::string sql =
      "UPDATE config SET knobs = substr(" + renamed("' ' || knobs") +
      ", 2) WHERE family = 'wgmma';\n"
      "UPDATE config SET knobs = '' WHERE family = 'naive_2d' AND knobs = 'wide=0';\n"
      "UPDATE config SET text = rtrim(family || ' ' || knobs) "
      "WHERE family IN ('wgmma', 'naive_2d');\n"
      // One a line; no other family has knobs of these names.
      "UPDATE winner SET ties = replace(" +
      renamed("ties") + ", 'naive_2d wide=0', 'naive_2d');\n" + carry_fingerprints();
  return {sql, carry_binaries};
}

}  // namespace tunedgemm::internal

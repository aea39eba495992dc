// The views of the schema. The first seven are a public interface for people, and the last two are
// read by this library and older ones. Columns may be added at the end of a view; nothing else may
// change. SQLite keeps the comment behind AS, so `.schema` shows it.

#include <array>

#include "cache/record.h"
#include "cache/sqlite/schema.h"

namespace tunedgemm::internal {
namespace {

// CASE column WHEN 1 THEN 'compile failed' ... END, with the names that the library uses.
template <class Enum, std::size_t kCount>
std::string names_of(const std::string& column, const std::array<Enum, kCount>& enumerators) {
  std::string expression = "CASE " + column;
  for (const Enum enumerator : enumerators) {
    expression += " WHEN " + std::to_string(static_cast<int>(enumerator)) + " THEN '" +
                  std::string(name(enumerator)) + "'";
  }
  return expression + " END";
}

constexpr std::array kReasons{Reason::kCompileFailed, Reason::kSpills,      Reason::kLoadFailed,
                              Reason::kLaunchFailed,  Reason::kWrongResult, Reason::kOutOfBounds,
                              Reason::kTooSlow,       Reason::kTimedOut,    Reason::kCrashed,
                              Reason::kImplausible,   Reason::kUnavailable};
constexpr std::array kRigors{Rigor::kModel, Rigor::kQuick, Rigor::kNormal, Rigor::kExhaustive};

constexpr const char* kShape = "p.m, p.n, p.k, p.batch, p.types, p.layout, p.epilogue";

// The state of the winner w with the config c on the device d, in every view. Garbage collection
// (archive_gc.cpp) has tests of its own for void and replaced winners.
std::string state() {
  const std::string confirmed = std::to_string(static_cast<int>(Rigor::kNormal));
  return R"sql(
         CASE WHEN w.family_fingerprint <>
                   (SELECT value FROM meta WHERE name = 'family ' || c.family) THEN 'void'
              WHEN d.toolchain IS NOT w.toolchain THEN 'stale'
              WHEN w.complete AND w.rigor >= )sql" +
         confirmed + R"sql( THEN 'confirmed'
              ELSE 'provisional' END)sql";
}

// `graded` has the state of each winner. It also ranks the winners for the same problem and device,
// which have different toolchains. A call gets the winner with preference 1.
std::string graded() {
  return R"sql(WITH with_state AS MATERIALIZED (
  SELECT w.id, w.problem, w.device, w.tuned_at,)sql" +
         state() + R"sql( AS state
  FROM winner w
  JOIN device d ON d.id = w.device
  JOIN config c ON c.id = w.config
), graded AS (
  SELECT id, problem, device, state, row_number() OVER (
           PARTITION BY problem, device
           ORDER BY )sql" +
         std::string(kPreferredFirst) + R"sql(, id DESC) AS preference
  FROM with_state
)
)sql";
}

std::string best() {
  return "CREATE VIEW best AS" + head_comment("best") + graded() + "SELECT d.name AS device, " +
         kShape + R"sql(,
       c.text AS config,
       round(w.median_us, 2) AS median_us,
       round(p.flops / w.median_us / 1e6, 3) AS tflops,
       round(nullif(w.default_us, 0) / w.median_us, 2) AS vs_default,
       round(nullif(w.naive_us, 0) / w.median_us, 2) AS vs_naive,
       w.tie_count AS ties,
       g.state,
       )sql" +
         names_of("w.rigor", kRigors) + R"sql( AS rigor,
       w.tuned_at,
       p.details,
       w.problem,
       round(50.0 * (w.high_us - w.low_us) / w.median_us, 1) AS spread_percent,
       w.remark,
       c.family,
       p.type_a, p.type_b, p.type_d,
       round(w.low_us, 2) AS low_us,
       round(w.high_us, 2) AS high_us,
       w.candidates_tried AS candidates,
       round(w.spent_seconds, 1) AS seconds,
       coalesce(r.name, '') AS name,
       coalesce(r.calls, 0) AS calls,
       w.toolchain,
       round(nullif(w.vendor_us, 0) / w.median_us, 2) AS vs_vendor,
       w.vendor
FROM graded g
JOIN winner w ON w.id = g.id
JOIN config c ON c.id = w.config
JOIN problem p ON p.id = w.problem
JOIN device d ON d.id = w.device
LEFT JOIN request r ON r.problem = w.problem AND r.device = w.device
WHERE g.preference = 1
ORDER BY d.name, p.types, p.m, p.n, p.k, p.batch, p.id;
)sql";
}

std::string stale() {
  return "CREATE VIEW stale AS" + head_comment("stale") + graded() + "SELECT d.name AS device, " +
         kShape + R"sql(,
       c.text AS config,
       round(w.median_us, 2) AS median_us,
       t.compiler AS tuned_compiler, t.driver AS tuned_driver,
       now.compiler AS current_compiler, now.driver AS current_driver,
       w.tuned_at,
       w.problem
FROM graded g
JOIN winner w ON w.id = g.id
JOIN config c ON c.id = w.config
JOIN problem p ON p.id = w.problem
JOIN device d ON d.id = w.device
JOIN toolchain t ON t.id = w.toolchain
LEFT JOIN toolchain now ON now.id = d.toolchain
WHERE g.preference = 1 AND g.state = 'stale'
ORDER BY d.name, p.types, p.m, p.n, p.k, p.batch, p.id;
)sql";
}

// Not sorted: SQLite would sort a million rows, with all their columns, even to count them.
std::string trials() {
  return "CREATE VIEW trials AS" + head_comment("trials") + "SELECT d.name AS device, " + kShape +
         R"sql(,
       c.text AS config,
       CASE WHEN t.reason IS NOT NULL THEN 'rejected'
            WHEN t.final_round THEN 'finalist' ELSE 'screened' END AS status,
       )sql" +
         names_of("t.reason", kReasons) + R"sql( AS reason,
       round(t.median_us, 2) AS median_us,
       round(t.low_us, 2) AS low_us,
       round(t.high_us, 2) AS high_us,
       round(t.predicted_us, 2) AS predicted_us,
       round(t.max_error, 4) AS max_error,
       t.registers, t.shared_bytes, t.spill_bytes,
       round(t.compile_ms, 1) AS compile_ms,
       t.sm_clock_mhz,
       t.detail,
       t.tried_at,
       t.problem,
       t.toolchain
FROM trial t
JOIN problem p ON p.id = t.problem
JOIN device d ON d.id = t.device
JOIN config c ON c.id = t.config;
)sql";
}

std::string failures() {
  return "CREATE VIEW failures AS" + head_comment("failures") +
         R"sql(SELECT d.name AS device, c.family,
       )sql" +
         names_of("t.reason", kReasons) + R"sql( AS reason,
       count(*) AS candidates,
       count(DISTINCT t.problem) AS problems,
       max(t.tried_at) AS last_at,
       c.text AS example_config,
       substr(t.detail, 1, 200) AS example_detail
FROM trial t
JOIN device d ON d.id = t.device
JOIN config c ON c.id = t.config
WHERE t.reason IS NOT NULL
GROUP BY t.device, c.family, t.reason
ORDER BY candidates DESC, d.name, c.family;
)sql";
}

// The columns in which problems agree that policy `stored` may serve with one another's winners.
constexpr std::array kClass{"type_a", "type_b",     "type_d",   "order_a", "order_b", "beta",
                            "bias",   "activation", "numerics", "n",       "k",       "batch"};

// The nearest M for which a problem of the class of p was tuned on the device of r; null if there
// is none. SQLite accepts columns of p in the inner SELECT, but not in its ORDER BY.
std::string nearest_tuned_m() {
  std::string text =
      "(SELECT m FROM (SELECT q.m, max(1.0 + q.m, 1.0 + p.m) / min(1.0 + q.m, 1.0 + p.m) AS apart "
      "FROM problem q WHERE ";
  for (const std::string column : kClass) {
    text.append("q.").append(column).append(" = p.").append(column).append(" AND ");
  }
  return text +
         "EXISTS (SELECT 1 FROM winner w WHERE w.problem = q.id AND w.device = r.device) "
         "ORDER BY apart LIMIT 1))";
}

std::string missing() {
  return "CREATE VIEW missing AS" + head_comment("missing") + "SELECT d.name AS device, " + kShape +
         R"sql(,
       r.calls,
       round(r.calls * p.flops / 1e12, 3) AS teraflop_in_all,
       r.asked_at,
       p.details,
       r.problem,
       r.name,
       )sql" +
         nearest_tuned_m() + R"sql( AS nearest_tuned_m,
       p.text AS problem_text
FROM request r
JOIN problem p ON p.id = r.problem
JOIN device d ON d.id = r.device
WHERE NOT EXISTS (SELECT 1 FROM winner w WHERE w.problem = r.problem AND w.device = r.device)
ORDER BY r.calls * p.flops DESC, p.id;
)sql";
}

std::string coverage() {
  return "CREATE VIEW coverage AS" + head_comment("coverage") + graded() +
         R"sql(SELECT d.name AS device,
       count(g.problem) AS tuned,
       count(*) FILTER (WHERE g.state = 'confirmed') AS confirmed,
       count(*) FILTER (WHERE g.state = 'provisional') AS provisional,
       count(*) FILTER (WHERE g.state = 'stale') AS stale,
       count(*) FILTER (WHERE g.state = 'void') AS void,
       count(*) FILTER (WHERE g.problem IS NULL) AS missing,
       round(100.0 * count(g.problem) / count(*), 1) AS tuned_percent,
       coalesce(sum(known.calls) FILTER (WHERE g.problem IS NULL), 0) AS missing_calls,
       round(sum(w.spent_seconds), 1) AS tuning_seconds
FROM (SELECT problem, device, 0 AS calls FROM winner
      UNION
      SELECT problem, device, calls FROM request r
      WHERE NOT EXISTS (SELECT 1 FROM winner w WHERE w.problem = r.problem AND w.device = r.device)
     ) known
JOIN device d ON d.id = known.device
LEFT JOIN graded g ON g.problem = known.problem AND g.device = known.device AND g.preference = 1
LEFT JOIN winner w ON w.id = g.id
GROUP BY known.device
ORDER BY d.name;
)sql";
}

std::string for_programs() {
  return R"sql(
CREATE VIEW winner_v1 AS
-- For programs: the winners, with all that a call needs to know.
SELECT p.fingerprint AS problem_fingerprint, p.text AS problem_text,
       d.fingerprint AS device_fingerprint, d.backend, d.name AS device_name,
       d.compute_capability, d.units, d.memory_bytes, d.l2_bytes, d.clock_mhz, d.power_limit_watts,
       t.compiler, t.driver,
       c.family, c.knobs, w.family_fingerprint,
       w.median_us, w.low_us, w.high_us, w.samples,
       w.default_us, w.naive_us, w.runner_up_us, w.ties,
       w.rigor, w.candidates_tried, w.candidates_legal, w.complete,
       w.spent_seconds, w.compile_seconds, w.check_seconds, w.screen_seconds, w.finals_seconds,
       w.max_error, w.tuned_at,)sql" +
         state() + R"sql( AS state,
       p.m, p.n, p.k, p.batch, p.type_a, p.type_b, p.type_d, p.order_a, p.order_b,
       p.beta, p.bias, p.activation, p.numerics, w.remark, w.vendor_us, w.vendor
FROM winner w
JOIN problem p ON p.id = w.problem
JOIN device d ON d.id = w.device
JOIN toolchain t ON t.id = w.toolchain
JOIN config c ON c.id = w.config;

CREATE VIEW kernel_v1 AS
-- For programs: the binaries, by source, compiler and architecture.
SELECT source, compiler, architecture, entry, code, sha256,
       registers, shared_bytes, spill_bytes, compile_ms
FROM kernel;
)sql";
}

}  // namespace

std::string views() {
  return best() + trials() + failures() + missing() + stale() + coverage() + help_view() +
         for_programs();
}

}  // namespace tunedgemm::internal

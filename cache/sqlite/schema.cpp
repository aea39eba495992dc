#include "cache/sqlite/schema.h"

#include <algorithm>
#include <array>

namespace tunedgemm::internal {
namespace {

// Problems, devices, toolchains and configs have a table each. A unique column identifies the
// value, and other tables refer to it by id. Reasons and rigors are the numbers of the C++
// enumerators; the enumerators in a problem's fields are names. The columns of a problem's fields
// are for people and for searching; the library reads the problem itself from `text`.
constexpr const char* kFirstTables = R"sql(
CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,  -- "created by", "family mma": its fingerprint when last used
  value TEXT NOT NULL
) STRICT;

CREATE TABLE toolchain (
  id          INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  compiler    TEXT NOT NULL,
  driver      TEXT NOT NULL
) STRICT;

CREATE TABLE device (
  id                 INTEGER PRIMARY KEY,
  fingerprint        TEXT NOT NULL UNIQUE,
  backend            INTEGER NOT NULL,
  name               TEXT NOT NULL,
  compute_capability INTEGER NOT NULL,
  units              INTEGER NOT NULL,
  memory_bytes       INTEGER NOT NULL,
  l2_bytes           INTEGER NOT NULL,
  clock_mhz          INTEGER NOT NULL,
  power_limit_watts  INTEGER NOT NULL,
  toolchain          INTEGER REFERENCES toolchain  -- the one last seen on it
) STRICT;

CREATE TABLE problem (
  id            INTEGER PRIMARY KEY,
  fingerprint   TEXT NOT NULL UNIQUE,
  text          TEXT NOT NULL,
)sql";

// The remaining columns of `problem`, and the other tables.
constexpr const char* kOtherTables = R"sql(
  types         TEXT NOT NULL,  -- "f16→f16"
  layout        TEXT NOT NULL,  -- "nn"
  epilogue      TEXT NOT NULL,  -- "", "bias/col relu"
  details       TEXT NOT NULL,  -- what is unusual: "lda=4104 align_b=2"
  flops         REAL NOT NULL,
  minimum_bytes REAL NOT NULL
) STRICT;

CREATE INDEX problem_neighbours ON problem (
  type_a, type_b, type_d, order_a, order_b, beta, bias, activation, numerics, m, n, k, batch
);

CREATE TABLE config (
  id     INTEGER PRIMARY KEY,
  text   TEXT NOT NULL UNIQUE,  -- "mma block_m=128 block_n=256 ..."
  family TEXT NOT NULL,
  knobs  TEXT NOT NULL
) STRICT;

CREATE TABLE kernel (
  id           INTEGER PRIMARY KEY,
  source       TEXT NOT NULL,     -- the source's fingerprint
  compiler     TEXT NOT NULL,
  architecture INTEGER NOT NULL,
  entry        TEXT NOT NULL,
  code         BLOB NOT NULL,
  sha256       TEXT NOT NULL,     -- of `code`
  registers    INTEGER NOT NULL,
  shared_bytes INTEGER NOT NULL,
  spill_bytes  INTEGER NOT NULL,
  compile_ms   REAL NOT NULL,
  UNIQUE (source, compiler, architecture)
) STRICT;

CREATE TABLE trial (
  id                 INTEGER PRIMARY KEY,
  problem            INTEGER NOT NULL REFERENCES problem,
  device             INTEGER NOT NULL REFERENCES device,
  toolchain          INTEGER NOT NULL REFERENCES toolchain,
  config             INTEGER NOT NULL REFERENCES config,
  family_fingerprint TEXT NOT NULL,
  reason             INTEGER,            -- why it cannot win; null: it was measured
  detail             TEXT NOT NULL,
  median_us          REAL,               -- null: it was not measured
  low_us             REAL,
  high_us            REAL,
  samples            BLOB,               -- 32-bit floats, microseconds
  final_round        INTEGER NOT NULL,
  predicted_us       REAL NOT NULL,
  max_error          REAL NOT NULL,      -- relative to the bound: 1 is the limit
  registers          INTEGER NOT NULL,
  shared_bytes       INTEGER NOT NULL,
  spill_bytes        INTEGER NOT NULL,
  compile_ms         REAL NOT NULL,
  sm_clock_mhz       INTEGER NOT NULL,
  tried_at           TEXT NOT NULL,
  UNIQUE (problem, device, toolchain, config)
) STRICT;

CREATE TABLE winner (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,  -- a replaced row has a new one
  problem            INTEGER NOT NULL REFERENCES problem,
  device             INTEGER NOT NULL REFERENCES device,
  toolchain          INTEGER NOT NULL REFERENCES toolchain,
  config             INTEGER NOT NULL REFERENCES config,
  family_fingerprint TEXT NOT NULL,
  kernel             INTEGER REFERENCES kernel ON DELETE SET NULL,
  median_us          REAL NOT NULL,
  low_us             REAL NOT NULL,
  high_us            REAL NOT NULL,
  samples            BLOB NOT NULL,
  default_us         REAL NOT NULL,    -- 0: unknown, here and below
  naive_us           REAL NOT NULL,
  runner_up_us       REAL NOT NULL,
  tie_count          INTEGER NOT NULL,
  ties               TEXT NOT NULL,    -- one a line
  rigor              INTEGER NOT NULL,
  candidates_tried   INTEGER NOT NULL,
  candidates_legal   INTEGER NOT NULL,
  complete           INTEGER NOT NULL,
  spent_seconds      REAL NOT NULL,
  compile_seconds    REAL NOT NULL,
  check_seconds      REAL NOT NULL,
  screen_seconds     REAL NOT NULL,
  finals_seconds     REAL NOT NULL,
  max_error          REAL NOT NULL,
  tuned_at           TEXT NOT NULL,
  remark             TEXT NOT NULL,    -- why it is not the fastest that was measured; mostly empty
  vendor_us          REAL NOT NULL,    -- the vendor library's call, scaled to median_us
  vendor             TEXT NOT NULL,    -- that library and its version; empty: not compared
  UNIQUE (problem, device, toolchain)
) STRICT;

CREATE INDEX winner_kernel ON winner (kernel);

CREATE TABLE request (
  id       INTEGER PRIMARY KEY,
  problem  INTEGER NOT NULL REFERENCES problem,
  device   INTEGER NOT NULL REFERENCES device,
  calls    INTEGER NOT NULL,
  asked_at TEXT NOT NULL,              -- the last time
  name     TEXT NOT NULL,              -- such as those of layers: "query, key"; tuned ones too
  UNIQUE (problem, device)
) STRICT;

CREATE TABLE lease (
  id                 INTEGER PRIMARY KEY,
  problem            INTEGER NOT NULL REFERENCES problem,
  device             INTEGER NOT NULL REFERENCES device,
  toolchain          INTEGER NOT NULL REFERENCES toolchain,
  token              TEXT NOT NULL,    -- which lease of that process
  host               TEXT NOT NULL,
  boot               TEXT NOT NULL,
  pid                INTEGER NOT NULL,
  pid_started        INTEGER NOT NULL,
  renewed            INTEGER NOT NULL, -- seconds since 1970
  in_flight          INTEGER REFERENCES config,
  in_flight_family_fingerprint TEXT,
  UNIQUE (problem, device, toolchain)
) STRICT;
)sql";

constexpr std::array kTables{"config",  "device",  "kernel",    "lease", "meta",
                             "problem", "request", "toolchain", "trial", "winner"};
// Without `help`, which the files of earlier builds lack.
constexpr std::array kViewsForPeople{"best", "coverage", "failures", "missing", "stale", "trials"};
constexpr std::array kViewsForPrograms{"kernel_v1", "winner_v1"};

std::int64_t count_missing(sqlite::Connection& connection, const char* type,
                           std::span<const char* const> expected) {
  std::string names;
  for (const char* name : expected) {
    names += std::string(names.empty() ? "'" : ", '") + name + "'";
  }
  return static_cast<std::int64_t>(expected.size()) -
         connection.integer("SELECT count(DISTINCT name) FROM sqlite_schema WHERE type = '" +
                            std::string(type) + "' AND name IN (" + names + ")");
}

}  // namespace

void check_names(sqlite::Connection& connection) {
  const std::int64_t missing = count_missing(connection, "table", kTables) +
                               count_missing(connection, "view", kViewsForPeople) +
                               count_missing(connection, "view", kViewsForPrograms);
  if (missing != 0) {
    throw sqlite::Error(SQLITE_CORRUPT, std::to_string(missing) + " tables or views are missing");
  }
  // Refuse triggers: our statements would run them, and a trigger might never end.
  if (connection.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'") != 0) {
    throw sqlite::Error(SQLITE_CORRUPT, "there are triggers, which this library never creates");
  }
}

void check_schema(sqlite::Connection& connection) {
  check_names(connection);
  auto whole = sqlite::Connection::in_memory();
  create_schema(whole);
  // Preparing a statement fails if a column is missing.
  const auto check_columns = [&](const char* name) {
    std::string columns;
    for (const std::string& column : whole.column_names(name)) {
      columns += (columns.empty() ? "" : ", ") + column;
    }
    const sqlite::Statement statement(connection, "SELECT " + columns + " FROM " + name);
  };
  std::for_each(kTables.begin(), kTables.end(), check_columns);
  std::for_each(kViewsForPrograms.begin(), kViewsForPrograms.end(), check_columns);
  // A view for people keeps the columns of the library that made the file.
  for (const char* view : kViewsForPeople) {
    const sqlite::Statement statement(connection, std::string("SELECT * FROM ") + view);
  }
}

void create_schema(sqlite::Connection& connection) {
  sqlite::Transaction transaction(connection);
  connection.execute(kFirstTables + problem_column_definitions() + kOtherTables + views());
  connection.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  connection.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  transaction.commit();
}

}  // namespace tunedgemm::internal

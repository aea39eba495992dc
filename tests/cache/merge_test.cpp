// Store::merge: the rows taken from another cache, and the choice between two winners.

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

struct Winner {
  std::int64_t m;
  double median_us = 12.5;
  Rigor rigor = Rigor::kNormal;
  int block_m = 64;
  std::string tuned_at = "2026-01-01 10:00:00";
};

void put(Store& store, const Winner& winner) {
  Record record = sample::record(winner.m, winner.median_us, winner.rigor);
  record.config = sample::trial(winner.block_m, 1).config;
  record.tuned_at = winner.tuned_at;
  REQUIRE(store
              .put(record, sample::source(winner.m),
                   sample::binary(300, static_cast<int>(winner.m)),
                   {sample::trial(64, winner.median_us + 1), sample::trial(128, winner.median_us)})
              .stored);
}

void fill(const fs::path& path, const std::vector<Winner>& winners) {
  const auto store = Store::open(sample::options(path));
  for (const Winner& winner : winners) {
    put(*store, winner);
  }
}

// All rows that a merge may change, without their ids; the winners first.
std::vector<std::string> rows(const fs::path& path) {
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 0);
  std::vector<std::string> all;
  for (const char* query :
       {"SELECT p.fingerprint || d.fingerprint || t.fingerprint || c.text || w.median_us || "
        "w.rigor "
        "|| w.tuned_at || w.remark || w.vendor_us || w.vendor || ifnull(k.source, '') || "
        "hex(w.samples) FROM winner w "
        "JOIN problem p ON p.id = w.problem JOIN device d ON d.id = w.device JOIN toolchain t ON "
        "t.id = w.toolchain JOIN config c ON c.id = w.config LEFT JOIN kernel k ON k.id = w.kernel",
        "SELECT p.fingerprint || d.fingerprint || t.fingerprint || c.text || ifnull(x.median_us, "
        "'') || ifnull(x.reason, '') || x.detail || x.final_round || x.tried_at FROM trial x JOIN "
        "problem p ON p.id = x.problem "
        "JOIN device d ON d.id = x.device JOIN toolchain t ON t.id = x.toolchain "
        "JOIN config c ON c.id = x.config",
        "SELECT source || compiler || architecture || sha256 FROM kernel",
        "SELECT name || ifnull(toolchain, '') FROM device"}) {
    sqlite::Statement found(connection, std::string(query) + " ORDER BY 1");
    while (found.step()) {
      found.read(all.emplace_back());
    }
  }
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
  CHECK(connection.text("PRAGMA foreign_key_check").empty());
  return all;
}

std::optional<Record> find(const Store& store, std::int64_t m) {
  auto hit = store.find(sample::key(m), sample::limits());
  return hit ? std::optional(hit->record) : std::nullopt;
}

}  // namespace

TEST_CASE("A merge adds missing winners, trials and binaries, and the store finds them") {
  const TemporaryFolder folder;
  const fs::path ours = folder.path() / "ours.db", theirs = folder.path() / "theirs.db";
  fill(ours, {{.m = 1}});
  fill(theirs, {{.m = 2}, {.m = 3}});
  const auto store = Store::open(sample::options(ours));
  CHECK_FALSE(find(*store, 2));
  const MergeResult result = store->merge(theirs);
  CHECK(result.failure == "");
  CHECK(result.winners == 2);
  CHECK(result.trials == 4);
  CHECK(result.binaries == 2);
  CHECK(result.conflicts.empty());
  REQUIRE(result.found.size() == 2);
  CHECK(result.found[0].median_us == 12.5);
  CHECK(result.found[0].key != result.found[1].key);
  for (const int m : {1, 2, 3}) {
    CHECK(find(*store, m));
    CHECK(store->find_binary(sample::source(m), sample::toolchain(), 90));
    CHECK(store->trials(sample::key(m)).size() == 2);
  }
}

TEST_CASE("Merging a file again changes nothing, in either direction") {
  const TemporaryFolder folder;
  const fs::path ours = folder.path() / "ours.db", theirs = folder.path() / "theirs.db";
  fill(ours, {{.m = 1}, {.m = 2, .median_us = 9, .block_m = 128}});
  fill(theirs, {{.m = 2, .tuned_at = "2026-02-01 10:00:00"}, {.m = 3}});
  const auto merge = [](const fs::path& into, const fs::path& from) {
    MergeResult result = Store::open(sample::options(into))->merge(from);
    CHECK(result.failure == "");
    return result;
  };
  merge(ours, theirs);
  const auto once = rows(ours);
  const MergeResult again = merge(ours, theirs);
  CHECK(again.winners == 0);
  CHECK(again.trials == 0);
  CHECK(again.binaries == 0);
  CHECK(rows(ours) == once);
  merge(theirs, ours);
  const auto back = rows(theirs);
  merge(theirs, ours);
  CHECK(rows(theirs) == back);
  CHECK(back.size() == once.size());
  CHECK(std::equal(once.begin(), once.begin() + 3, back.begin()));  // the three winners
}

TEST_CASE("Merging conflicting files gives the same rows in any order, once or twice") {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() / (name + ".db"); };
  const auto change = [&](const std::string& name, const std::string& statements) {
    sqlite::Connection::open(path(name), sqlite::Connection::Mode::kReadWrite, 0)
        .execute(statements);
  };
  const std::string at_once = "UPDATE trial SET tried_at = '2026-01-01 10:00:00'";
  // Problem 1: the tunings end in the same second, with two configs, or differ only in a text.
  // Problem 2: the winner's tuning is older than another one of the same candidates.
  fill(path("first"), {{.m = 1}, {.m = 2, .rigor = Rigor::kExhaustive}});
  change("first", at_once);
  fill(path("slower"), {{.m = 1, .median_us = 13, .block_m = 128}, {.m = 2, .median_us = 11}});
  change("slower", at_once +
                       "; UPDATE trial SET tried_at = '2026-01-01 11:00:00' WHERE problem = "
                       "(SELECT id FROM problem WHERE m = 2)");
  fill(path("remark"), {{.m = 1}, {.m = 2, .median_us = 10, .rigor = Rigor::kQuick}});
  change("remark", at_once +
                       "; UPDATE winner SET remark = 'another'; "
                       "UPDATE trial SET median_us = NULL, reason = 6, detail = 'wrote there'");
  // The same tuning as in "first", of which the binaries and a trial were lost.
  fs::copy_file(path("first"), path("damaged"));
  change("damaged",
         "UPDATE kernel SET code = zeroblob(300); DELETE FROM trial WHERE id = 1; "
         "UPDATE trial SET final_round = 0 WHERE id = 2");
  const auto merge = [](const fs::path& into, const fs::path& from) {
    CHECK(Store::open(sample::options(into))->merge(from).failure == "");
  };
  std::vector<std::string> order{"damaged", "first", "remark", "slower"};
  std::vector<std::string> expected;
  do {
    CAPTURE(order);
    const fs::path all = path("all"), half = path("half");
    for (const std::string& name : order) {
      merge(all, path(name));
    }
    if (expected.empty()) {
      expected = rows(all);
    }
    CHECK(rows(all) == expected);
    for (const std::string& name : order) {
      merge(all, path(name));
    }
    CHECK(rows(all) == expected);
    // Merge the last two files first, into another cache.
    merge(half, path(order[2]));
    merge(half, path(order[3]));
    fs::remove(all);
    merge(all, path(order[0]));
    merge(all, half);
    merge(all, path(order[1]));
    CHECK(rows(all) == expected);
    fs::remove(all);
    fs::remove(half);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("The better-measured of two winners for one problem stays, and both are reported") {
  struct Case {
    Winner ours, theirs;
    bool is_taken;
  };
  const auto [ours, theirs, is_taken] = GENERATE_COPY(
      Case{{.m = 1, .rigor = Rigor::kQuick}, {.m = 1, .median_us = 13, .block_m = 128}, true},
      Case{{.m = 1}, {.m = 1, .median_us = 3, .rigor = Rigor::kQuick, .block_m = 128}, false},
      Case{{.m = 1},
           {.m = 1, .median_us = 14, .block_m = 128, .tuned_at = "2026-02-01 10:00:00"},
           true},
      Case{{.m = 1},
           {.m = 1, .median_us = 3, .block_m = 128, .tuned_at = "2025-02-01 10:00:00"},
           false});
  const TemporaryFolder folder;
  fill(folder.path() / "ours.db", {ours});
  fill(folder.path() / "theirs.db", {theirs});
  const auto store = Store::open(sample::options(folder.path() / "ours.db"));
  REQUIRE(find(*store, 1));
  const MergeResult result = store->merge(folder.path() / "theirs.db");
  CHECK(result.failure == "");
  REQUIRE(result.conflicts.size() == 1);
  const MergeConflict& conflict = result.conflicts.front();
  REQUIRE(result.found.size() == 1);
  CHECK(result.found.front().key == conflict.key);
  CHECK(result.found.front().median_us == theirs.median_us);
  CHECK(conflict.problem == to_text(sample::problem(1)));
  CHECK(conflict.device == "Sample GPU");
  CHECK(conflict.is_taken == is_taken);
  CHECK(conflict.ours.config == "sample block_m=64");
  CHECK(conflict.ours.median_us == ours.median_us);
  CHECK(conflict.theirs.config == "sample block_m=128");
  CHECK(conflict.theirs.median_us == theirs.median_us);
  CHECK(conflict.theirs.ties ==
        std::vector<std::string>{"sample block_m=64", "sample block_m=256"});
  CHECK(result.winners == (is_taken ? 1 : 0));
  CHECK(find(*store, 1)->measurement.median_us == (is_taken ? theirs : ours).median_us);
  // The views show the winner's finals.
  auto connection =
      sqlite::Connection::open(folder.path() / "ours.db", sqlite::Connection::Mode::kReadOnly, 0);
  CHECK(connection.integer("SELECT count(*) FROM best") == 1);
}

TEST_CASE("Of two copies of one winner, a merge keeps the one that was compared") {
  const TemporaryFolder folder;
  const fs::path plain = folder.path() / "plain.db", compared = folder.path() / "compared.db";
  fill(plain, {{.m = 1}});
  fill(compared, {{.m = 1}});
  {
    const auto store = Store::open(sample::options(compared));
    Record winner = *find(*store, 1);
    winner.vendor_us = 14;
    winner.vendor = "cuBLASLt 13.1.0";
    store->put_comparison(winner);
  }
  for (const auto& [into, from] : {std::pair(plain, compared), std::pair(compared, plain)}) {
    const auto store = Store::open(sample::options(into));
    CHECK(store->merge(from).conflicts.empty());
    CHECK(find(*store, 1)->vendor_us == 14);
    CHECK(find(*store, 1)->vendor == "cuBLASLt 13.1.0");
    CHECK(store->trials(sample::key(1)).front().final_round);
  }
}

TEST_CASE("A winner of a current template is better than one of an outdated template") {
  const TemporaryFolder folder;
  auto old_options = sample::options(folder.path() / "theirs.db");
  old_options.find_family = sample::find_old;
  {
    const auto store = Store::open(old_options);
    Record record = sample::record(1, 3);
    record.family_fingerprint = sample::family(1).fingerprint();
    record.tuned_at = "2026-09-01 10:00:00";
    CHECK(store->put(record, sample::source(1), sample::binary(), {}).stored);
  }
  fill(folder.path() / "ours.db", {{.m = 1, .rigor = Rigor::kQuick}});
  const auto store = Store::open(sample::options(folder.path() / "ours.db"));
  CHECK(store->merge(folder.path() / "theirs.db").winners == 0);
  CHECK(find(*store, 1)->rigor == Rigor::kQuick);
}

TEST_CASE("A binary whose hash is wrong is not merged") {
  const TemporaryFolder folder;
  const fs::path theirs = folder.path() / "theirs.db";
  fill(theirs, {{.m = 1}, {.m = 2}});
  sqlite::Connection::open(theirs, sqlite::Connection::Mode::kReadWrite, 0)
      .execute("UPDATE kernel SET code = zeroblob(300) WHERE id = 1");
  const auto store = Store::open(sample::options(folder.path() / "ours.db"));
  const MergeResult result = store->merge(theirs);
  CHECK(result.failure == "");
  CHECK(result.winners == 2);
  CHECK(result.binaries == 1);
  CHECK_FALSE(store->find_binary(sample::source(1), sample::toolchain(), 90));
  CHECK(find(*store, 1));
}

TEST_CASE("A file that cannot be merged is refused with a sentence, and nothing changes") {
  const TemporaryFolder folder;
  const fs::path ours = folder.path() / "ours.db", other = folder.path() / "other.db";
  fill(ours, {{.m = 1}});
  const auto before = rows(ours);
  const auto store = Store::open(sample::options(ours));
  const auto refused = [&](const fs::path& path, const char* why) {
    const MergeResult result = store->merge(path);
    CHECK_THAT(result.failure, ContainsSubstring(why));
    CHECK(result.winners + result.trials + result.binaries == 0);
    CHECK(rows(ours) == before);
  };
  refused(other, "could not be merged");
  refused(ours, "is the cache itself");
  std::ofstream(other) << "a text";
  refused(other, "not a database");
  fill(folder.path() / "newer.db", {{.m = 2}});
  sqlite::Connection::open(folder.path() / "newer.db", sqlite::Connection::Mode::kReadWrite, 0)
      .execute("PRAGMA user_version = 99");
  refused(folder.path() / "newer.db", "newer version");
  sqlite::Connection::open(folder.path() / "newer.db", sqlite::Connection::Mode::kReadWrite, 0)
      .execute("PRAGMA application_id = 1");
  refused(folder.path() / "newer.db", "a file of another program");
  fill(folder.path() / "cut.db", {{.m = 2}, {.m = 3}, {.m = 4}, {.m = 5}});
  fs::resize_file(folder.path() / "cut.db", fs::file_size(folder.path() / "cut.db") / 2);
  refused(folder.path() / "cut.db", "cut.db");
  fs::permissions(folder.path() / "newer.db", fs::perms::others_write, fs::perm_options::add);
  refused(folder.path() / "newer.db", "is not used");
  auto in_memory = sample::options(ours);
  in_memory.access = StoreOptions::Access::kReadOnly;
  CHECK_THAT(Store::open(in_memory)->merge(other).failure, ContainsSubstring("cannot be written"));
}

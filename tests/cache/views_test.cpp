// The views, as users see them: the sqlite3 command runs every query of the documentation on a file
// that the library has written.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "cache/store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

struct Outcome {
  int status = 0;
  std::string output;
};

// The shell's output of the command, errors included.
Outcome shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> bytes{};
  while (const std::size_t count = fread(bytes.data(), 1, bytes.size(), pipe)) {
    outcome.output.append(bytes.data(), count);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

bool has_sqlite3() {
  return shell("command -v sqlite3").status == 0;
}

Outcome query(const fs::path& database, const std::string& sql) {
  const fs::path file = database.parent_path() / "query.sql";
  std::ofstream(file) << sql;
  return shell("sqlite3 -readonly -header -separator ' | ' '" + database.string() + "' < '" +
               file.string() + "'");
}

// A database with rows for each of the views.
fs::path make_database(const fs::path& folder) {
  fs::path path = folder / "tunedgemm.db";
  const auto store = Store::open(sample::options(path));
  const auto put = [&](const Record& record, const std::vector<TrialRecord>& trials) {
    CHECK(store->put(record, sample::source(), sample::binary(), trials).stored);
  };
  TrialRecord screened = sample::trial(256, 31);
  screened.final_round = false;
  put(sample::record(512), {sample::trial(128, 12.5), sample::trial(64, 14), screened,
                            sample::rejected(32, Reason::kWrongResult)});
  Record quick = sample::record(64, 5, Rigor::kQuick);
  quick.problem = sample::changed(quick.problem, [](Problem& problem) {
    problem.bias = Bias::kPerColumn;
    problem.activation = Activation::kRelu;
    problem.a.leading_dimension += 8;
  });
  quick.vendor_us = 6;
  quick.vendor = "cuBLASLt 13.1.0";
  put(quick, {sample::trial(128, 5)});
  // This winner was not the fastest in its finals, as its remark says.
  Record old = sample::record(2048, 50);
  old.toolchain = {"nvrtc 12.4", "535.1"};
  put(old, {sample::trial(128, 50), sample::trial(64, 49)});
  put(sample::record(1024, 25), {});
  Record changed = sample::record(4096, 100);
  changed.family = "other";
  changed.family_fingerprint = "before";
  put(changed, {});
  changed.problem = sample::problem(4097);
  changed.family_fingerprint = "after";
  put(changed, {});
  store->note_request(sample::problem(8192), sample::device(), 1);
  store->note_request(sample::problem(8192), sample::device(), 1);
  // Requests stay after the tuning, with their names.
  store->note_request(sample::problem(512), sample::device(), 7, "decoder.mlp");
  store->note_request(sample::problem(1024), sample::device(), 3, "encoder.mlp");
  return path;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The texts between "```<language>" and "```".
std::vector<std::string> fences(const std::string& page, const std::string& language) {
  std::vector<std::string> found;
  const std::string opening = "```" + language + "\n";
  for (std::size_t at = page.find(opening); at != std::string::npos; at = page.find(opening, at)) {
    at += opening.size();
    const std::size_t end = page.find("```", at);
    found.push_back(page.substr(at, end - at));
    at = end;
  }
  return found;
}

fs::path root() {
  return TUNEDGEMM_SOURCE_FOLDER;
}

// A question of cache/README.md, and the answer for make_database().
struct Question {
  const char* begins;
  const char* answer;
};
constexpr std::array kQuestions{
    Question{"Which shapes are the slowest?",
             "m | n | k | types | median_us | config\n"
             "4096 | 4096 | 1024 | f16→f16 | 100.0 | other block_m=128\n"
             "4097 | 4096 | 1024 | f16→f16 | 100.0 | other block_m=128\n"
             "2048 | 4096 | 1024 | f16→f16 | 50.0 | sample block_m=128\n"
             "1024 | 4096 | 1024 | f16→f16 | 25.0 | sample block_m=128\n"
             "512 | 4096 | 1024 | f16→f16 | 12.5 | sample block_m=128\n"
             "64 | 4096 | 1024 | f16→f16 | 5.0 | sample block_m=128\n"},
    Question{"Which layers are the slowest?",
             "name | m | n | k | types | median_us\n"
             "encoder.mlp | 1024 | 4096 | 1024 | f16→f16 | 25.0\n"
             "decoder.mlp | 512 | 4096 | 1024 | f16→f16 | 12.5\n"},
    Question{"Which shapes use the device worst?",
             "m | n | k | types | tflops | percent_of_fastest\n"
             "64 | 4096 | 1024 | f16→f16 | 107.374 | 31.2\n"
             "512 | 4096 | 1024 | f16→f16 | 343.597 | 100.0\n"
             "1024 | 4096 | 1024 | f16→f16 | 343.597 | 100.0\n"
             "2048 | 4096 | 1024 | f16→f16 | 343.597 | 100.0\n"
             "4096 | 4096 | 1024 | f16→f16 | 343.597 | 100.0\n"
             "4097 | 4096 | 1024 | f16→f16 | 343.681 | 100.0\n"},
    Question{"Which winners are the noisiest?",
             "m | n | k | types | median_us | low_us | high_us | spread_percent\n"
             "64 | 4096 | 1024 | f16→f16 | 5.0 | 4.5 | 5.5 | 10.0\n"
             "512 | 4096 | 1024 | f16→f16 | 12.5 | 12.0 | 13.0 | 4.0\n"
             "1024 | 4096 | 1024 | f16→f16 | 25.0 | 24.5 | 25.5 | 2.0\n"
             "2048 | 4096 | 1024 | f16→f16 | 50.0 | 49.5 | 50.5 | 1.0\n"
             "4096 | 4096 | 1024 | f16→f16 | 100.0 | 99.5 | 100.5 | 0.5\n"
             "4097 | 4096 | 1024 | f16→f16 | 100.0 | 99.5 | 100.5 | 0.5\n"},
    Question{
        "Which candidates were rejected",
        "m | n | k | types | config | reason | detail\n"
        "512 | 4096 | 1024 | f16→f16 | sample block_m=32 | wrong result | because of the test\n"},
    Question{"By how much are the winners faster",
             "m | n | k | types | vs_default | config\n"
             "64 | 4096 | 1024 | f16→f16 | 4.0 | sample block_m=128\n"
             "512 | 4096 | 1024 | f16→f16 | 1.6 | sample block_m=128\n"
             "1024 | 4096 | 1024 | f16→f16 | 0.8 | sample block_m=128\n"
             "2048 | 4096 | 1024 | f16→f16 | 0.4 | sample block_m=128\n"
             "4096 | 4096 | 1024 | f16→f16 | 0.2 | other block_m=128\n"
             "4097 | 4096 | 1024 | f16→f16 | 0.2 | other block_m=128\n"},
    Question{
        "Which winners were tuned with an old",
        "m | n | k | types | tuned_compiler | tuned_driver | current_compiler | current_driver\n"
        "2048 | 4096 | 1024 | f16→f16 | nvrtc 12.4 | 535.1 | nvrtc 13.0 | 580.65\n"},
    Question{"Which problems were never tuned?",
             "m | n | k | types | calls | teraflop_in_all | nearest_tuned_m\n"
             "8192 | 4096 | 1024 | f16→f16 | 2 | 0.137 | 4097\n"},
    Question{"Which problems were asked for most?",
             "m | n | k | types | name | calls | state\n"
             "512 | 4096 | 1024 | f16→f16 | decoder.mlp | 7 | tuned\n"
             "1024 | 4096 | 1024 | f16→f16 | encoder.mlp | 3 | tuned\n"
             "8192 | 4096 | 1024 | f16→f16 |  | 2 | missing\n"},
    Question{"Is the winner the fastest",
             "m | n | k | types | config | median_us | fastest | fastest_us | remark\n"
             "2048 | 4096 | 1024 | f16→f16 | sample block_m=128 | 50.0 | sample block_m=64 | "
             "49.0 | kept: default, too few rounds to tell\n"},
    Question{"What did the tuning cost?",
             "device | winners | candidates | seconds\n"
             "Sample GPU | 6 | 48 | 9.0\n"},
};

}  // namespace

TEST_CASE("The view best is readable by a person who never saw the schema") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto outcome = query(make_database(folder.path()), "SELECT * FROM best;");
  CHECK(outcome.status == 0);
  INFO(outcome.output);
  CHECK_THAT(outcome.output,
             ContainsSubstring(
                 "device | m | n | k | batch | types | layout | epilogue | config | "
                 "median_us | tflops | vs_default | vs_naive | ties | state | rigor "
                 "| tuned_at | details | problem | spread_percent | remark | family | type_a "
                 "| type_b | type_d | low_us | high_us | candidates | seconds | name "
                 "| calls | toolchain | vs_vendor | vendor\n"));
  CHECK_THAT(outcome.output,
             ContainsSubstring("Sample GPU | 512 | 4096 | 1024 | 1 | f16→f16 | nt |  | "
                               "sample block_m=128 | 12.5 | 343.597 | 1.6 | 32.0 | 2 | confirmed "
                               "| normal | 20"));
  CHECK_THAT(outcome.output,
             ContainsSubstring("| 4.0 | kept: default, too few rounds to tell | sample | f16 | f16 "
                               "| f16 | 12.0 | 13.0 | 8 | 1.5 | decoder.mlp | 7 |"));
  CHECK_THAT(outcome.output, ContainsSubstring(" bias/col relu | sample block_m=128 | 5.0 |"));
  CHECK_THAT(outcome.output, ContainsSubstring("| provisional | quick |"));
  CHECK_THAT(outcome.output, ContainsSubstring("| 1.2 | cuBLASLt 13.1.0\n"));
  CHECK_THAT(outcome.output, ContainsSubstring("| lda=1032 |"));
  CHECK_THAT(outcome.output, ContainsSubstring("| stale | normal |"));
  CHECK_THAT(outcome.output, ContainsSubstring("| void | normal |"));
}

TEST_CASE("The view help has each view for people and each of its columns, in their order") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto path = make_database(folder.path());
  const auto rows = [&](const std::string& sql) {
    const auto outcome = query(path, sql);
    CHECK(outcome.status == 0);
    return outcome.output;
  };
  const std::string views =
      "FROM sqlite_schema v WHERE v.type = 'view' AND v.name NOT GLOB '*_v1' ORDER BY v.rowid";
  const std::string described = rows("SELECT view, column FROM help WHERE column <> '';");
  CHECK_THAT(described, ContainsSubstring("best | spread_percent\n"));
  CHECK(described == rows("SELECT v.name AS view, c.name AS column FROM (SELECT v.* " + views +
                          ") v CROSS JOIN pragma_table_info(v.name) c;"));
  CHECK(rows("SELECT view FROM help WHERE column = '';") == rows("SELECT v.name AS view " + views));
  CHECK(rows("SELECT unit, meaning FROM help WHERE view = 'best' AND column = 'seconds';") ==
        "unit | meaning\ns | time that the tuning took\n");
  CHECK(rows("SELECT * FROM help WHERE meaning = '' OR length(meaning) > 100;").empty());
  // One unit for columns of one ending.
  CHECK(rows("SELECT * FROM help WHERE column GLOB '*_us' AND unit <> 'us' "
             "OR column GLOB '*_bytes' AND unit <> 'bytes' "
             "OR column GLOB '*_percent' AND unit <> 'percent';")
            .empty());
}

TEST_CASE("The text of every view begins with a comment") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto path = make_database(folder.path());
  const auto schema_of = [&](const std::string& view) {
    return shell("sqlite3 -readonly '" + path.string() + "' '.schema " + view + "'").output;
  };
  for (const char* view :
       {"best", "trials", "failures", "missing", "stale", "coverage", "winner_v1", "kernel_v1"}) {
    CHECK_THAT(schema_of(view),
               Catch::Matchers::StartsWith("CREATE VIEW " + std::string(view) + " AS\n-- "));
  }
  CHECK_THAT(schema_of("help"), ContainsSubstring(" AS\n-- "));
  CHECK_THAT(schema_of("stale"), ContainsSubstring("-- A row is a winner that was tuned with"));
}

TEST_CASE("The other views show what was tried, failed, is missing, stale and covered") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto path = make_database(folder.path());
  const auto answer = [&](const std::string& sql) {
    const auto outcome = query(path, sql);
    CHECK(outcome.status == 0);
    return outcome.output.substr(outcome.output.find('\n') + 1);
  };
  CHECK(answer("SELECT config, status, reason, median_us FROM trials WHERE m = 512 "
               "ORDER BY reason, status, median_us;") ==
        "sample block_m=128 | finalist |  | 12.5\nsample block_m=64 | finalist |  | 14.0\n"
        "sample block_m=256 | screened |  | 31.0\n"
        "sample block_m=32 | rejected | wrong result | \n");
  CHECK(answer("SELECT family, reason, candidates, example_detail FROM failures;") ==
        "sample | wrong result | 1 | because of the test\n");
  CHECK(answer("SELECT m, calls, teraflop_in_all FROM missing;") == "8192 | 2 | 0.137\n");
  CHECK(answer("SELECT m, nearest_tuned_m FROM missing;") == "8192 | 4097\n");
  CHECK(answer("SELECT m, tuned_driver, current_driver FROM stale;") == "2048 | 535.1 | 580.65\n");
  CHECK(answer("SELECT tuned, confirmed, provisional, stale, void, missing, tuned_percent, "
               "missing_calls FROM coverage;") == "6 | 3 | 1 | 1 | 1 | 1 | 85.7 | 2\n");
}

TEST_CASE("The view missing has the nearest tuned M of the same class and device") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "tunedgemm.db";
  const CanonicalProblem wanted = sample::problem(100);
  {
    const auto store = Store::open(sample::options(path));
    const auto put = [&](const Record& record) {
      CHECK(store->put(record, sample::source(), sample::binary(), {}).stored);
    };
    put(sample::record(10));
    put(sample::record(150));  // the nearest by ratio, not by difference
    put(sample::record(60));
    // These are nearer, but must not count: another class, another device.
    Record other = sample::record(101);
    other.problem = sample::changed(other.problem, [](Problem& problem) { problem.k = 1025; });
    put(other);
    other = sample::record(102);
    other.problem = sample::changed(
        other.problem, [](Problem& problem) { problem.activation = Activation::kRelu; });
    put(other);
    other = sample::record(103);
    other.device.name = "Another GPU";
    put(other);
    store->note_request(wanted, sample::device(), 1);
    const CanonicalProblem alone =
        sample::changed(wanted, [](Problem& problem) { problem.batch = 2; });
    store->note_request(alone, sample::device(), 1);
  }
  CHECK(query(path, "SELECT batch, nearest_tuned_m FROM missing ORDER BY batch;").output ==
        "batch | nearest_tuned_m\n1 | 150\n2 | \n");
}

TEST_CASE("The views name reasons and rigors as the library does") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "tunedgemm.db";
  std::string reasons, rigors;
  {
    const auto store = Store::open(sample::options(path));
    std::vector<TrialRecord> trials;
    // All numbers that this version stores.
    for (int number = 1; number <= 11; ++number) {
      const auto reason = static_cast<Reason>(number);
      trials.push_back(sample::rejected(number, reason));
      reasons += std::to_string(number) + " | " + std::string(name(reason)) + "\n";
    }
    CHECK(store->put(sample::record(512), sample::source(), sample::binary(), trials).stored);
    for (const Rigor rigor : {Rigor::kQuick, Rigor::kNormal, Rigor::kExhaustive}) {
      const int m = 100 * static_cast<int>(rigor);
      CHECK(store->put(sample::record(m, 5, rigor), sample::source(), sample::binary(), {}).stored);
      rigors += std::to_string(m) + " | " + std::string(name(rigor)) + "\n";
    }
  }
  CHECK(query(path,
              "SELECT CAST(substr(config, length('sample block_m=') + 1) AS INTEGER) AS n, reason "
              "FROM trials WHERE status = 'rejected' ORDER BY n;")
            .output == "n | reason\n" + reasons);
  CHECK(query(path, "SELECT m, rigor FROM best WHERE m < 500 ORDER BY m;").output ==
        "m | rigor\n" + rigors);
}

TEST_CASE("The view best shows the winner that a call would get among several") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto path = folder.path() / "tunedgemm.db";
  const auto store = Store::open(sample::options(path));
  for (const char* driver : {"580", "535", "580"}) {
    Record record = sample::record(64, std::string(driver) == "580" ? 10 : 20);
    record.toolchain = sample::toolchain(driver);
    CHECK(store->put(record, sample::source(), sample::binary(), {}).stored);
  }
  const std::string sql = "SELECT median_us, state FROM best;";
  CHECK(query(path, sql).output == "median_us | state\n10.0 | confirmed\n");
  // A process that uses the device with another driver makes that driver the current one.
  CHECK(store->find({sample::problem(64), sample::device(), sample::toolchain("535")},
                    sample::limits()));
  store->flush();
  CHECK(query(path, sql).output == "median_us | state\n20.0 | confirmed\n");
}

TEST_CASE("The views and the store name the state of a winner alike") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto path = make_database(folder.path());
  const auto words_of_store = [&] {
    StoreOptions reading = sample::options(path);
    reading.access = StoreOptions::Access::kReadOnly;
    std::map<std::int64_t, std::string> words;
    for (const auto& [record, state, name] : Store::open(reading)->winners_with_state()) {
      words[record.problem->m] = state;
    }
    std::string text;
    for (const auto& [m, state] : words) {
      text += std::to_string(m) + " | " + state + "\n";
    }
    return text;
  };
  const auto words_of_view = [&] {
    const std::string output = query(path, "SELECT m, state FROM best ORDER BY m;").output;
    return output.substr(output.find('\n') + 1);
  };
  CHECK(words_of_view() ==
        "64 | provisional\n512 | confirmed\n1024 | confirmed\n2048 | stale\n4096 | void\n"
        "4097 | confirmed\n");
  CHECK(words_of_store() == words_of_view());
  // A library with another template changes the states merely by opening the file.
  StoreOptions older = sample::options(path);
  older.find_family = sample::find_old;
  Store::open(older);
  CHECK(words_of_view() ==
        "64 | void\n512 | void\n1024 | void\n2048 | void\n4096 | void\n4097 | confirmed\n");
  CHECK(words_of_store() == words_of_view());
}

TEST_CASE("Every query in the documentation runs and finds something") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto path = make_database(folder.path());
  int queries = 0;
  for (const std::string& sql : fences(read_file(root() / "cache/README.md"), "sql")) {
    const auto outcome = query(path, sql);
    INFO(sql << "\n" << outcome.output);
    CHECK(outcome.status == 0);
    CHECK_FALSE(outcome.output.empty());
    ++queries;
  }
  CHECK(queries >= 5);
}

TEST_CASE("The query of each question in the documentation has the right answer") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const std::string page = read_file(root() / "cache/README.md");
  const std::size_t begin = page.find("\n## Questions\n");
  REQUIRE(begin != std::string::npos);
  const std::size_t end = page.find("\n## ", begin + 1);
  const auto queries = fences(page.substr(begin, end - begin), "sql");
  REQUIRE(queries.size() == kQuestions.size());
  const TemporaryFolder folder;
  const auto path = make_database(folder.path());
  for (std::size_t number = 0; number < queries.size(); ++number) {
    const auto& [question, answer] = kQuestions.at(number);
    INFO(queries[number]);
    CHECK(queries[number].starts_with("-- " + std::string(question)));
    CHECK(query(path, queries[number]).output == answer);
  }
}

TEST_CASE("Every sqlite3 command in the top README runs") {
  if (!has_sqlite3()) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const TemporaryFolder folder;
  const auto path = make_database(folder.path());
  const std::string page = read_file(root() / "README.md");
  for (const char* language : {"sh", "bash", "console", ""}) {
    for (const std::string& fence : fences(page, language)) {
      for (std::size_t at = 0; at < fence.size();) {
        const std::size_t end = std::min(fence.find('\n', at), fence.size());
        std::string line = fence.substr(at, end - at);
        at = end + 1;
        line.erase(0, line.starts_with("$ ") ? 2 : 0);
        if (line.starts_with("sqlite3 ")) {
          const auto outcome = shell("cd '" + path.parent_path().string() + "' && cache='" +
                                     path.string() + "' && " + line);
          INFO(line << "\n" << outcome.output);
          CHECK(outcome.status == 0);
          CHECK_FALSE(outcome.output.empty());
        }
      }
    }
  }
}

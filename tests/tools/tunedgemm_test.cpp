// The tunedgemm command: arguments in, text and exit status out.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/skip.h"
#include "tests/tools/support/shell.h"
#include "tools/shared/results.h"
#include "tools/tunedgemm/best_of.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kCommand = TUNEDGEMM " ";

TEST_CASE("An empty cache gives a message and exit status 1") {
  const Shell shell;
  for (const char* verb :
       {"best", "export copy.db", "trials 8 8 8 --device host", "forget 8 8 8 --device host",
        "forget --all --device host", "gc", "gc --dry-run"}) {
    const ProgramResult result = shell.run(kCommand + verb);
    CAPTURE(verb, result.errors);
    REQUIRE(result.status == 1);
    REQUIRE_FALSE(result.errors.empty());
  }
  REQUIRE_FALSE(std::filesystem::exists(shell.cache()));
}

TEST_CASE("A wrong command line exits with 2") {
  const Shell shell;
  for (const char* arguments :
       {"", "sing", "explain 8 8", "explain 8 8 x", "best --m 1:2", "explain 8 8 8 --types f17",
        "export", "bench 8 8", "bench 8 8 8 --cool-down-ms -1",
        "bench --sizes 8 --sweep squares"}) {
    CAPTURE(arguments);
    const ProgramResult result = shell.run(kCommand + arguments);
    REQUIRE(result.status == 2);
    REQUIRE_FALSE(result.errors.empty());
  }
  const auto says = [&](const std::string& arguments, const char* sentence) {
    CHECK_THAT(shell.run(kCommand + arguments).errors, ContainsSubstring(sentence));
  };
  says("", "tunedgemm: a verb is missing; expected one of best, explain, trials");
  says("--completion tcsh", "tcsh not in {bash,zsh,fish}");
  says("merge nosuch.db", "tunedgemm merge: nosuch.db does not exist");
  says("diff /dev/null", "tunedgemm diff: files: at least 2 are needed, 1 given");
  says("bst", "\"bst\" is not a verb; did you mean best?");
  says("sing", "\"sing\" is not a verb; expected one of best, explain, trials");
  says("best --tipes f32", "tunedgemm best: --tipes is not an option; did you mean --types?\n");
  says("bench 8 8 8 8 8", "\"8\" was not expected\nSee tunedgemm bench --help.");
  says("bench 8 8 8 --most-candidates -1", "\"-1\" is neither 0 nor a positive number");
}

TEST_CASE("The programs tell their version") {
  const Shell shell;
  const std::string version = std::string(tunedgemm_version()) + "\n";
  CHECK(shell.run(kCommand + "--version").output == "tunedgemm " + version);
  CHECK(shell.run(TUNE_ALL " --version").output == "tune-all " + version);
}

TEST_CASE("ladder races from the naive loop to the winner, and checks each step") {
  const Shell shell;
  const ProgramResult result = shell.run(
      kCommand +
      "ladder 40 24 16 --device host --rigor quick --rounds 2 --json ladder.json --csv ladder.csv");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  const auto document = nlohmann::json::parse(std::ifstream(shell.folder() / "ladder.json"));
  REQUIRE(document["rows"].size() == 1);
  std::vector<std::string> steps;
  for (const auto& contender : document["rows"][0]["contenders"]) {
    steps.push_back(contender["contender"]);
    CHECK(contender["tflops"].get<double>() > 0);
    CHECK(contender["max_error"].get<double>() <= 1);
  }
  const std::vector<std::string> rungs{"naive_mnk", "reordered_mkn", "transposed_b", "blocked",
                                       "tuned"};
  REQUIRE(steps.size() >= rungs.size());  // OpenBLAS comes last if installed
  CHECK(std::equal(rungs.begin(), rungs.end(), steps.begin()));
  for (const std::string& step : steps) {
    CHECK_THAT(result.output, ContainsSubstring(step));
  }
}

struct Benched {
  std::string output;
  nlohmann::json document;
};

/// A small shape on the host, with additional options.
Benched bench_small(const Shell& shell, const std::string& options) {
  const ProgramResult result = shell.run(
      kCommand + "bench 40 24 16 --device host --rigor quick --rounds 2 --cool-down-ms 0 " +
      options + " --json bench.json");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  return {result.output, nlohmann::json::parse(std::ifstream(shell.folder() / "bench.json"))};
}

TEST_CASE("bench adds the best config of a requested family") {
  const Shell shell;
  const auto [output, document] = bench_small(shell, "--family naive_mnk --family blocked");
  REQUIRE(document["rows"][0]["contenders"][1]["contender"] == "naive_mnk");
  REQUIRE(document["rows"][0]["contenders"][1]["kernel"] == "naive_mnk");
  REQUIRE(document["rows"][0]["contenders"][2]["contender"] == "blocked");  // the best of several
  REQUIRE_THAT(output, ContainsSubstring("naive_mnk"));
  const ProgramResult tutorial = shell.run(
      kCommand + "bench 8 8 8 --device host --rigor quick --rounds 1 --cool-down-ms 0 --configs " +
      "triton-tutorial --json other.json");  // configs for GPUs only
  REQUIRE(tutorial.status == 0);
  const auto none = nlohmann::json::parse(std::ifstream(shell.folder() / "other.json"));
  for (const auto& contender : none["rows"][0]["contenders"]) {
    CHECK(contender["contender"] != "triton-tutorial");
  }
  CHECK(none["rows"][0]["remarks"].dump().find("triton-tutorial takes no part") !=
        std::string::npos);
  const ProgramResult unknown = shell.run(kCommand + "bench 8 8 8 --family naiv");
  REQUIRE(unknown.status == 2);
  REQUIRE_THAT(unknown.errors, ContainsSubstring("no kernel family \"naiv\""));
}

TEST_CASE("bench adds the candidates that are nearest to the configs in a file") {
  const Shell shell;
  std::ofstream(shell.folder() / "proposed.txt") << "# a comment\ntile_m=1 tile_n=1\n";
  std::ofstream(shell.folder() / "several.txt") << "tile_m=1\ntile_m=1024 tile_n=1024\n";
  const auto [output, document] =
      bench_small(shell, "--configs proposed.txt --configs several.txt");
  REQUIRE(document["rows"][0]["contenders"][1]["contender"] == "proposed");
  REQUIRE(document["rows"][0]["contenders"][2]["contender"] == "several");
  std::ofstream(shell.folder() / "wrong.txt") << "tile_m=1\ntile_m\n";
  const ProgramResult wrong = shell.run(kCommand + "bench 8 8 8 --configs wrong.txt");
  REQUIRE(wrong.status == 2);
  REQUIRE_THAT(wrong.errors, ContainsSubstring("wrong.txt: the line \"tile_m\" is not a config"));
  REQUIRE(shell.run(kCommand + "bench 8 8 8 --configs nowhere.txt").status == 2);
}

TEST_CASE("A config's nearest candidate has the values nearest to its knobs") {
  const CanonicalProblem problem =
      canonical(make_problem(1024, 1024, 1024, DataType::kF16, DataType::kF16, DataType::kF16));
  const auto ranked = ranked_candidates(problem, h200());
  const auto nearest = nearest_candidates(
      {*parse_config("block_m=128 block_n=250 block_k=64 cluster_m=2 cluster_n=1 swap_ab=0"),
       *parse_config("block_m=128 block_n=256 block_k=64 cluster_m=2 cluster_n=1 swap_ab=0"),
       *parse_config("thread_m=8 thread_n=8")},
      ranked);
  REQUIRE(nearest.size() == 2);  // the first two configs have the same nearest candidate
  CHECK(nearest[0].family->name() == "wgmma");
  CHECK(nearest[0].config.at("block_m") == 128);
  CHECK(nearest[0].config.at("block_n") == 256);
  CHECK(nearest[0].config.at("cluster_m") == 2);
  CHECK(nearest[1].family->name() == "simt");
  CHECK(nearest_candidates({Config()}, {}).empty());
}

TEST_CASE("bench adds the winners of tunings with another rigor") {
  const Shell shell;
  const auto [output, document] =
      bench_small(shell, "--against quick --against exhaustive --most-candidates 4");
  REQUIRE_THAT(output, ContainsSubstring("against quick of 4: geometric mean") &&
                           ContainsSubstring("against exhaustive of 4: geometric mean"));
  REQUIRE(document["rows"][0]["contenders"][1]["contender"] == "quick of 4");
  REQUIRE(document["rows"][0]["contenders"][2]["contender"] == "exhaustive of 4");
  const auto [unlimited, ignored] = bench_small(shell, "--against quick --most-candidates 100");
  REQUIRE_THAT(unlimited, ContainsSubstring("against quick: geometric mean"));
  REQUIRE(shell.run(kCommand + "bench 8 8 8 --against nothing").status == 2);
  const auto [untuned, both] = bench_small(shell, "--against untuned --against model");
  REQUIRE_THAT(untuned, ContainsSubstring("against untuned: geometric mean") &&
                            ContainsSubstring("against model: geometric mean") &&
                            ContainsSubstring("x tuned"));
  REQUIRE(both["rows"][0]["contenders"][1]["contender"] == "untuned");
  REQUIRE(both["rows"][0]["contenders"][2]["contender"] == "model");
  REQUIRE(shell.run(kCommand + "bench 8 8 8 --most-candidates 4").status == 2);
}

TEST_CASE("order shows a config's tiles, and their reads compared with row-major order") {
  const Shell shell;
  const std::string config =
      " --config \"mma block_m=64 block_n=64 block_k=64 group_m=3\" --at-a-time 9 ";
  const ProgramResult result = shell.run(kCommand + "order 574 574 574 --types f16" + config +
                                         "--compare --wide --json o.json");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("9 x 9 tiles of 64 x 64, each 9 blocks deep"));
  REQUIRE_THAT(result.output, ContainsSubstring("3 rows, 3 columns") && ContainsSubstring(" 54 "));
  REQUIRE_THAT(result.output, ContainsSubstring("1 row, 9 columns") && ContainsSubstring(" 90 "));
  const auto document = nlohmann::json::parse(std::ifstream(shell.folder() / "o.json"));
  REQUIRE(document["orders"].size() == 2);
  for (const auto& order : document["orders"]) {
    CHECK(order["tiles"].size() == 81);
    CHECK(order["first_wave"]["tiles"] == 9);
  }
  CHECK(document["orders"][0]["first_wave"]["bytes"] == (3 + 3) * 64 * 574 * 2);
  CHECK(document["orders"][0]["tiles"][4] == nlohmann::json{1, 1});
  CHECK(document["orders"][0]["tiles"][30] == nlohmann::json{3, 1});
}

TEST_CASE("order shows the tiles of D's transpose if A and B are swapped") {
  const Shell shell;
  const ProgramResult result = shell.run(
      kCommand + "order 1024 4096 1024 --types f16 --config \"wgmma block_m=128 block_n=144 " +
      "block_k=64 group_m=8 swap_ab=1\"");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("32 x 8 tiles of 128 x 144 of D's transpose"));
}

TEST_CASE("order reports a wrong config") {
  const Shell shell;
  for (const auto& [config, sentence] :
       {std::pair("block_m", "not a list of knob=value"),
        {"threads=4", "has no tiles"},
        {"block_m=1 block_n=1 block_k=1", "more than the limit"}}) {
    const ProgramResult result =
        shell.run(kCommand + "order 4096 4096 64 --config '" + config + "'");
    CAPTURE(config, result.errors);
    REQUIRE(result.status == 2);
    REQUIRE_THAT(result.errors, ContainsSubstring(sentence));
  }
}

TEST_CASE("best shows the winners that match its filters") {
  const TunedShell shell;
  const ProgramResult all = shell.run(kCommand + "best");
  CAPTURE(all.output, all.errors);
  REQUIRE(all.status == 0);
  REQUIRE_THAT(all.output, ContainsSubstring("40x24x16"));
  REQUIRE_THAT(all.output, ContainsSubstring("provisional"));
  // The compiler's short name: the features of the CPU follow " for ".
  REQUIRE_THAT(shell.run(kCommand + "best --wide").output, !ContainsSubstring(" for "));
  REQUIRE(shell.run(kCommand + "best --m 8:40:8 --types f32").output == all.output);
  REQUIRE(shell.run(kCommand + "best --n 24 --k 16").output == all.output);
  for (const char* other : {"--types f16", "--m 24", "--n 16", "--k 24"}) {
    CAPTURE(other);
    REQUIRE(shell.run(kCommand + "best " + other).status == 1);
  }
  const auto json = nlohmann::json::parse(shell.run(kCommand + "best --json").output);
  REQUIRE(json.size() == 1);
  REQUIRE(json[0]["types"] == "f32→f32 ieee");
}

TEST_CASE("best and the view best use the same word for the state of a winner") {
  const TunedShell shell;
  const std::string sqlite = "sqlite3 '" + shell.cache().string() + "' ";
  if (shell.run("command -v sqlite3").status != 0) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const auto check_words = [&](const std::string& word) {
    REQUIRE(shell.run(sqlite + "'SELECT state FROM best'").output == word + "\n");
    REQUIRE_THAT(shell.run(kCommand + "best").output, ContainsSubstring("state: " + word));
    REQUIRE_THAT(shell.run(kCommand + "best --wide").output, ContainsSubstring(" " + word + " "));
  };
  check_words("provisional");
  REQUIRE(shell
              .run(sqlite + "\"INSERT INTO toolchain (fingerprint, compiler, driver) "
                            "VALUES ('1', 'another', '1'); "
                            "UPDATE device SET toolchain = (SELECT max(id) FROM toolchain)\"")
              .status == 0);
  check_words("stale");
  REQUIRE(shell.run(sqlite + "\"UPDATE meta SET value = '1' WHERE name GLOB 'family *'\"").status ==
          0);
  check_words("void");
}

TEST_CASE("explain takes a problem as tables show it, or its name") {
  const Shell shell;
  std::ofstream(shell.folder() / "layers.csv")
      << "name,types,layout,m,n,k\nquery,f32,nt,8,16,24\nkey,f32,nt,8,16,24\n"
         "up,f32,nn,8,32,24\nup,f32,nn,16,32,24\n";
  REQUIRE(shell
              .run(TUNE_ALL " " + (shell.folder() / "layers.csv").string() +
                   " --rigor quick --candidates 1 --device host")
              .status == 0);
  const auto explained = [&](const std::string& verb, const std::string& problem) {
    return shell.run(kCommand + verb + " " + problem + " --device host");
  };
  for (const char* const problem : {"8x16x24 nt", "8 16 24 --layout nt", "query", "'query, key'"}) {
    CAPTURE(problem);
    CHECK_THAT(explained("explain", problem).output, ContainsSubstring("because    tuned"));
    CHECK_THAT(explained("trials", problem).output, ContainsSubstring("finalist"));
  }
  const auto says = [&](const std::string& problem, const char* sentence) {
    const ProgramResult result = explained("explain", problem);
    CHECK(result.status == 2);
    CHECK_THAT(result.errors, ContainsSubstring(sentence));
  };
  for (const char* const verb : {"best", "show best", "trials query --device host"}) {
    const ProgramResult chosen =
        shell.run(kCommand + verb + " --markdown --limit 1 --columns " +
                  (std::string(verb).starts_with("trials") ? "candidate" : "name"));
    CHECK(std::ranges::count(chosen.output, '\n') == 3);
    CHECK_THAT(chosen.output, ContainsSubstring("| --- |"));
  }
  says("up", "2 problems have the name \"up\"; write its M N K, as 16x32x24");
  says("quary", "no winner has the name \"quary\"; did you mean \"query\"?");
  says("query --types f16", "types");
  CHECK(shell.run(kCommand + "best --json --sort time").status == 2);
  says("8x16", "no winner has the name \"8x16\"; expected M N K, or a name");
  says("8 16", "the shape has no k");
  says("8x16x24 nt 3", "k is given twice; give it once");
}

TEST_CASE("explain shows the kernel of a call, the reason, and how to rebuild it") {
  const TunedShell shell;
  const ProgramResult tuned = shell.run(kCommand + "explain 40 24 16 --device host");
  CAPTURE(tuned.output, tuned.errors);
  REQUIRE(tuned.status == 0);
  REQUIRE_THAT(tuned.output, ContainsSubstring("because    tuned"));
  REQUIRE_THAT(tuned.output,
               ContainsSubstring("rebuild    explain --source FILE writes the kernel; c++ "));
  const ProgramResult unknown = shell.run(kCommand + "explain 41 24 16 --device host");
  REQUIRE(unknown.status == 0);
  REQUIRE_THAT(unknown.output, ContainsSubstring("because    model"));
  REQUIRE_THAT(unknown.output, ContainsSubstring("policy stored would run") &&
                                   ContainsSubstring(", served from M = 40, expected within "));
  REQUIRE_THAT(unknown.output, ContainsSubstring("nearest    40x24x16 nn f32") &&
                                   ContainsSubstring(": m is 40, not 41") &&
                                   ContainsSubstring("cost       tuning it would take about "));
  const auto json =
      nlohmann::json::parse(shell.run(kCommand + "explain 41 24 16 --device host --json").output);
  REQUIRE(json["served"]["tuned_m"] == 40);
  REQUIRE(json["nearest"][0]["differences"][0]["field"] == "m");
  REQUIRE(json["served"]["expected_loss"] >= 0);
  const ProgramResult other_device =
      shell.run("TUNEDGEMM_THREADS=1 " + kCommand + "explain 40 24 16 --device host");
  if (std::thread::hardware_concurrency() > 1) {
    REQUIRE_THAT(other_device.output,
                 ContainsSubstring("policy stored would run") && ContainsSubstring(", tuned on "));
  }
  const ProgramResult other_class = shell.run(kCommand + "explain 41 24 17 --device host");
  REQUIRE_THAT(other_class.output, !ContainsSubstring("policy stored"));
}

TEST_CASE("explain --source writes a kernel that compiles alone") {
  const TunedShell shell;
  const std::string explain = kCommand + "explain 40 24 16 --device host --json --source kernel.cc";
  const ProgramResult written = shell.run(explain);
  CAPTURE(written.output, written.errors);
  REQUIRE(written.status == 0);
  const std::string compile = nlohmann::json::parse(written.output)["compile_command"];
  const ProgramResult compiled = shell.run(compile + " -o kernel.so && nm -D kernel.so");
  CAPTURE(compile, compiled.errors);
  REQUIRE(compiled.status == 0);
  CHECK(compiled.errors == "");
  CHECK_THAT(compiled.output, ContainsSubstring(" T tunedgemm_"));
  CHECK(shell.run(explain).status == 0);  // it replaces its own file
  CHECK(shell.run("echo mine > kernel.cc; " + explain).status == 2);
}

TEST_CASE("trials shows every candidate's outcome") {
  const TunedShell shell;
  const ProgramResult result = shell.run(kCommand + "trials 40 24 16 --device host");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("finalist"));
  const auto json =
      nlohmann::json::parse(shell.run(kCommand + "trials 40 24 16 --device host --json").output);
  REQUIRE(json.size() >= 3);
  REQUIRE(json[0]["status"] == "finalist");
}

TEST_CASE("show prints every view of the cache, or the rows that its filters select") {
  const TunedShell shell;
  const auto json_of = [&](const std::string& arguments) {
    const ProgramResult result = shell.run(kCommand + "show --json " + arguments);
    CAPTURE(arguments, result.output, result.errors);
    return nlohmann::json::parse(result.output);
  };
  const auto best = json_of("best m=40 state=provisional");
  REQUIRE(best.size() == 1);
  CHECK(best[0]["median_us"] > 0);
  CHECK(best[0]["types"] == "f32→f32 ieee");
  CHECK(json_of("trials status=finalist").size() + json_of("trials status=screened").size() +
            json_of("trials status=rejected").size() ==
        json_of("trials").size());
  std::set<std::string> views;
  for (const auto& row : json_of("help column=")) {
    views.insert(row["view"]);
  }
  CHECK(views.size() == 7);
  for (const std::string& view : views) {
    const ProgramResult table = shell.run(kCommand + "show " + view);
    const bool is_empty = json_of(view).empty();
    CAPTURE(view, table.output, table.errors);
    CHECK(table.status == (is_empty ? 1 : 0));
    CHECK(table.output.empty() == is_empty);
    if (view != "failures") {  // none on most machines
      CHECK(is_empty == (view == "missing" || view == "stale"));
    }
  }
  const ProgramResult coverage = shell.run(kCommand + "show coverage");
  CHECK_THAT(coverage.output, ContainsSubstring("provisional") && ContainsSubstring("100 %"));
  const ProgramResult none = shell.run(kCommand + "show best m=41");
  CHECK(none.status == 1);
  CHECK_THAT(none.errors, ContainsSubstring("cache.db has no such rows"));
  require_wrong_use(shell, kCommand + "show stael",
                    "\"stael\" is not a view; expected one of best");
  require_wrong_use(shell, kCommand + "show best mm=4",
                    "\"mm=4\" is not COLUMN=VALUE with a column of best: device, m, n");
}

TEST_CASE("show has nulls for the columns that an older file lacks") {
  const TunedShell shell;
  if (shell.run("command -v sqlite3").status != 0) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  REQUIRE(shell
              .run("sqlite3 cache.db \"DROP VIEW coverage; "
                   "CREATE VIEW coverage AS SELECT 'a device' AS device, 3 AS tuned\"")
              .status == 0);
  const auto rows =
      nlohmann::json::parse(shell.run(kCommand + "show coverage --json tuned=3").output);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["device"] == "a device");
  CHECK(rows[0]["missing_calls"].is_null());
  CHECK(shell.run(kCommand + "show coverage missing_calls=1").status == 1);
}

TEST_CASE("forget deletes the winner and the trials of a problem, which is then tuned anew") {
  const TunedShell shell;
  const std::string one = "forget 40 24 16 --device host";
  const ProgramResult other = shell.run(kCommand + one + " --types f64");
  CAPTURE(other.errors);
  REQUIRE(other.status == 1);
  REQUIRE_THAT(other.errors, ContainsSubstring("no winner and no trial of 40x24x16 nn f64→f64"));
  const ProgramResult forgotten = shell.run(kCommand + one);
  CAPTURE(forgotten.output, forgotten.errors);
  REQUIRE(forgotten.status == 0);
  REQUIRE_THAT(forgotten.output, Catch::Matchers::Matches("forgot 1 winner and [0-9]+ trials\n"));
  REQUIRE(shell.run(kCommand + "trials 40 24 16 --device host").status == 1);
  REQUIRE(shell.run(kCommand + one).status == 1);
  REQUIRE_THAT(shell.run(TUNE_ALL " --device host --dry-run --m 40 --n 24 --k 16").output,
               ContainsSubstring("0 in the cache, 1 to tune"));
}

TEST_CASE("forget --all deletes the winners that its filters select") {
  const TunedShell shell;
  REQUIRE(shell
              .run(TUNE_ALL " --device host --rigor quick --candidates 2 --types f64 --m 40 "
                            "--n 24 --k 16")
              .status == 0);
  const std::string all = kCommand + "forget --all --device host ";
  REQUIRE(shell.run(all + "--types f16").status == 1);
  REQUIRE(shell.run(all + "--stale").status == 1);
  for (const char* wrong : {"forget --device host", "forget --all 8 8 8", "forget 8 8 8 --stale",
                            "forget --all --layout nt"}) {
    CAPTURE(wrong);
    REQUIRE(shell.run(kCommand + wrong).status == 2);
  }
  const ProgramResult doubles = shell.run(all + "--types f64");
  CAPTURE(doubles.output, doubles.errors);
  REQUIRE(doubles.status == 0);
  REQUIRE_THAT(doubles.output, ContainsSubstring("forgot 1 winner and "));
  const ProgramResult rest = shell.run(kCommand + "best");
  REQUIRE_THAT(rest.output, ContainsSubstring("f32→f32") && !ContainsSubstring("f64"));
  REQUIRE(shell.run(all).status == 0);
  REQUIRE(shell.run(kCommand + "best").status == 1);
}

TEST_CASE("forget --stale keeps the winners of the present compiler and driver") {
  const TunedShell shell;
  const std::string sqlite = "sqlite3 '" + shell.cache().string() + "' ";
  if (shell.run("command -v sqlite3").status != 0) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  REQUIRE(shell
              .run(sqlite + "\"INSERT INTO toolchain (fingerprint, compiler, driver) "
                            "VALUES ('1', 'another', '1'); "
                            "UPDATE device SET toolchain = (SELECT max(id) FROM toolchain)\"")
              .status == 0);
  const std::string stale = kCommand + "forget --all --stale --device host";
  const ProgramResult forgotten = shell.run(stale);
  CAPTURE(forgotten.output, forgotten.errors);
  REQUIRE_THAT(forgotten.output, ContainsSubstring("forgot 1 winner"));
  REQUIRE(shell.run(stale).status == 1);
}

TEST_CASE("forget says that the winners of a read-only file stay") {
  const TunedShell shell;
  const std::string one = "forget 40 24 16 --device host";
  REQUIRE(shell.run(kCommand + "export system.db").status == 0);
  const std::string with_system = "TUNEDGEMM_SYSTEM_CACHE=$PWD/system.db " + kCommand + one;
  const ProgramResult absent = shell.run(with_system + " --cache typo/x.db");
  CAPTURE(absent.errors);
  REQUIRE(absent.status == 1);
  REQUIRE_THAT(absent.errors, ContainsSubstring("read-only files ($TUNEDGEMM_SYSTEM_CACHE)"));
  REQUIRE_FALSE(std::filesystem::exists(shell.folder() / "typo"));
  const ProgramResult both = shell.run(with_system);
  REQUIRE(both.status == 0);
  REQUIRE_THAT(both.output, ContainsSubstring("forgot 1 winner"));
  REQUIRE_THAT(both.errors, ContainsSubstring("cannot be forgotten"));
  const ProgramResult left = shell.run(with_system);
  REQUIRE(left.status == 1);
  REQUIRE_THAT(left.errors, ContainsSubstring("cannot be forgotten"));
}

TEST_CASE("forget exits with 4 if the cache cannot be written, and the winner stays") {
  const TunedShell shell;
  const std::string before = shell.run(kCommand + "best").output;
  // A limit of the size of files looks like a full disk.
  const ProgramResult refused =
      shell.run("{ (ulimit -f 0; " + kCommand +
                "forget 40 24 16 --device host; echo status $?) 2>&1; } | cat");
  CAPTURE(refused.output);
  REQUIRE_THAT(refused.output, ContainsSubstring("cache.db, so nothing was forgotten") &&
                                   ContainsSubstring("status 4\n"));
  REQUIRE(shell.run(kCommand + "best").output == before);
}

TEST_CASE("gc deletes the winner of an older compiler, and calls run the same winner as before") {
  const TunedShell shell;
  if (shell.run("command -v sqlite3").status != 0) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const std::string best = shell.run(kCommand + "best").output;
  REQUIRE_THAT(shell.run(kCommand + "gc").output,
               ContainsSubstring("deleted 0 void and 0 replaced winners, 0 trials, 0 kernels; 0."));
  const ProgramResult copied = shell.run(
      "sqlite3 cache.db \"INSERT INTO toolchain (fingerprint, compiler, driver) VALUES ('1', "
      "'old', '1'); CREATE TEMP TABLE copy AS SELECT * FROM winner; UPDATE copy SET id = 9, "
      "toolchain = (SELECT max(id) FROM toolchain); INSERT INTO winner SELECT * FROM copy\"");
  CAPTURE(copied.errors);
  REQUIRE(copied.status == 0);
  REQUIRE_THAT(
      shell.run(kCommand + "gc --dry-run").output,
      ContainsSubstring("would delete 0 void and 1 replaced winner, 0 trials, 0 kernels; 0."));
  REQUIRE_THAT(shell.run(kCommand + "gc").output,
               ContainsSubstring("deleted 0 void and 1 replaced winner, 0 trials, 0 kernels; 0."));
  REQUIRE(shell.run(kCommand + "best").output == best);
  const ProgramResult small = shell.run(kCommand + "gc --max-mb 0.001");
  REQUIRE(small.status == 0);
  REQUIRE_THAT(small.output, ContainsSubstring(" trials"));
  REQUIRE_THAT(small.errors, ContainsSubstring("need more than --max-mb"));
  REQUIRE(shell.run(kCommand + "best").output == best);
  REQUIRE(shell.run(kCommand + "gc --max-mb 0").status == 2);
}

TEST_CASE("gc leaves a file of another program alone, and exits with 4 if it cannot write") {
  const TunedShell shell;
  const std::string before = shell.run(kCommand + "best").output;
  const ProgramResult refused =
      shell.run("{ (ulimit -f 0; " + kCommand + "gc --max-mb 0.01; echo status $?) 2>&1; } | cat");
  CAPTURE(refused.output);
  REQUIRE_THAT(refused.output,
               ContainsSubstring("is unchanged") && ContainsSubstring("status 4\n"));
  REQUIRE(shell.run(kCommand + "best").output == before);
  REQUIRE(shell.run("echo text > foreign.db; " + kCommand + "gc --cache foreign.db").status == 1);
  REQUIRE(shell.run("cat foreign.db").output == "text\n");
}

TEST_CASE("An exported cache gives the same results as the original") {
  const TunedShell shell;
  REQUIRE(shell.run(kCommand + "export copy.db").status == 0);
  REQUIRE(shell.run(kCommand + "best --cache copy.db").output ==
          shell.run(kCommand + "best").output);
  const ProgramResult csv = shell.run(kCommand + "export - --csv");
  REQUIRE(csv.status == 0);
  REQUIRE(std::count(csv.output.begin(), csv.output.end(), '\n') == 2);
  REQUIRE_THAT(csv.output, ContainsSubstring("device,compiler,driver,m,n,k"));
  REQUIRE(shell.run(kCommand + "export - --json").output ==
          shell.run(kCommand + "best --json").output);
  REQUIRE(shell.run(kCommand + "export /proc/nowhere.csv --csv").status == 2);
}

TEST_CASE("export replaces no file, and results replace only results of their kind") {
  const TunedShell shell;
  const auto text_of = [&](const std::string& name) { return shell.run("cat " + name).output; };
  REQUIRE(shell.run("echo 'f32,nn,8,8,8' > list.csv").status == 0);
  for (const std::string option : {"", " --csv", " --json"}) {
    require_wrong_use(shell, kCommand + "export list.csv" + option,
                      "list.csv is there already: remove it or choose another name");
    REQUIRE(text_of("list.csv") == "f32,nn,8,8,8\n");
  }
  REQUIRE(shell.run(kCommand + "export new.csv --csv").status == 0);
  require_wrong_use(shell, kCommand + "bench 40 24 16 --device host --rigor quick --csv list.csv",
                    "list.csv is there already and has other contents: remove it or choose");
  REQUIRE(text_of("list.csv") == "f32,nn,8,8,8\n");

  const std::string path = shell.folder() / "results";
  const auto write = [&](const std::string& text) {
    write_file(path, text, IfThere::kReplaceResults);
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {}) == text;
  };
  CHECK(write("a,b\n1,2\n"));
  CHECK(write("a,b\n"));
  CHECK_THROWS(write("a,b,c\n"));
  CHECK_THROWS(write("{\"a\": 1}\n"));
  std::filesystem::resize_file(path, 0);
  CHECK(write("{\n \"device\": 1}\n"));
  CHECK(write("{\n \"device\": 2,\n \"b\": 3}\n"));
  CHECK_THROWS(write("{\n \"devices\": 1}\n"));
  CHECK_THROWS(write("[{\n \"device\": 1}]\n"));
  write_file("/dev/null", "a\n", IfThere::kRefuse);
}

TEST_CASE("doctor finds the compiler, or reports that it is missing") {
  const Shell shell;
  const ProgramResult healthy = shell.run(kCommand + "doctor");
  CAPTURE(healthy.output, healthy.errors);
  REQUIRE(healthy.status == 0);
  REQUIRE_THAT(healthy.output, ContainsSubstring("host compiler"));
  REQUIRE_THAT(healthy.output, ContainsSubstring("journal mode"));
  const ProgramResult broken = shell.run("TUNEDGEMM_CXX=/nowhere/c++ " + kCommand + "doctor");
  REQUIRE(broken.status == 1);
  REQUIRE_THAT(broken.output, ContainsSubstring("BROKEN"));
  REQUIRE_THAT(broken.output, ContainsSubstring("/nowhere/c++"));
  CHECK(shell.run("TUNEDGEMM_CXX=/nowhere/c++ TUNEDGEMM_POLICY=stored " + kCommand + "doctor")
            .status == 0);
}

TEST_CASE("doctor names the caches of the system, and variables that the library refuses") {
  const TunedShell tuned;
  const Shell shell;
  const ProgramResult healthy = shell.run("TUNEDGEMM_SYSTEM_CACHE=" + tuned.cache().string() +
                                          ":/nowhere.db " + kCommand + "doctor");
  CAPTURE(healthy.output);
  CHECK(healthy.status == 0);
  CHECK_THAT(healthy.output,
             ContainsSubstring(tuned.cache().string() + ": read only, 1 winner\n") &&
                 ContainsSubstring("the cache /nowhere.db does not exist yet"));
  const std::string wrong =
      "TUNEDGEMM_POLICY=never TUNEDGEMM_RIGOR=fast TUNEDGEMM_TUNE_SECONDS=0 TUNEDGEMM_SM_LIMIT=-1 "
      "TUNEDGEMM_THREADS=abc ";
  const ProgramResult refused = shell.run(wrong + kCommand + "doctor");
  CAPTURE(refused.output);
  CHECK(refused.status == 1);
  for (const char* sentence :
       {"TUNEDGEMM_POLICY is \"never\"; use tune", "TUNEDGEMM_RIGOR is \"fast\"; use quick",
        "TUNEDGEMM_TUNE_SECONDS is \"0\"; use a number",
        "TUNEDGEMM_SM_LIMIT is \"-1\"; use a number",
        "TUNEDGEMM_THREADS is \"abc\"; use a number"}) {
    CHECK_THAT(refused.output, ContainsSubstring(sentence));
  }
  require_wrong_use(shell, "TUNEDGEMM_THREADS=abc " TUNE_ALL " --m 8 --n 8 --k 8 --device host",
                    "TUNEDGEMM_THREADS is \"abc\"");
}

TEST_CASE("A winner is not stale where there is no compiler") {
  const TunedShell shell;
  const ProgramResult result =
      shell.run("TUNEDGEMM_CXX=/nowhere/c++ " + kCommand + "explain 40 24 16 --device host");
  CAPTURE(result.output, result.errors);
  CHECK_THAT(result.output, ContainsSubstring("because    tuned: "));
}

TEST_CASE("Every --json of a verb is one JSON document") {
  const TunedShell shell;
  const std::string verb =
      GENERATE(as<std::string>(), "best", "trials 40 24 16 --device host", "show coverage",
               "explain 40 24 16 --device host", "explain 41 24 16 --device host", "doctor",
               "verify --device host $TUNEDGEMM_CACHE", "export -");
  const ProgramResult result = shell.run(kCommand + verb + " --json");
  CAPTURE(verb, result.output, result.errors);
  CHECK(nlohmann::json::accept(result.output));
}

TEST_CASE("top shows the calls of running programs alone") {
  const Shell shell;
  const std::string mine = "7\t2.5\ttuned\t" +
                           to_text(canonical(make_problem(3, 5, 6, DataType::kF32, DataType::kF32,
                                                          DataType::kF32, "nn"))) +
                           "\tnaive_mnk\n";
  std::filesystem::create_directory(shell.folder() / "top");
  const auto write = [&](const std::string& process, const std::string& text) {
    std::ofstream(shell.folder() / "top" / process) << text;
  };
  const std::string top = kCommand + "top top --once";
  CHECK(shell.run(top).status == 1);
  write("999999999", mine);
  CHECK(shell.run(top).status == 1);
  write("1", mine + "of another version\n");
  const ProgramResult result = shell.run(top);
  CAPTURE(result.output, result.errors);
  CHECK(result.status == 0);
  CHECK_THAT(result.output,
             ContainsSubstring("3x5x6 nn") && ContainsSubstring("7  2.50 us  naive_mnk"));
  CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 3);
  require_wrong_use(shell, kCommand + "top", "no folder is given; start the programs with");
}

TEST_CASE("doctor handles a cache that is no database") {
  const Shell shell;
  std::ofstream(shell.cache()) << "this is not SQLite, and never was one before\n";
  const ProgramResult result = shell.run(kCommand + "doctor");
  CAPTURE(result.output, result.errors);
  REQUIRE_THAT(result.output, ContainsSubstring("cache"));
  REQUIRE(result.status <= 1);
}

TEST_CASE("bench reports wrong shapes and the expected text") {
  const Shell shell;
  const auto fails_with = [&](const std::string& arguments, const std::string& sentence) {
    require_wrong_use(shell, kCommand + "bench --device host " + arguments, sentence);
  };
  fails_with("", "bench needs shapes: M N K, or --sizes");
  fails_with("--sizes 0", "\"0\" in \"0\" is not a whole number of at least 1");
  fails_with("--sizes 256:4096", "\"256:4096\" is not first:last:step, such as");
  fails_with("--sizes 8 --types f17", "types is \"f17\"; expected f64");
  fails_with(
      "--list " TUNEDGEMM_SHAPES "/models/gpt-2.csv",
      "gpt-2.csv: line 6: the shape has no m; expected at least types, m, n and k; tune-all");
  fails_with("--list nowhere.csv", "the shape list nowhere.csv cannot be read: No such file");
  fails_with("--list nowhere.csv --types f16", "--types f16 cannot be combined with --list");
  fails_with("8 8 8 --sizes 8", "\"8\" is the m of a single shape");
  fails_with("8 8 8 --json /nowhere/a.json", "cannot be written to /nowhere/a.json");
}

TEST_CASE("bench measures a shape and writes the results") {
  const TunedShell shell;
  const ProgramResult result = shell.run(
      kCommand +
      "bench 40 24 16 --device host --rigor quick --rounds 3 --cool-down-ms 0 --csv a.csv "
      "--json a.json");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("40x24x16"));
  REQUIRE_THAT(result.errors, ContainsSubstring("each sample after 0 ms of cool-down"));
  REQUIRE_THAT(result.errors, ContainsSubstring("1/1  40x24x16 f32→f32 ieee nn: "));
  std::ifstream file(shell.folder() / "a.json");
  const auto document = nlohmann::json::parse(file);
  REQUIRE(document["rows"].size() == 1);
  REQUIRE(document["rows"][0]["contenders"][0]["contender"] == "tuned");
  REQUIRE(document["rows"][0]["contenders"][0]["median_us"] > 0);
  REQUIRE(std::filesystem::file_size(shell.folder() / "a.csv") > 0);
}

}  // namespace
}  // namespace tunedgemm::internal

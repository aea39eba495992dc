// tunedgemm diff: the comparison of the winners of two cache files.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kDiff = TUNEDGEMM " diff ";

struct Winner {
  std::int64_t m;
  double median_us;
  int block_m = 128;
  std::vector<std::string> ties = {};
  std::string driver = "580.65";
  int power_limit_watts = 700;
};

// Writes winners of a family that the command does not know, which matters to no comparison.
void fill(const Shell& shell, const std::string& file, const std::vector<Winner>& winners) {
  const auto store = Store::open(sample::options(shell.folder() / file));
  for (const Winner& winner : winners) {
    Record record = sample::record(winner.m, winner.median_us);
    record.config = sample::trial(winner.block_m, 1).config;
    record.ties = winner.ties;
    record.toolchain = sample::toolchain(winner.driver);
    record.device.power_limit_watts = winner.power_limit_watts;
    REQUIRE(store->put(record, sample::source(winner.m), sample::binary(), {}).stored);
  }
}

}  // namespace

TEST_CASE("diff tells same kernels, ties and others, and sorts by the ratio of the times") {
  const Shell shell;
  fill(shell, "a.db",
       {{1, 10}, {2, 10}, {3, 10, 128, {"sample block_m=64"}}, {4, 10}, {5, 10}, {6, 10}});
  fill(shell, "b.db",
       {{1, 10.1},
        {2, 10, 64, {"sample block_m=128"}},
        {3, 9.9, 64},
        {4, 12, 64, {"sample block_m=256"}},
        {5, 9, 128, {}, "590.1"},
        {7, 10}});
  const ProgramResult result = shell.run(kDiff + "a.db b.db --wide");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 1);
  REQUIRE_THAT(result.output,
               ContainsSubstring("5 problems in both: 2 same kernel, 2 tied, 1 differ; times 1.015 "
                                 "(0.900 to 1.200); within 2 %: 3 of 5; 1 only in A, 1 only in B"));
  const auto json = nlohmann::json::parse(shell.run(kDiff + "a.db b.db --json").output);
  REQUIRE(json.size() == 7);
  const std::vector<std::pair<int, std::string>> expected{
      {4, "another kernel"}, {5, "same kernel"}, {3, "tied"},     {1, "same kernel"},
      {2, "tied"},           {6, "only in A"},   {7, "only in B"}};
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const auto& winner = json[row]["a"].is_null() ? json[row]["b"] : json[row]["a"];
    CAPTURE(row, winner);
    CHECK(json[row]["kernels"] == expected[row].second);
    CHECK(winner["problem"].get<std::string>().find("m=" + std::to_string(expected[row].first) +
                                                    " ") != std::string::npos);
  }
  CHECK(json[0]["ratio"] == 1.2);
  CHECK(json[5]["ratio"].is_null());
  CHECK(json[5]["b"].is_null());
}

TEST_CASE("diff exits with 0 only if kernels, problems and times are equal enough") {
  const Shell shell;
  fill(shell, "a.db", {{1, 10}, {2, 10}});
  fill(shell, "close.db", {{1, 10.15}, {2, 10, 64, {"sample block_m=128"}}});
  fill(shell, "slow.db", {{1, 10.3}, {2, 10}});
  fill(shell, "other.db", {{1, 10, 64}, {2, 10}});
  fill(shell, "less.db", {{1, 10}});
  for (const auto& [file, status] :
       {std::pair("a.db", 0), std::pair("close.db", 0), std::pair("slow.db", 1),
        std::pair("other.db", 1), std::pair("less.db", 1)}) {
    const ProgramResult result = shell.run(kDiff + "a.db " + file);
    CAPTURE(file, result.output, result.errors);
    CHECK(result.status == status);
    CHECK(shell.run(kDiff + file + " a.db").status == status);
  }
}

TEST_CASE("diff compares the winners of the current toolchain, as best shows them") {
  const Shell shell;
  fill(shell, "a.db", {{1, 10}});
  // The last driver is the current one.
  fill(shell, "b.db", {{1, 20, 128, {}, "600"}, {1, 10, 128, {}, "580.65"}});
  CHECK(shell.run(kDiff + "a.db b.db").status == 0);
  fill(shell, "b.db", {{2, 10, 128, {}, "600"}});
  CHECK_THAT(shell.run(kDiff + "a.db b.db").output, ContainsSubstring("times 2.000"));
}

TEST_CASE("diff compares winners of equal devices alone, and reads only the two files") {
  const Shell shell;
  fill(shell, "a.db", {{1, 10}, {2, 10, 128, {}, "580.65", 500}});
  fill(shell, "b.db", {{1, 10}, {3, 10, 128, {}, "580.65", 400}});
  fill(shell, "c.db", {{1, 10, 128, {}, "580.65", 350}});
  fill(shell, "cache.db", {{1, 99, 64}, {9, 9}});
  const ProgramResult result = shell.run("TUNEDGEMM_SYSTEM_CACHE=$PWD/c.db " + kDiff + "a.db b.db");
  CAPTURE(result.output, result.errors);
  CHECK(result.status == 0);
  CHECK_THAT(result.output, ContainsSubstring("1 problem in both: 1 same kernel"));
  CHECK_THAT(result.errors, ContainsSubstring("500 W) are only in a.db") &&
                                ContainsSubstring("400 W) are only in b.db"));
  require_wrong_use(shell, kDiff + "a.db c.db", "no device in common");
  require_wrong_use(shell, kDiff + "a.db b.db --device host", "no winner of the given device");
  REQUIRE(shell.run("echo m,n,k,types > l.csv; echo 1,4096,1024,f16 >> l.csv").status == 0);
  require_wrong_use(shell, kDiff + "a.db b.db --list l.csv", "no winner of the given device");
  REQUIRE(shell.run("echo m,n,k,types,layout > l.csv; echo 8,4096,1024,f16,nt >> l.csv").status ==
          0);
  CHECK(shell.run(kDiff + "a.db b.db --list l.csv").status == 0);
}

TEST_CASE("diff exits with 2 if a file is missing or no cache") {
  const Shell shell;
  fill(shell, "a.db", {{1, 10}});
  REQUIRE(shell.run("echo text > text.db; : > empty.db").status == 0);
  for (const char* wrong : {"a.db", "a.db nowhere.db", "a.db text.db", "text.db a.db",
                            "a.db empty.db", "a.db a.db a.db"}) {
    const ProgramResult result = shell.run(kDiff + wrong);
    CAPTURE(wrong, result.errors);
    CHECK(result.status == 2);
    CHECK_FALSE(result.errors.empty());
  }
}

// Runs both programs and measures the lines that they print.

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

std::size_t longest_line(const std::string& text) {
  // A line also ends where the progress of tune-all erases it, and at a terminal's "\r\n".
  const std::string separated = std::regex_replace(text, std::regex("\r(\x1b\\[2K)?"), "\n");
  std::istringstream lines(separated);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    longest = std::max(longest, display_width(line));
  }
  return longest;
}

TEST_CASE("The help of both programs and of every verb fits 80 columns") {
  const Shell shell;
  const std::string command =
      GENERATE(as<std::string>(), TUNE_ALL, TUNEDGEMM, TUNEDGEMM " best", TUNEDGEMM " explain",
               TUNEDGEMM " trials", TUNEDGEMM " show", TUNEDGEMM " bench", TUNEDGEMM " sweep",
               TUNEDGEMM " ladder", TUNEDGEMM " order", TUNEDGEMM " doctor", TUNEDGEMM " export",
               TUNEDGEMM " merge", TUNEDGEMM " forget", TUNEDGEMM " verify");
  const ProgramResult help = shell.run(command + " --help");
  CAPTURE(command, help.output);
  CHECK(help.status == 0);
  CHECK(longest_line(help.output) > 0);
  CHECK(longest_line(help.output) <= 80);
}

TEST_CASE("The tables of tune-all and best fit 80 columns, and --wide shows every column") {
  const Shell shell;
  std::ofstream(shell.folder() / "list.csv")
      << "name,types,layout,m,n,k,activation\n"
      << std::string(90, 'n') << ",f32,nn,40,24,16,\nsecond,f64,tn,48,24,16,relu\n";
  const std::string tune = TUNE_ALL " --device host --rigor quick --candidates 2 list.csv ";
  REQUIRE(shell.run(tune).status == 0);
  const std::string command = GENERATE_COPY(as<std::string>(), tune, TUNEDGEMM " best ");
  const auto table_of = [](const std::string& text) {
    return text.substr(0, text.find("2 shapes on"));  // without tune-all's summary
  };
  const std::string table = table_of(shell.run(command).output);
  CAPTURE(table);
  CHECK(longest_line(table) <= 80);
  CHECK_THAT(table, ContainsSubstring("40x24x16 nn") && ContainsSubstring("f64→f64") &&
                        ContainsSubstring("vs default") &&
                        ContainsSubstring(command == tune ? "outcome: " : "state: "));
  const std::string wide = shell.run(command + "--wide").output;
  CHECK(longest_line(wide) > 80);
  CHECK_THAT(wide, ContainsSubstring("vs naive"));
  CHECK(longest_line(table_of(shell.run("export COLUMNS=60; " + command).output)) <= 60);
}

TEST_CASE("No line of a table, a sentence or an error is wider than the terminal") {
  const auto columns = static_cast<unsigned short>(GENERATE(80, 120));
  const TunedShell shell;
  const std::string host = " 40 24 16 --device host";
  const std::string few = host + " --types f32 --rounds 3";
  const std::vector<std::pair<std::string, std::string>> expected_texts{
      {TUNEDGEMM " best", "40x24x16"},
      {TUNEDGEMM " trials" + host, "finalist"},
      {TUNEDGEMM " show best", "config"},
      {TUNEDGEMM " show help", "the GPU's or CPU's name"},
      {TUNEDGEMM " explain" + host, "rebuild    explain --source"},
      {TUNEDGEMM " explain --device host 41 24 16", "policy stored would"},
      {TUNEDGEMM " doctor", "host compiler"},
      {TUNEDGEMM " bench" + few + " --cool-down-ms 0 --family naive_mnk", "GFLOP/s"},
      {TUNEDGEMM " ladder" + few, "vs first"},
      {TUNEDGEMM " sweep" + few + " --family blocked --top 3", "block_m="},
      {TUNEDGEMM " verify --device host $TUNEDGEMM_CACHE", "verdict"},
      {TUNEDGEMM " forget 41 24 16 --device host", "no winner and no trial"},
      {TUNEDGEMM " order --compare 2048 2048 512 --config 'block_m=128 block_n=128 block_k=64 "
                 "group_m=8 cluster_m=2 vector_bytes=64 prefetch=8'",
       "first wave reads"},
      {TUNE_ALL " --device host --dry-run --m 40,48 --n 24 --k 16", "in the cache"},
      {TUNE_ALL " --device host --m 40 --n 24 --k 16 --rigor quick", "already in"},
      {TUNEDGEMM " bets", "did you mean best?"},
      {TUNEDGEMM " trials 41 24 16 --device host", "no candidate was tried"},
      {TUNE_ALL " --rigor fast --m 1 --n 1 --k 1", "is not a rigor"},
      {TUNE_ALL " --device cuda:99 --m 1 --n 1 --k 1", "CUDA"},
      {TUNE_ALL " /nowhere/list.csv", "/nowhere/list.csv"},
      {TUNE_ALL " --device host --dry-run --m 64 --n 64 --k 64 --budget-seconds 0.001",
       "too small"},
      {"printf 'types,m,n,kk\\nf32,1,1,1\\n' >wrong.csv; " TUNE_ALL " wrong.csv", "kk"},
      {TUNEDGEMM " forget" + host, "forgot 1 winner and "},
  };
  for (const auto& [command, expected] : expected_texts) {
    const std::string output = shell.run_on_terminal(command, columns).output;
    CAPTURE(columns, command, output);
    CHECK_THAT(output, ContainsSubstring(expected));
    CHECK(longest_line(output) <= columns);
  }
}

TEST_CASE("On a terminal of 80 columns progress is one line that neither wraps nor scrolls") {
  const Shell shell;
  const std::string name(90, 'n');
  std::ofstream(shell.folder() / "list.csv") << "name,types,m,n,k\n"
                                             << name << ",f32,48,24,16\n"
                                             << "second,f64,40,24,16\n";
  const auto [status, output, errors] = shell.run_on_terminal(
      TUNE_ALL " --device host --rigor quick --candidates 6 --budget-seconds 100 list.csv >table",
      80);
  CAPTURE(output);
  REQUIRE(status == 0);
  const std::string erase_line = "\r\x1b[2K";
  std::size_t rewrites = 0;
  for (std::size_t begin = output.find(erase_line); begin != std::string::npos; ++rewrites) {
    begin += erase_line.size();
    const std::size_t end = output.find(erase_line, begin);
    const std::string line = output.substr(begin, end - begin);
    CAPTURE(line);
    CHECK(display_width(line) <= 80);
    CHECK(line.find_first_of("\r\n") == std::string::npos);
    CHECK((line.empty() || line.find(" s  ") != std::string::npos ||
           line.find(" s left  ") != std::string::npos));
    begin = end;
  }
  CHECK(rewrites > 3);
  CHECK_THAT(output, ContainsSubstring("1/2  0 s  nnn") && ContainsSubstring("s left  second f64"));
}

}  // namespace
}  // namespace tunedgemm::internal

// Runs both programs with a full disk, with another program's file as the cache, and with control
// characters in texts.

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kShape = "--device host --m 24 --n 24 --k 24 --rigor quick --candidates 2 ";

TEST_CASE("tune-all reports winners that it could not store on a full disk, and exits with 4") {
  const Shell shell;
  REQUIRE(
      shell.run(TUNE_ALL " --device host --m 8 --n 8 --k 8 --rigor quick --candidates 2").status ==
      0);
  // No file may grow beyond the cache's current size.
  const auto kib = std::filesystem::file_size(shell.cache()) / 1024;
  const ProgramResult result = shell.run(
      "bash -c 'trap \"\" XFSZ; ulimit -f " + std::to_string(kib) +
      "; " TUNE_ALL " --device host --m 24:40:4 --n 24 --k 24 --rigor quick --candidates 2'");
  CAPTURE(result.output, result.errors);
  CHECK(result.status == 4);
  CHECK_THAT(result.errors, ContainsSubstring("could not be stored in"));
  CHECK_THAT(result.errors, ContainsSubstring("will have to be tuned again"));
  // Without the limit, tuning succeeds.
  CHECK(shell.run(TUNE_ALL " " + kShape).status == 0);
}

TEST_CASE("A program whose standard output is a full disk reports it and exits with 4") {
  const Shell shell;
  REQUIRE(shell.run(TUNE_ALL " " + kShape).status == 0);
  const std::string command =
      GENERATE(as<std::string>(), TUNEDGEMM " best", TUNEDGEMM " best --json",
               TUNEDGEMM " trials 24 24 24 --device host", TUNEDGEMM " doctor", TUNEDGEMM " --help",
               TUNEDGEMM " export --csv -", TUNEDGEMM " explain 24 24 24 --device host",
               TUNE_ALL " --dry-run --device host --m 8 --n 8 --k 8",
               TUNE_ALL " --device host --m 24 --n 24 --k 24 --rigor quick", TUNE_ALL " --help");
  const ProgramResult result = shell.run(command + " > /dev/full");
  CAPTURE(command, result.errors);
  CHECK(result.status == 4);
  CHECK_THAT(result.errors, ContainsSubstring("the standard output could not be written"));
}

TEST_CASE(
    "Every program refuses a file that is no cache, with a message, and leaves it unchanged") {
  const Shell shell;
  REQUIRE(shell.run("echo precious > letter.txt").status == 0);
  const std::string command =
      GENERATE(as<std::string>(), TUNE_ALL " --device host --m 8 --n 8 --k 8", TUNEDGEMM " best",
               TUNEDGEMM " doctor", TUNEDGEMM " export copy.db");
  const ProgramResult result = shell.run(command + " --cache letter.txt");
  CAPTURE(command, result.output, result.errors);
  CHECK(result.status != 0);
  CHECK_THAT(
      result.output + result.errors,
      ContainsSubstring("is not a cache of this library but a file that is no SQLite database") &&
          ContainsSubstring("Name another file with --cache"));
  CHECK(shell.run("cat letter.txt").output == "precious\n");
}

TEST_CASE("Control characters in printed texts are escaped") {
  const Shell shell;
  const std::string name = "$(printf 'a\\033[2J\\377\\342\\206\\222')";
  REQUIRE(shell.run("echo \"name,types,m,n,k\n" + name + ",f32,24,24,24\" > list.csv").status == 0);
  const ProgramResult dry_run = shell.run(TUNE_ALL " --dry-run --device host list.csv");
  CAPTURE(dry_run.output, dry_run.errors);
  CHECK_THAT(dry_run.output, ContainsSubstring("a\\u001b[2J\\xff→"));
  const ProgramResult absent = shell.run(TUNEDGEMM " bench --list \"" + name + "\"");
  CAPTURE(absent.errors);
  CHECK(absent.status == 2);
  CHECK_THAT(absent.errors, ContainsSubstring("a\\u001b[2J\\xff→ cannot be read"));
}

}  // namespace
}  // namespace tunedgemm::internal

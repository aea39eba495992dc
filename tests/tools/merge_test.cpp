// tunedgemm merge, and the recovery command for a damaged cache.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

// The command extends to the end of its line.
std::string recovery_command_in(const std::string& text) {
  const std::size_t begin = text.find("(umask");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find('\n', begin) - begin);
}

// Copies the shell's cache, which has one winner, `count` times into shards/, and gives each copy
// another problem.
void make_shards(const TunedShell& shell, int count) {
  const ProgramResult made = shell.run(
      "mkdir shards; for i in $(seq " + std::to_string(count) +
      "); do cp cache.db shards/shard-$i.db; sqlite3 shards/shard-$i.db "
      "\"UPDATE problem SET fingerprint = 'of $i', text = replace(text, 'm=40', 'm=$((40 + i))'), "
      "m = 40 + $i\" || exit 1; done; rm cache.db");
  CAPTURE(made.errors);
  REQUIRE(made.status == 0);
}

}  // namespace

TEST_CASE("merge imports the winner of another cache once, and best shows it") {
  const TunedShell shell;
  const std::string best = shell.run(TUNEDGEMM " best").output;
  fs::rename(shell.cache(), shell.folder() / "other.db");
  const ProgramResult merged = shell.run(TUNEDGEMM " merge other.db");
  CAPTURE(merged.errors);
  REQUIRE(merged.status == 0);
  REQUIRE_THAT(merged.errors, ContainsSubstring("other.db: 1 winners"));
  REQUIRE(shell.run(TUNEDGEMM " best").output == best);
  REQUIRE_THAT(shell.run(TUNEDGEMM " merge other.db").errors,
               ContainsSubstring("0 winners, 0 trials and 0 binaries"));
  REQUIRE(shell.run(TUNEDGEMM " merge nowhere.db").status == 2);
  REQUIRE(shell.run(TUNEDGEMM " merge").status == 2);
}

TEST_CASE("merge imports the files of a folder, and a bad one among them stops no other") {
  const TunedShell shell;
  make_shards(shell, 6);
  std::ofstream(shell.folder() / "shards/shard-0.db") << "a text";
  std::ofstream(shell.folder() / "shards/.shard-7.db") << "half of a file";
  std::ofstream(shell.folder() / "shards/list.csv") << "m,n,k";
  const ProgramResult merged = shell.run(TUNEDGEMM " merge shards --cache shards/all.db");
  CAPTURE(merged.output, merged.errors);
  CHECK(merged.status == 1);
  CHECK_THAT(merged.errors, ContainsSubstring("shard-0.db could not be merged"));
  CHECK_THAT(merged.errors, ContainsSubstring("\n6 files: 6 winners, "));
  CHECK_THAT(merged.errors, ContainsSubstring("all.db; 1 file was not merged\n"));
  CHECK(std::ranges::count(merged.errors, '\n') == 2);
  // The cache itself is now in the folder.
  fs::remove(shell.folder() / "shards/shard-0.db");
  const ProgramResult again = shell.run(TUNEDGEMM " merge shards --cache shards/all.db");
  CAPTURE(again.errors);
  CHECK(again.status == 0);
  CHECK_THAT(again.errors, ContainsSubstring("6 files: 0 winners, 0 trials and 0 binaries added"));
}

TEST_CASE("merge reports a folder without files, and merges the other paths") {
  const TunedShell shell;
  make_shards(shell, 2);
  fs::create_directory(shell.folder() / "empty");
  const ProgramResult merged =
      shell.run(TUNEDGEMM " merge empty shards/shard-2.db shards/shard-1.db");
  CAPTURE(merged.errors);
  CHECK(merged.status == 1);
  CHECK_THAT(merged.errors, ContainsSubstring("the folder empty has no *.db file to merge\n"
                                              "shards/shard-2.db: 1 winners"));
  CHECK_THAT(merged.errors, ContainsSubstring("shards/shard-1.db: 1 winners"));
  shell.run("rm cache.db; mkdir cache.db");
  const ProgramResult refused = shell.run(TUNEDGEMM " merge shards");
  CHECK(refused.status == 4);
  CHECK_THAT(refused.errors, ContainsSubstring("cannot be written, so nothing can be merged"));
}

TEST_CASE("merge reports problems that were tuned more than once") {
  const TunedShell shell;
  const ProgramResult changed = shell.run(
      "for name in one two; do cp cache.db $name.db; done; sqlite3 two.db \"UPDATE winner SET "
      "median_us = 2 * median_us, tuned_at = '2099-01-01 10:00:00'\"");
  REQUIRE(changed.status == 0);
  const ProgramResult merged = shell.run(TUNEDGEMM " merge one.db two.db");
  CAPTURE(merged.output, merged.errors);
  CHECK(merged.status == 0);
  CHECK_THAT(merged.output, ContainsSubstring("of two.db replaces"));
  CHECK_THAT(merged.output,
             ContainsSubstring("\n1 problem was tuned more than once: 0 agree, 0 differ in the "
                               "kernel, 1 differs in time by more than 2 %\n"));
  CHECK(shell.run(TUNEDGEMM " merge one.db two.db --cache new.db").output == merged.output);
}

TEST_CASE("merge names a file whose winners took longer than those of other files") {
  const TunedShell shell;
  make_shards(shell, 3);
  // Each part of the job has all three problems.
  const ProgramResult made = shell.run(
      "for part in 1 2 3; do " TUNEDGEMM
      " merge shards --cache part-$part.db && sqlite3 "
      "part-$part.db \"UPDATE winner SET median_us = CASE WHEN $part = 2 THEN 12 ELSE 10 END, "
      "tuned_at = '2026-01-01 10:00:0$part'\" || exit 1; done");
  CAPTURE(made.errors);
  REQUIRE(made.status == 0);
  const ProgramResult merged = shell.run(TUNEDGEMM " merge part-1.db part-2.db part-3.db");
  CAPTURE(merged.output, merged.errors);
  CHECK_THAT(merged.output, ContainsSubstring("3 problems were tuned more than once"));
  CHECK_THAT(merged.output, ContainsSubstring("\npart-2.db: its 3 problems that other files have "
                                              "too took 1.20 times as long"));
  CHECK(merged.output.find("part-1.db: its") == std::string::npos);
  CHECK(merged.output.find("part-3.db: its") == std::string::npos);
}

TEST_CASE("merge shows its progress on a terminal, and Ctrl-C ends it between two files") {
  const TunedShell shell;
  make_shards(shell, 100);
  const ProgramResult stopped =
      shell.run_on_terminal(TUNEDGEMM " merge shards", 300, "1/100  shard-1.db");
  CAPTURE(stopped.output);
  CHECK(stopped.status == 130);
  CHECK_THAT(stopped.output, ContainsSubstring("interrupted before the last"));
  const ProgramResult rest = shell.run(TUNEDGEMM " merge shards");
  CHECK(rest.status == 0);
  CHECK_THAT(rest.errors, ContainsSubstring("100 files: "));
  CHECK(shell.run("sqlite3 cache.db 'SELECT count(*) FROM best'").output == "100\n");
}

TEST_CASE("The command printed for a damaged cache recovers its winners") {
  const TunedShell shell;
  const std::string best = shell.run(TUNEDGEMM " best").output;
  // Opening the cache detects a missing table.
  REQUIRE(shell
              .run("sqlite3 -cmd '.dbconfig defensive off' cache.db 'PRAGMA writable_schema = ON; "
                   "DELETE FROM sqlite_schema WHERE name = \"lease\"'")
              .status == 0);
  const ProgramResult doctor = shell.run(TUNEDGEMM " doctor");
  CAPTURE(doctor.output, doctor.errors);
  REQUIRE_THAT(doctor.output, ContainsSubstring("0 winners"));
  REQUIRE(fs::exists(shell.cache().string() + ".corrupt"));
  const std::string command = recovery_command_in(doctor.output);
  REQUIRE(recovery_command_in(doctor.errors) == command);  // also in the log
  const ProgramResult recovered = shell.run("PATH=$(dirname " TUNEDGEMM "):$PATH; " + command);
  CAPTURE(command, recovered.output, recovered.errors);
  REQUIRE(recovered.status == 0);
  REQUIRE(shell.run(TUNEDGEMM " best").output == best);
}

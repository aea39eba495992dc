// tune-all --results: several processes with one folder for their winners.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"
#include "tools/shared/cache_files.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Shell commands that wait for the first results of process $pid, or for its end.
const std::string kAwaitFile =
    "while kill -0 $pid && ! ls results/*.db; do sleep 0.01; done 2>/dev/null >&2; ";

// A shell with a list of six shapes.
class ClusterShell : public Shell {
 public:
  ClusterShell() {
    std::ofstream(folder() / "list.csv") << "types,layout,m,n,k\nf32,nn,40,24,16\nf32,nn,41,24,16\n"
                                            "f32,nn,42,24,16\nf32,nn,43,24,16\nf32,nn,44,24,16\n"
                                            "f32,nn,45,24,16\n";
  }

  ProgramResult tune(const std::string& options) const {
    return run(
        TUNE_ALL
        " list.csv --device host --rigor quick --candidates 2 --budget-seconds 100 --results "
        "results " +
        options);
  }
  void require_tuned(const std::string& options, const std::string& sentence) const {
    const ProgramResult result = tune(options);
    CAPTURE(options, result.output, result.errors);
    REQUIRE(result.status == 0);
    REQUIRE_THAT(result.output, ContainsSubstring(sentence));
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder() / "results")) {
      if (entry.path().extension() == ".db") {  // a killed run may leave an unfinished file too
        files.push_back(entry.path());
      }
    }
    std::ranges::sort(files);
    return files;
  }
  std::size_t winners_in(const fs::path& file) const {
    return open_file_for_reading(file)->winners().size();
  }
};

TEST_CASE("Each shard writes a file of its winners, and together they are the list") {
  const ClusterShell shell;
  shell.require_tuned("--shard 0/3", "2 tuned");
  shell.require_tuned("--shard 1/3", "2 tuned");
  shell.require_tuned("--shard 2/3", "2 tuned");
  REQUIRE(shell.files().size() == 3);
  for (const fs::path& file : shell.files()) {
    CHECK(shell.winners_in(file) == 2);
    CHECK((fs::status(file).permissions() & fs::perms::all) ==
          (fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read));
  }
  CHECK_FALSE(fs::exists(shell.cache()));  // the usual cache was not used
  const ProgramResult merged = shell.run(TUNEDGEMM " merge results/*.db");
  CAPTURE(merged.errors);
  REQUIRE(merged.status == 0);
  REQUIRE(shell.winners_in(shell.cache()) == 6);

  SECTION("the same command, or one with another number of shards, tunes nothing again") {
    shell.require_tuned("--shard 1/3", "0 tuned");
    shell.require_tuned("--shard 0/2", "0 tuned");
    shell.require_tuned("", "0 tuned");
    CHECK(shell.files().size() == 3);
  }
  SECTION("a shard that is lost is tuned by any number of others") {
    fs::remove(shell.files()[1]);
    const ProgramResult whole = shell.tune("");
    CAPTURE(whole.output, whole.errors);
    REQUIRE_THAT(whole.output, ContainsSubstring("2 tuned"));
    REQUIRE_THAT(whole.errors,
                 ContainsSubstring("2 of 6 shapes, and 4 that other files in results have"));
  }
  SECTION("a file of another shard that cannot be read is a file without winners") {
    fs::permissions(shell.files()[0], fs::perms::owner_write, fs::perm_options::add);
    std::ofstream(shell.files()[0]) << "not a database";
    shell.require_tuned("--shard 1/3", "0 tuned");
    const ProgramResult whole = shell.tune("");
    CAPTURE(whole.output, whole.errors);
    REQUIRE_THAT(whole.output, ContainsSubstring("2 tuned"));
  }
  SECTION("a shard does not replace an earlier file of its own that it cannot read") {
    const fs::path own = shell.files()[1];
    fs::permissions(own, fs::perms::owner_write, fs::perm_options::add);
    const std::string harm =
        GENERATE(as<std::string>(), "chmod g+w", "sqlite3 -cmd 'PRAGMA user_version = 2'",
                 "echo text >", "head -c 5000 /dev/zero >", "truncate -s -20000");
    const ProgramResult harmed = shell.run(harm + " " + own.string() + " </dev/null");
    CAPTURE(harm, harmed.errors);
    REQUIRE(harmed.status == 0);
    const std::string before = contents(own);
    for (const std::string options : {"", "--force "}) {
      const ProgramResult again = shell.tune("--shard 1/3 " + options);
      CAPTURE(again.output, again.errors);
      CHECK(again.status == 2);
      CHECK_THAT(again.errors, ContainsSubstring("are not written over the earlier file") &&
                                   ContainsSubstring(own.filename().string()) &&
                                   ContainsSubstring("move it elsewhere"));
      CHECK(contents(own) == before);
    }
    fs::rename(own, own.string() + ".moved");
    shell.require_tuned("--shard 1/3", "2 tuned");
  }
  SECTION("greater rigor tunes again, and the new winners replace the old ones in the file") {
    const ProgramResult normal =
        shell.run(TUNE_ALL
                  " list.csv --device host --rigor normal --candidates 2 --budget-seconds 100 "
                  "--results results --shard 0/3");
    CAPTURE(normal.output, normal.errors);
    REQUIRE_THAT(normal.output, ContainsSubstring("2 tuned"));
    REQUIRE(shell.files().size() == 3);
    REQUIRE(shell.winners_in(shell.files()[0]) == 2);
  }
}

TEST_CASE("A shard that is killed leaves what it had tuned, and the same command tunes the rest") {
  const ClusterShell shell;
  const ProgramResult killed = shell.run(
      TUNE_ALL
      " list.csv --device host --rigor quick --candidates 2 --budget-seconds 100 --results "
      "results --shard 0/1 & pid=$!; " +
      kAwaitFile + "kill -KILL $pid; wait $pid");
  CAPTURE(killed.output, killed.errors);
  REQUIRE(killed.status == 128 + 9);
  REQUIRE(shell.files().size() == 1);
  const std::size_t kept = shell.winners_in(shell.files()[0]);
  REQUIRE(kept >= 1);
  const ProgramResult rest = shell.tune("--shard 0/1");
  CAPTURE(kept, rest.output, rest.errors);
  REQUIRE(rest.status == 0);
  REQUIRE_THAT(rest.output, ContainsSubstring(std::to_string(6 - kept) + " tuned"));
  REQUIRE(shell.winners_in(shell.files()[0]) == 6);
}

// Runs a shard of everything in a TMPDIR of its own, and `then` once its file is there.
ProgramResult tune_and(const ClusterShell& shell, const std::string& then) {
  fs::create_directory(shell.folder() / "tmp");
  fs::permissions(shell.folder() / "tmp", fs::perms::owner_all);
  return shell.run(
      "export TMPDIR=$PWD/tmp; " TUNE_ALL
      " list.csv --device host --rigor quick --candidates 2 --budget-seconds 100 --results "
      "results --shard 0/1 & pid=$!; " +
      kAwaitFile + then + "; wait $pid");
}

TEST_CASE("Winners that cannot be published are told at once and kept") {
  const ClusterShell shell;
  const ProgramResult result = tune_and(shell, "mv results moved && echo text > results");
  CAPTURE(result.output, result.errors);
  CHECK(result.status == 4);
  CHECK_THAT(result.output, ContainsSubstring("6 tuned") && !ContainsSubstring("Results: "));
  CHECK_THAT(result.errors, ContainsSubstring(": Not a directory; the winners are kept in ") &&
                                ContainsSubstring("tunedgemm merge "));
  const fs::path kept = fs::directory_iterator(shell.folder() / "tmp")->path();
  CHECK_THAT(result.errors, ContainsSubstring("    tunedgemm merge " + kept.string()));
  // Other programs with the same TMPDIR leave it alone.
  const ProgramResult merged = shell.run("TMPDIR=$PWD/tmp " TUNE_ALL
                                         " --device host --m 4 --n 4 --k 4 --rigor quick "
                                         "--candidates 2 --cache other.db; " TUNEDGEMM " merge " +
                                         (kept / "tunedgemm.db").string());
  CAPTURE(merged.errors);
  CHECK(merged.status == 0);
  CHECK(shell.winners_in(shell.cache()) == 6);
}

TEST_CASE("A run whose local cache is removed publishes no fewer winners, and tells what is lost") {
  const ClusterShell shell;
  const ProgramResult result = tune_and(shell, "rm -rf tmp/tunedgemm-*");
  CAPTURE(result.output, result.errors);
  REQUIRE(shell.files().size() == 1);
  const std::size_t published = shell.winners_in(shell.files()[0]);
  CHECK_THAT(result.errors, ContainsSubstring("something has removed the cache"));
  CHECK(result.status == (published == 6 ? 0 : 4));
  CHECK(published >= 1);
  if (published < 6) {
    CHECK_THAT(result.errors,
               ContainsSubstring(std::to_string(6 - published) + " of 6 winners are not in "));
  }
  CHECK(fs::is_empty(shell.folder() / "tmp"));
  const ProgramResult rest = shell.tune("--shard 0/1");
  CHECK(rest.status == 0);
  CHECK(shell.winners_in(shell.files()[0]) == 6);
}

TEST_CASE("Two runs of one shard lose nothing of each other") {
  const ClusterShell shell;
  // Before the first run, so that the second one publishes while it goes on.
  const ProgramResult second = shell.run(
      TUNE_ALL " --m 7 --n 8 --k 9 --device host --rigor quick --candidates 2 --cache more.db");
  REQUIRE(second.status == 0);
  const ProgramResult both =
      tune_and(shell,
               "f=$(ls results/*.db) && mkdir more && cp $f more/own.db && chmod u+w more/own.db "
               "&& " TUNEDGEMM " merge more.db --cache more/own.db && mv -f more/own.db $f");
  CAPTURE(both.output, both.errors);
  REQUIRE(both.status == 0);
  REQUIRE(shell.files().size() == 1);
  CHECK(shell.winners_in(shell.files()[0]) == 7);
}

TEST_CASE("With --force an interrupted shard keeps the winners that it had") {
  const ClusterShell shell;
  shell.require_tuned("--shard 0/1", "6 tuned");
  const ProgramResult forced = shell.tune("--shard 0/1 --force --total-seconds 0.001");
  CAPTURE(forced.output, forced.errors);
  REQUIRE_THAT(forced.output, ContainsSubstring("0 tuned"));
  REQUIRE(shell.winners_in(shell.files()[0]) == 6);
}

TEST_CASE("Audited shapes are tuned by both of their shards, and only once by each") {
  const ClusterShell shell;
  shell.require_tuned("--shard 0/2 --audit 1/1", "6 tuned");
  shell.require_tuned("--shard 1/2 --audit 1/1", "6 tuned");
  shell.require_tuned("--shard 1/2 --audit 1/1", "0 tuned");
}

TEST_CASE("Different lists may share a folder for results") {
  const ClusterShell shell;
  shell.require_tuned("--shard 0/1", "6 tuned");
  const ProgramResult other =
      shell.run(TUNE_ALL
                " --m 7 --n 8 --k 9 --device host --rigor quick --candidates 2 --results results "
                "--shard 0/1");
  CAPTURE(other.output, other.errors);
  REQUIRE(other.status == 0);
  REQUIRE(shell.files().size() == 2);
  CHECK(shell.winners_in(shell.files()[0]) + shell.winners_in(shell.files()[1]) == 7);
}

TEST_CASE("The ladder of a layer goes on from the winners in the folder for results") {
  const Shell shell;
  std::ofstream(shell.folder() / "layers.csv") << "types,layout,n,k\nf32,nt,24,16\nf32,nt,32,16\n";
  const std::string command = TUNE_ALL
      " layers.csv --m-ladder auto:16 --device host --rigor quick --candidates 2 --results "
      "results ";
  for (const std::string shard : {"--shard 0/2", "--shard 1/2"}) {
    const ProgramResult result = shell.run(command + shard);
    CAPTURE(shard, result.output, result.errors);
    REQUIRE(result.status == 0);
    REQUIRE_THAT(result.output, ContainsSubstring(" of M added"));
    REQUIRE_THAT(result.errors, ContainsSubstring("3 of 6 shapes"));
  }
  const ProgramResult again = shell.run(command);
  CAPTURE(again.output, again.errors);
  REQUIRE(again.status == 0);
  REQUIRE_THAT(again.output, ContainsSubstring("0 tuned") && ContainsSubstring("0 values of M"));
}

TEST_CASE(
    "A folder for results that others can write, or that cannot be made, is refused at once") {
  const ClusterShell shell;
  fs::create_directory(shell.folder() / "results");
  fs::permissions(shell.folder() / "results", fs::perms::others_write, fs::perm_options::add);
  const ProgramResult open = shell.tune("--shard 0/1");
  CAPTURE(open.errors);
  CHECK(open.status == 2);
  CHECK_THAT(open.errors, ContainsSubstring("--results results is not used: "));
  fs::remove(shell.folder() / "results");
  std::ofstream(shell.folder() / "results") << "a file";
  const ProgramResult file = shell.tune("--shard 0/1");
  CAPTURE(file.errors);
  CHECK(file.status == 2);
  CHECK_THAT(file.errors, ContainsSubstring("Not a directory"));
}

TEST_CASE("The options of a shard are checked before a device is opened") {
  const Shell shell;
  const std::string command = TUNE_ALL " --m 5 --n 5 --k 5 --device host ";
  require_wrong_use(shell, command + "--shard 2/2", "there is no shard 2 of 2");
  require_wrong_use(shell, command + "--audit 1/2", "--audit requires --results");
  require_wrong_use(shell, command + "--results r --audit 2", "expected 1/N");
  require_wrong_use(shell, command + "--results r --cache c.db", "--cache excludes --results");
  require_wrong_use(shell, TUNE_ALL " --from-requests --results r", "excludes");
}

TEST_CASE("A dry run of a shard writes no file") {
  const ClusterShell shell;
  const ProgramResult result = shell.tune("--shard 0/2 --dry-run");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("3 shapes on "));
  REQUIRE_FALSE(fs::exists(shell.folder() / "results"));
}

}  // namespace
}  // namespace tunedgemm::internal

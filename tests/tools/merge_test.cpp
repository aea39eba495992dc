// tunedgemm merge, and the recovery command for a damaged cache.

#include <filesystem>
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

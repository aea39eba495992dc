// tunedgemm merge, and the command that brings back what a damaged cache still holds.

#include <filesystem>
#include <string>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

// The last path of the command is printed up to the end of its line.
std::string recovery_command_in(const std::string& text) {
  const std::size_t begin = text.find("(umask");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("merge takes the winner of another cache once, and best shows it") {
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
  REQUIRE(shell.run(TUNEDGEMM " merge nowhere.db").status == 1);
  REQUIRE(shell.run(TUNEDGEMM " merge").status == 2);
}

TEST_CASE("The command that is printed for a damaged cache brings its winners back") {
  const TunedShell shell;
  const std::string best = shell.run(TUNEDGEMM " best").output;
  // A table of the schema is lost, which a start notices.
  REQUIRE(shell
              .run("sqlite3 -cmd '.dbconfig defensive off' cache.db 'PRAGMA writable_schema = ON; "
                   "DELETE FROM sqlite_schema WHERE name = \"lease\"'")
              .status == 0);
  const ProgramResult doctor = shell.run(TUNEDGEMM " doctor");
  CAPTURE(doctor.output, doctor.errors);
  REQUIRE_THAT(doctor.output, ContainsSubstring("0 winners"));
  REQUIRE(fs::exists(shell.cache().string() + ".corrupt"));
  const std::string command = recovery_command_in(doctor.output);
  REQUIRE(recovery_command_in(doctor.errors) == command);  // the log says the same
  const ProgramResult recovered = shell.run("PATH=$(dirname " TUNEDGEMM "):$PATH; " + command);
  CAPTURE(command, recovered.output, recovered.errors);
  REQUIRE(recovered.status == 0);
  REQUIRE(shell.run(TUNEDGEMM " best").output == best);
}

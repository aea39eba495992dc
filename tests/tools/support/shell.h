#pragma once

// Shell: runs programs in their own folder with their own cache.

#include <filesystem>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {

struct ProgramResult {
  int status = -1;  ///< the exit status, or 128 + the signal
  std::string output;
  std::string errors;
};

/// Used by one thread.
class Shell {
 public:
  /// Runs the command line in the folder with $TUNEDGEMM_CACHE = cache().
  ProgramResult run(const std::string& command_line) const;

  /// The same on a terminal of its own of this width. The output includes standard error. When it
  /// first contains `interrupt_at`, unless that is empty, Ctrl-C is typed.
  ProgramResult run_on_terminal(const std::string& command_line, unsigned short columns,
                                const std::string& interrupt_at = "") const;

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path cache() const { return folder() / "cache.db"; }

 private:
  TemporaryFolder folder_;
};

/// Requires that the command line is refused as wrong (status 2), with the sentence.
inline void require_wrong_use(const Shell& shell, const std::string& command_line,
                              const std::string& sentence) {
  const ProgramResult result = shell.run(command_line);
  CAPTURE(command_line, result.output, result.errors);
  REQUIRE(result.status == 2);
  REQUIRE_THAT(result.errors, Catch::Matchers::ContainsSubstring(sentence));
}

/// A shell with one winner in its cache: f32, 40 x 24 x 16 on the host.
class TunedShell : public Shell {
 public:
  TunedShell() {
    const ProgramResult tuned =
        run(TUNE_ALL
            " --device host --rigor quick --candidates 3 --budget-seconds 100 --m 40 --n 24 "
            "--k 16");
    CAPTURE(tuned.output, tuned.errors);
    REQUIRE(tuned.status == 0);
  }
};

}  // namespace tunedgemm::internal

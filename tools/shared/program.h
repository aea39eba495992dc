#pragma once

// How the programs start, handle interrupts and exit.

#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace tunedgemm::internal {

enum class ExitStatus {
  kGood = 0,
  kNoResult = 1,  ///< no result, or none for some shapes
  kWrongUse = 2,
  kNoDevice = 3,  ///< or no writable cache, if one is needed
  kCannotWrite = 4,
  kInterrupted = 130,  ///< the shells' status for SIGINT
};

/// A program's main: parses the command line, calls `run`, prints exceptions to standard error and
/// returns the matching exit status. Until it returns, the standard streams pass all text through
/// printable(), so that no output can control the terminal.
///
/// If one of the commands below started the program, it acts as that compiler or worker instead.
int run_program(CLI::App& app, int argc, char** argv, const std::function<ExitStatus()>& run);

/// The command that starts this program as a compiler, for DeviceOptions::compile_command.
std::vector<std::string> compile_command();
/// The command that starts this program as a worker, for ContextOptions::worker_command.
std::vector<std::string> worker_command();

/// After this call the first SIGINT, SIGTERM or SIGHUP sets interrupted(), which asks the run to
/// keep finished results and end; a second signal has its default effect. SIGPIPE also sets
/// interrupted(), since nobody reads the output any more.
void note_interrupts();
bool interrupted();

}  // namespace tunedgemm::internal

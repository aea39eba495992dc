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
/// returns the matching exit status. The standard streams pass all text through printable()
/// meanwhile, so that no output can control the terminal.
///
/// If the program was started by one of the commands below, it acts as that child instead.
int run_program(CLI::App& app, int argc, char** argv, const std::function<ExitStatus()>& run);

/// Starts this program as a compiler: DeviceOptions::compile_command.
std::vector<std::string> compile_command();
/// Starts this program as a worker: ContextOptions::worker_command.
std::vector<std::string> worker_command();

/// After this call the first SIGINT, SIGTERM or SIGHUP sets interrupted(), which asks the run to
/// keep finished results and end; a second one has its default effect. SIGPIPE sets it as well,
/// since nobody reads the output any more.
void note_interrupts();
bool interrupted();

}  // namespace tunedgemm::internal

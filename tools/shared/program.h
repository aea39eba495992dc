#pragma once

// The common start, interrupt handling and exit of the programs.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace tunedgemm::internal {

enum class ExitStatus {
  kGood = 0,
  kNoResult = 1,  ///< at least one shape has no result
  kWrongUse = 2,
  kNoDevice = 3,  ///< or no cache can be written, if one is needed
  kCannotWrite = 4,
  kInterrupted = 130,  ///< the shells' status for SIGINT
};

/// A program's main: parses the command line, calls `run`, prints exceptions to standard error and
/// returns the matching exit status. Meanwhile std::cout and std::cerr pass all text through
/// printable(), so that the text cannot control the terminal, and the lines of std::cerr are
/// wrapped to fit the terminal. std::clog passes through neither.
///
/// If compile_command() or worker_command() started the program, it acts as a compiler or a worker
/// instead.
int run_program(CLI::App& app, int argc, char** argv, const std::function<ExitStatus()>& run);

/// The command that starts this program as a compiler, for DeviceOptions::compile_command.
std::vector<std::string> compile_command();
/// The command that starts this program as a worker, for ContextOptions::worker_command.
std::vector<std::string> worker_command();

/// After this call the first SIGINT, SIGTERM or SIGHUP sets interrupted(), which asks the run to
/// keep finished results and end; the second one of the same kind has its default effect. SIGPIPE
/// sets interrupted() too, since nobody reads the output any more. Ignored signals stay ignored.
void note_interrupts();
bool interrupted();
/// Waits for so long, or until interrupted(), which it returns.
bool interrupted_within(std::chrono::duration<double> time);

}  // namespace tunedgemm::internal

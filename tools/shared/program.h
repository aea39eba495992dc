#pragma once

// What the programs do as processes: how they start, how they are interrupted, how they end.

#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace tunedgemm::internal {

enum class ExitStatus {
  kGood = 0,
  kNoResult = 1,  ///< or, of some shapes, not every one
  kWrongUse = 2,
  kNoDevice = 3,  ///< or, where one is needed, no cache that can be written
  kCannotWrite = 4,
  kInterrupted = 130,  ///< as shells say it
};

/// A program's main: parses the command line, runs what it asks for, and tells on the standard
/// error stream what is thrown, each time with the status for it. Meanwhile the standard streams
/// show all text as printable() does, so that nothing that a program prints can act on the terminal,
/// wherever the text is from.
///
/// A program that a process of ours has started by one of the commands below does their work
/// instead.
int run_program(CLI::App& app, int argc, char** argv, const std::function<ExitStatus()>& run);

/// What starts this program as a compiler: DeviceOptions::compile_command.
std::vector<std::string> compile_command();
/// What starts this program as a worker: ContextOptions::worker_command.
std::vector<std::string> worker_command();

/// From now on the first SIGINT, SIGTERM or SIGHUP asks the run to end and keep what is done; a
/// second one has its usual effect. SIGPIPE asks, too: nobody reads any more what the run writes.
void note_interrupts();
bool interrupted();

}  // namespace tunedgemm::internal

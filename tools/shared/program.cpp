#include "tools/shared/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/text.h"
#include "runtime/cuda/compile_process.h"
#include "runtime/device.h"
#include "runtime/tuning/worker_conversation.h"
#include "runtime/worker/worker_process.h"
#include "tools/shared/colour.h"
#include "tools/shared/completions.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/shared/usage.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

std::optional<int> run_as_child(std::span<char* const> arguments) {
  const std::string_view role = arguments.size() < 2 ? "" : arguments[1];
  if (role == cuda::kCompilerFlag) {
    return cuda::run_compiler(arguments.subspan(2));
  }
  if (role == kWorkerFlag) {
    return run_worker(arguments.subspan(2), compile_command());
  }
  return std::nullopt;
}

// Breaks lines so that they fit the standard error's terminal. The text may come in pieces.
class FittingLines {
 public:
  // Returns the text to write now. The last word of an unfinished line waits for its end.
  std::string add(const std::string& text) {
    line_ += text;
    const std::string all = wrapped(line_, sentence_width(STDERR_FILENO));
    const std::size_t end = all.ends_with('\n') ? all.size() : all.find_last_of(" \n");
    return written_before(end == std::string::npos ? written_ : end, all);
  }
  std::string finish() {
    const std::string all = wrapped(line_, sentence_width(STDERR_FILENO));
    return written_before(all.size(), all);
  }

 private:
  std::string written_before(std::size_t end, const std::string& all) {
    std::string next = end > written_ ? all.substr(written_, end - written_) : "";
    written_ = std::max(written_, end);
    if (all.ends_with('\n')) {
      line_.clear();
      written_ = 0;
    }
    return next;
  }

  std::string line_;         // not finished
  std::size_t written_ = 0;  // of its wrapped text
};

// During its lifetime, the stream's output passes through printable(), or through
// printable_coloured() if the terminal has colours, and messages through FittingLines.
class PrintableOutput final : private std::stringbuf {
 public:
  PrintableOutput(std::ostream& stream, int descriptor)
      : stream_(stream), destination_(stream.rdbuf(this)) {
    set_colours(stream, shows_colours(descriptor));
  }
  ~PrintableOutput() override {
    stream_.flush();
    write(lines_.finish());
    stream_.rdbuf(destination_);
  }
  PrintableOutput(const PrintableOutput&) = delete;
  PrintableOutput& operator=(const PrintableOutput&) = delete;

 private:
  int sync() override {
    std::string text =
        has_colours(stream_) ? printable_coloured(str()) : printable(str(), Lines::kMany);
    str("");
    return write(&stream_ == &std::cerr ? lines_.add(text) : text);
  }

  int write(const std::string& text) {
    const auto size = static_cast<std::streamsize>(text.size());
    return destination_->sputn(text.data(), size) == size ? destination_->pubsync() : -1;
  }

  std::ostream& stream_;
  std::streambuf* destination_;
  FittingLines lines_;
};

void add_completions_option(CLI::App& app) {
  const std::vector<std::string> shells(kShells.begin(), kShells.end());
  const auto print = [&app](const std::string& shell) {
    throw CLI::CallForVersion(completions(app, shell), 0);  // ends the parsing, as --version does
  };
  app.add_option_function<std::string>("--completion", print,
                                       "print completions for the shell to read")
      ->check(CLI::IsMember(shells).description(""))
      ->type_name(CLI::detail::join(shells, "|"));
}

// The program's name, which ends at the colon, is red.
void print_error(const std::string& text) {
  const std::string message = printable(text, Lines::kMany);
  const std::size_t end = message.find(':') + 1;
  std::cerr << coloured(std::cerr, message.substr(0, end), Colour::kRed) << message.substr(end)
            << '\n';
}

ExitStatus run_and_report(CLI::App& app, int argc, char** argv,
                          const std::function<ExitStatus()>& run) {
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version or --completion
      app.exit(error);
      return ExitStatus::kGood;
    }
    print_error(usage_message(app, error));
    return ExitStatus::kWrongUse;
  } catch (const DeviceError& error) {
    print_error(app.get_name() + ": " + error.what());
    return ExitStatus::kNoDevice;
  } catch (const std::exception& error) {
    print_error(app.get_name() + ": " + error.what());
    return ExitStatus::kWrongUse;
  }
}

volatile std::sig_atomic_t signal_received = 0;

extern "C" void note_signal(int /*signal*/) {
  signal_received = 1;
}

void install_handler(int signal, unsigned flags) {
  struct sigaction before {};
  sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) {  // set by nohup, for example
    return;
  }
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESTART | flags);
  sigaction(signal, &action, nullptr);
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<ExitStatus()>& run) {
  if (const auto status = run_as_child({argv, static_cast<std::size_t>(argc)})) {
    return *status;
  }
  app.set_version_flag("--version", app.get_name() + " " + tunedgemm_version());
  add_completions_option(app);
  log_without_times();
  fit_help(app);
  const PrintableOutput results(std::cout, STDOUT_FILENO);
  const PrintableOutput messages(std::cerr, STDERR_FILENO);
  ExitStatus status = run_and_report(app, argc, argv, run);
  if (!std::cout.flush()) {
    std::cerr << app.get_name() << ": the standard output could not be written\n";
    status = status == ExitStatus::kGood ? ExitStatus::kCannotWrite : status;
  }
  return static_cast<int>(status);
}

std::vector<std::string> compile_command() {
  return {kThisProgram, std::string(cuda::kCompilerFlag)};
}

std::vector<std::string> worker_command() {
  return {kThisProgram, std::string(kWorkerFlag)};
}

void note_interrupts() {
  // One-shot handlers, so that the second Ctrl-C ends the process.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    install_handler(signal, SA_RESETHAND);
  }
  install_handler(SIGPIPE, 0);
}

bool interrupted() {
  return signal_received != 0;
}

bool interrupted_within(std::chrono::duration<double> time) {
  constexpr std::chrono::milliseconds kStep{50};
  const auto end = std::chrono::steady_clock::now() + time;
  while (!interrupted() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kStep);
  }
  return interrupted();
}

}  // namespace tunedgemm::internal

// tunedgemm top: shows the calls of running programs, problem by problem.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/text.h"
#include "tools/shared/named_problem.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

struct TopOptions {
  std::string folder = environment("TUNEDGEMM_TOP");
  double interval_seconds = 1;
  bool once = false;
};

// By process and problem.
using Calls = std::map<std::pair<std::string, std::string>, std::int64_t>;

std::string first_line_of(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// Adds the lines of a process's file (CallSummary::lines()).
void add_rows(const fs::path& file, const Calls& before, double seconds, Calls& now, Table& table) {
  const std::string process = file.filename().string();
  std::string program = first_line_of(fs::path("/proc") / process / "comm");
  program.append(" ").append(process);
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto fields = split(line, '\t');
    const std::optional<Problem> problem =
        fields.size() == 5 ? parse_problem(fields[3]) : std::nullopt;
    if (!problem) {
      continue;  // of another version
    }
    const std::int64_t calls = whole_number<std::int64_t>(fields[0]).value_or(0);
    const double us = std::stod(std::string(fields[1]));
    const std::pair key(process, std::string(fields[3]));
    now[key] = calls;
    const auto earlier = before.find(key);
    const double rate =
        earlier == before.end() ? 0 : static_cast<double>(calls - earlier->second) / seconds;
    table.add({program, extents_text(*problem) + " " + layout_text(*problem), types_text(*problem),
               std::string(fields[2]), std::to_string(calls),
               earlier == before.end() ? "" : rounded_text(rate), us > 0 ? time_text(us) : "-",
               us > 0 && rate > 0 ? rounded_text(rate * us / 1e4) + " %" : "",
               std::string(fields[4])});
  }
}

ExitStatus top(const TopOptions& options) {
  if (options.folder.empty()) {
    throw std::invalid_argument(
        "no folder is given; start the programs with TUNEDGEMM_TOP=FOLDER, and name that folder");
  }
  Calls before;
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  note_interrupts();
  while (true) {
    Calls now;
    Table table({{"program", Align::kLeft, Constant::kHeading},
                 {"m x n x k"},
                 {"types", Align::kLeft, Constant::kHeading},
                 {"origin"},
                 {"calls", Align::kRight},
                 {"calls/s", Align::kRight},
                 {"time", Align::kRight},
                 {"busy", Align::kRight},
                 {"kernel", Align::kLeft, Constant::kColumn, TooWide::kWrap}});
    for (const auto& entry : fs::directory_iterator(options.folder)) {
      if (fs::exists(fs::path("/proc") / entry.path().filename())) {
        add_rows(entry.path(), before, options.interval_seconds, now, table);
      }
    }
    if (is_terminal && !options.once) {
      std::cout.flush();
      constexpr std::string_view kClear = "\x1b[H\x1b[J";
      (void)!write(STDOUT_FILENO, kClear.data(), kClear.size());
    }
    if (table.size() == 0) {
      std::cerr << "no running program writes to " << options.folder << " yet\n";
    } else {
      table.print_chosen(std::cout, line_width(STDOUT_FILENO), {.sort = "-calls"});
    }
    std::cout.flush();
    if (options.once || !std::cout) {
      return table.size() == 0 ? ExitStatus::kNoResult : ExitStatus::kGood;
    }
    before = std::move(now);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(options.interval_seconds);
    while (std::chrono::steady_clock::now() < end) {
      if (interrupted()) {
        return ExitStatus::kInterrupted;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace

void add_top(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("top", "show the calls of running programs, live");
  const auto options = std::make_shared<TopOptions>();
  verb->add_option("folder", options->folder, "the programs' $TUNEDGEMM_TOP; default the own one")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  verb->add_option("--interval", options->interval_seconds, "seconds between two looks")
      ->check(why_not_positive)
      ->capture_default_str();
  verb->add_flag("--once", options->once, "look once");
  verb->footer(
      "A program that runs with TUNEDGEMM_TOP=FOLDER writes its calls there once a second. time: "
      "the measured or expected time of a launch; busy: calls/s times that.");
  verb->callback([options, &status] { status = top(*options); });
}

}  // namespace tunedgemm::internal

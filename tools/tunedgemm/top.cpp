// tunedgemm top: shows the calls of running programs, problem by problem.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
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

struct Seen {
  std::int64_t calls = 0;
  fs::file_time_type written;  // when the program counted them
  double rate = 0;             // in a second; 0: not known yet
};
// By process and problem.
using Calls = std::map<std::pair<std::string, std::string>, Seen>;

// The rate between the last two counts of the program, which may be older than the last look.
double rate_of(const Seen& now, const Seen& before) {
  const std::chrono::duration<double> between = now.written - before.written;
  return between.count() > 0 ? static_cast<double>(now.calls - before.calls) / between.count()
                             : before.rate;
}

std::string first_line_of(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// Adds the lines of a process's file (CallSummary::lines()).
void add_rows(const fs::path& file, const Calls& before, Calls& now, Table& table) {
  std::error_code gone;
  const fs::file_time_type written = fs::last_write_time(file, gone);
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
    const double us = whole_number<double>(fields[1]).value_or(0);
    const std::pair key(process, std::string(fields[3]));
    Seen& seen = now[key];
    seen = {whole_number<std::int64_t>(fields[0]).value_or(0), written, 0};
    if (const auto earlier = before.find(key); earlier != before.end()) {
      seen.rate = rate_of(seen, earlier->second);
    }
    table.add({program, shape_text(*problem), types_text(*problem), std::string(fields[2]),
               std::to_string(seen.calls), seen.rate > 0 ? rounded_text(seen.rate) : "",
               us > 0 ? time_text(us) : "-",
               us > 0 && seen.rate > 0 ? rounded_text(seen.rate * us / 1e4) + " %" : "",
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
        add_rows(entry.path(), before, now, table);
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
    if (interrupted_within(std::chrono::duration<double>(options.interval_seconds))) {
      return ExitStatus::kInterrupted;
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

// tune-all: fills a cache with the winners of many shapes. See command_line.cpp for its options.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "tools/shared/full_disk.h"
#include "tools/shared/interrupt.h"
#include "tools/shared/own_processes.h"
#include "tools/shared/printable_output.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/text.h"
#include "tools/tune_all/command_line.h"
#include "tools/tune_all/report.h"

namespace {

using namespace tunedgemm::internal;

// And kCannotWrite.
enum ExitStatus { kAllHaveWinners = 0, kSomeHaveNone = 1, kWrongUse = 2, kNoDevice = 3 };
constexpr int kInterrupted = 130;  // as shells say it

std::string why_not_writable(const Store& store) {
  const StoreHealth health = store.health();
  return health.state == StoreState::kReadWrite
             ? ""
             : "the cache " + health.path.string() + " cannot be written (" +
                   std::string(name(health.state)) + "), so that nothing would be kept";
}

// Tries once more to write what waits in memory, and tells what does not go.
bool all_winners_are_stored(Store& store, const Session& session) {
  store.flush();
  const StoreHealth health = store.health();
  const auto of_worker = std::count_if(session.outcomes.begin(), session.outcomes.end(),
                                       [](const Outcome& outcome) { return outcome.is_unsaved; });
  const auto unsaved = static_cast<std::size_t>(health.unsaved_winners + of_worker);
  if (unsaved == 0) {
    return true;
  }
  std::cerr << "tune-all: " << counted(unsaved, "winner") << " could not be stored in "
            << health.path.string() << " and will have to be tuned again";
  if (!health.warnings.empty()) {
    std::cerr << ": " << health.warnings.back();
  }
  std::cerr << '\n';
  return false;
}

// Progress is shown on the terminal, as it is: it moves the cursor.
int tune_all(const CommandLine& line, Context& context, std::ostream& terminal) {
  std::vector<Request> noted;
  if (line.work.from_requests) {
    noted = context.store().requests(context.device().identity());
  }
  const WorkList work = make_work_list(line.work, noted);
  if (work.duplicates > 0) {
    std::cerr << counted(work.duplicates, "line")
              << " repeated a shape that was there already: left out\n";
  }
  const Estimate estimated = estimate(context, work.shapes, line.session);
  for (const std::string& warning : budget_warnings(estimated, line.session)) {
    std::cerr << warning << '\n';
  }
  if (line.dry_run) {
    print_estimate(std::cout, estimated, context);
    return kAllHaveWinners;
  }
  if (const auto reason = why_not_writable(context.store()); !reason.empty()) {
    std::cerr << "tune-all: " << reason << '\n';
    return kNoDevice;
  }
  const auto to_tune = std::count_if(estimated.shapes.begin(), estimated.shapes.end(),
                                     [](const PlannedShape& shape) { return !shape.tuned; });
  const auto style = isatty(STDERR_FILENO) != 0 ? ProgressDisplay::Style::kInPlace
                                                : ProgressDisplay::Style::kLines;
  ProgressDisplay display(terminal, style, static_cast<int>(work.shapes.size()),
                          static_cast<int>(to_tune));
  const Session session = tune_shapes(context, work.shapes, line.session, display);
  if (line.json) {
    print_json(std::cout, session);
  } else {
    print_table(std::cout, session);
  }
  print_summary(line.json ? std::cerr : std::cout, session, context);
  if (!all_winners_are_stored(context.store(), session)) {
    return kCannotWrite;
  }
  if (session.interrupted) {
    return kInterrupted;
  }
  if (!session.device_failure.empty()) {
    return kNoDevice;
  }
  const bool all = std::all_of(session.outcomes.begin(), session.outcomes.end(),
                               [](const Outcome& outcome) { return outcome.record.has_value(); });
  return all ? kAllHaveWinners : kSomeHaveNone;
}

int run(int argc, char** argv, std::ostream& terminal) {
  CLI::App app("", "tune-all");
  CommandLine line;
  add_options(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAllHaveWinners : kWrongUse;
  }
  if (line.work.lists.empty() && line.work.m.empty() && line.work.n.empty() &&
      line.work.k.empty() && !line.work.from_requests) {
    std::cerr << "tune-all: nothing to tune; give a list of shapes, or --m --n --k, or "
                 "--from-requests (--help says more)\n";
    return kWrongUse;
  }
  // Wrong input is told before a device is opened.
  if (!line.work.from_requests) {
    make_work_list(line.work, {});
  }
  note_interrupts();
  ContextOptions options = to_context_options(line.context);
  if (!line.in_process) {
    options.worker_command = worker_command();
  }
  const auto context = Context::create(options);
  return tune_all(line, *context, terminal);
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto compiled = compile_if_told(argc, argv)) {
    return *compiled;
  }
  if (const auto worked = work_if_told(argc, argv)) {
    return *worked;
  }
  survive_file_size_limit();
  const PrintableOutput results(std::cout);
  const PrintableOutput messages(std::cerr);
  std::ostream terminal(messages.destination());
  try {
    return status_after_output(run(argc, argv, terminal), "tune-all");
  } catch (const DeviceError& error) {
    std::cerr << "tune-all: " << error.what() << '\n';
    return kNoDevice;
  } catch (const std::exception& error) {  // ShapeListError, ShapeError, std::invalid_argument
    std::cerr << "tune-all: " << error.what() << '\n';
    return kWrongUse;
  }
}

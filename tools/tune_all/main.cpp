// tune-all: tunes a list of shapes and stores the winners in a cache.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/program.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tune_all/session.h"
#include "tools/tune_all/work_list.h"
#include "tuner/search_limits.h"

namespace {

using namespace tunedgemm::internal;

struct CommandLine {
  WorkRequest work;
  ContextChoice context;
  std::vector<std::string> devices;
  SessionOptions session;
  bool dry_run = false;
  bool json = false;
  bool wide = false;
  bool in_process = false;
};

std::string why_not_rigor(const std::string& text) {
  return parse_rigor_of_user(text)
             ? ""
             : '"' + text + "\" is not a rigor; expected quick, normal or exhaustive";
}

void add_options(CLI::App& app, CommandLine& line) {
  app.footer(
      "A list is CSV (types,layout,m,n,k[,batch], or with a header that names the fields), a "
      "file that PyTorch's TunableOp wrote (tunableop_untuned0.csv), or an array of objects in a "
      ".json file. The columns parallel (column, row, none) and kv_heads are for "
      "--tensor-parallel.\n"
      "Number lists: 512 or 512,1024 or 128:4096:128.\n"
      "Exit status: 0 every shape has a winner; 1 some have none; 2 the command line or a list "
      "is wrong; 3 no device, or no writable cache; 4 winners or the table could not be written; "
      "130 interrupted.");
  app.add_option("lists", line.work.lists, "lists of shapes")->type_name("LIST");
  app.add_option("--m-ladder", line.work.m_ladder,
                 "values of M: every layer of the lists, whatever its M, is tuned at each of them; "
                 "auto, or auto:32768: as many values up to 8192, or 32768, as --ladder-loss needs")
      ->type_name("LIST_OF_M");
  app.add_option("--ladder-loss", line.session.ladder_loss,
                 "with --m-ladder auto: values of M are added until the kernels tuned so far are "
                 "expected to take at most this share longer at any M than others would")
      ->check(why_not_positive)
      ->capture_default_str();
  app.add_option("--tensor-parallel", line.work.tensor_parallel,
                 "divide N or K of the layers of the lists, as their column parallel tells")
      ->check(why_not_positive)
      ->type_name("P");
  app.add_option("--m", line.work.m, "values of M: every combination of m, n and k is a shape");
  app.add_option("--n", line.work.n, "values of N");
  app.add_option("--k", line.work.k, "values of K");
  line.work.types = {"f32"};
  app.add_option("--types", line.work.types, "element types for --m --n --k, joined by commas")
      ->delimiter(',')
      ->capture_default_str();
  line.work.layouts = {"nn"};
  app.add_option("--layouts", line.work.layouts, "layouts for --m --n --k, joined by commas")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag(
      "--from-requests", line.work.from_requests,
      "the shapes that programs ran on this device without a winner, as recorded by the policies "
      "tune_in_background, compile and stored");

  add_context_options(app, line.context);
  app.add_option("--devices", line.devices,
                 "several GPUs of the same kind, which share the shapes: all, or cuda:0,cuda:2")
      ->delimiter(',')
      ->excludes("--device")
      ->type_name("all|LIST");
  const auto set_rigor = [&line](const std::string& name) {
    line.session.shape.rigor = *parse_rigor(name);
  };
  app.add_option_function<std::string>("--rigor", set_rigor,
                                       "how thorough the tuning is; default normal")
      ->check(why_not_rigor)
      ->type_name("quick|normal|exhaustive");
  app.add_option("--budget-seconds", line.session.shape.budget.seconds, "limit for each shape")
      ->check(why_not_positive);
  app.add_option("--candidates", line.session.shape.budget.candidates,
                 "the most candidates to try for each shape")
      ->check(why_not_positive);
  app.add_option("--total-seconds", line.session.total_seconds, "limit for all shapes together")
      ->check(why_not_positive);
  app.add_option(
         "--candidate-seconds", line.session.shape.candidate_seconds,
         "a candidate that runs this much longer than predicted is considered hung, and its "
         "process is killed; default 30")
      ->check(why_not_positive);
  app.add_flag("--force", line.session.shape.force,
               "tune shapes again that have a winner in the cache; the new result replaces it if "
               "the tuning was complete, and an interrupted one changes nothing");
  app.add_flag("--in-process", line.in_process,
               "run candidates in this process, for debuggers and profilers: a candidate that "
               "crashes or hangs stops the run");
  app.add_flag("--dry-run", line.dry_run, "only print the shapes to tune and the estimated time");
  app.add_flag("--wide", line.wide, "show every column, remarks too, whatever the width");
  app.add_flag("--json", line.json, "print the outcomes as JSON instead of a table");

  using namespace std::string_view_literals;
  constexpr std::array kLeftOut{"m"sv, "n"sv, "k"sv, "types"sv, "layout"sv, "name"sv};
  auto* fields = app.add_option_group("Fields of the shapes of --m --n --k");
  add_shape_options(*fields, kLeftOut, line.work.further_fields);
}

struct PlannedShape {
  Shape shape;
  bool tuned = false;         // the cache has its winner, so nothing is to do
  double seconds = 0;         // estimated
  std::string why_too_small;  // why the budget cannot decide; else empty
};

struct Estimate {
  std::vector<PlannedShape> shapes;  // after an interrupt, fewer than in the list
  double seconds = 0;                // sum over the shapes; may exceed --total-seconds
  double seconds_per_candidate = 0;
  bool measured = false;  // seconds_per_candidate comes from earlier tunings on this device
};

// The maximum number of candidates tried for the problem. Counting the legal candidates takes
// milliseconds, so they are counted only if all of them are tried.
double most_candidates(const Problem& problem, const Context& context, const TuneOptions& options) {
  const bool tries_all = options.rigor == Rigor::kExhaustive && options.budget.candidates == 0;
  return tries_all
             ? static_cast<double>(ranked_candidates(problem, context.device().limits()).size())
             : search_limits_of(options.rigor, options.budget).candidates;
}

// Estimates the time of a run without compiling or measuring. An interrupt ends the estimate early.
Estimate estimate(std::span<Context* const> contexts, const std::vector<Shape>& shapes,
                  const SessionOptions& options) {
  Context& context = *contexts.front();
  Estimate result;
  double spent = 0;
  double tried = 0;
  // Reads all winners at once, so that shapes without a winner need no look-up.
  std::unordered_set<std::string> with_winner;
  for (const Record& record : context.store().winners()) {
    if (record.device == context.device().identity()) {
      spent += record.spent_seconds;
      tried += record.candidates_tried;
      with_winner.insert(fingerprint(record.problem));
    }
  }
  result.measured = tried > 0;
  const double assumed = context.device().backend().usual_seconds_per_candidate();
  result.seconds_per_candidate = result.measured ? spent / tried : assumed;

  const SearchLimits search_limits = search_limits_of(options.shape.rigor, options.shape.budget);
  const Backend& backend = context.device().backend();
  for (const Shape& shape : shapes) {
    if (interrupted()) {
      break;
    }
    const Problem problem = canonical(shape.problem).problem;
    PlannedShape planned;
    planned.shape = shape;
    planned.tuned = !options.shape.force && with_winner.count(fingerprint(problem)) > 0 &&
                    context.find_tuned(problem, options.shape).has_value();
    if (!planned.tuned) {
      planned.why_too_small = why_too_small(
          search_limits, {.seconds_per_candidate = result.seconds_per_candidate,
                          .launch_us = backend.roofline_us(problem, context.device().limits()),
                          .cool_down_seconds = backend.cool_down_seconds()});
      planned.seconds =
          std::min(most_candidates(problem, context, options.shape) * result.seconds_per_candidate,
                   search_limits.seconds);
    }
    result.seconds += planned.seconds / static_cast<double>(contexts.size());
    result.shapes.push_back(std::move(planned));
  }
  return result;
}

// Warnings about budgets that are too small.
std::vector<std::string> budget_warnings(const Estimate& estimate, const SessionOptions& options) {
  std::vector<std::string> warnings;
  const auto is_too_small = [](const PlannedShape& shape) { return !shape.why_too_small.empty(); };
  const auto first = std::find_if(estimate.shapes.begin(), estimate.shapes.end(), is_too_small);
  if (first != estimate.shapes.end()) {
    const auto count = std::count_if(first, estimate.shapes.end(), is_too_small);
    warnings.push_back(std::to_string(count) + " of " + counted(estimate.shapes.size(), "shape") +
                       ": " + first->why_too_small);
  }
  if (options.total_seconds > 0 && estimate.seconds > options.total_seconds) {
    warnings.push_back("all shapes take about " + duration_text(estimate.seconds) +
                       ", more than the " + duration_text(options.total_seconds) +
                       " of --total-seconds: the last ones may not be tried");
  }
  return warnings;
}

void print_estimate(const Estimate& estimate, std::size_t shapes,
                    std::span<Context* const> contexts, std::size_t width) {
  Table table({{"m x n x k"},
               {"types", Align::kLeft, Constant::kHeading},
               {"epilogue", Align::kLeft, Constant::kHeading},
               {"estimate", Align::kRight},
               {"name"}});
  std::ptrdiff_t cached = 0;
  for (const PlannedShape& planned : estimate.shapes) {
    const Problem& problem = planned.shape.problem;
    cached += planned.tuned ? 1 : 0;
    table.add({extents_text(problem) + " " + layout_text(problem), types_text(problem),
               epilogue_text(problem),
               planned.tuned ? "in the cache" : duration_text(planned.seconds),
               planned.shape.name});
  }
  table.print_fitting(std::cout, width);
  std::ostringstream text;
  text << counted(estimate.shapes.size(), "shape") << " on " << devices_text(contexts) << ": "
       << cached << " in the cache, "
       << static_cast<std::ptrdiff_t>(estimate.shapes.size()) - cached << " to tune in about "
       << duration_text(estimate.seconds) << " (" << rounded_text(estimate.seconds_per_candidate)
       << " s per candidate, "
       << (estimate.measured ? "as measured on this device earlier"
                             : "assumed: nothing has been tuned on this device")
       << ").\n";
  if (estimate.shapes.size() < shapes) {
    text << "Interrupted: the estimate lacks the last "
         << counted(shapes - estimate.shapes.size(), "shape") << " of the list.\n";
  }
  text << "Nothing was tuned: this was a dry run.\n";
  std::cout << wrapped(text.str(), sentence_width(STDOUT_FILENO));
}

void print_json(const Estimate& estimate, Context& context) {
  Json shapes = Json::array();
  for (const PlannedShape& planned : estimate.shapes) {
    Json shape = to_json(planned.shape);
    shape["in_cache"] = planned.tuned;
    shape["seconds"] = planned.seconds;
    shapes.push_back(std::move(shape));
  }
  const Json json{{"device", context.device().identity().name},
                  {"seconds", estimate.seconds},
                  {"seconds_per_candidate", estimate.seconds_per_candidate},
                  {"seconds_are_measured", estimate.measured},
                  {"shapes", std::move(shapes)}};
  std::cout << json_text(json, 2) << '\n';
}

std::string why_not_writable(const Store& store) {
  const StoreState state = store.state();
  return state == StoreState::kReadWrite
             ? ""
             : "the cache " + store.path().string() + " cannot be written (" +
                   std::string(name(state)) + "), so results would be lost";
}

// Retries pending writes and reports the winners that could not be stored.
bool all_winners_are_stored(std::span<Context* const> contexts, const Session& session) {
  StoreHealth health;
  std::int64_t unsaved_here = 0;
  for (Context* const context : contexts) {
    context->store().flush();
    health = context->store().health();
    unsaved_here += health.unsaved_winners;
  }
  const auto worker_unsaved =
      std::count_if(session.outcomes.begin(), session.outcomes.end(),
                    [](const Outcome& outcome) { return outcome.is_unsaved; });
  const auto unsaved = static_cast<std::size_t>(unsaved_here + worker_unsaved);
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

ExitStatus tune_all(const CommandLine& line, const WorkList& work,
                    std::span<Context* const> contexts) {
  Context& context = *contexts.front();
  if (work.duplicates > 0) {
    std::cerr << counted(work.duplicates, "line") << " skipped: the shape is already in the list\n";
  }
  const Estimate estimated = estimate(contexts, work.shapes, line.session);
  for (const std::string& warning : budget_warnings(estimated, line.session)) {
    std::cerr << warning << '\n';
  }
  if (line.dry_run) {
    if (line.json) {
      print_json(estimated, context);
    } else {
      print_estimate(estimated, work.shapes.size(), contexts,
                     line.wide ? kUnlimited : line_width(STDOUT_FILENO));
    }
    return interrupted() ? ExitStatus::kInterrupted : ExitStatus::kGood;
  }
  if (const auto reason = why_not_writable(context.store()); !reason.empty()) {
    std::cerr << "tune-all: " << reason << '\n';
    return ExitStatus::kNoDevice;
  }
  std::vector<bool> is_tuned;
  for (const PlannedShape& planned : estimated.shapes) {
    is_tuned.push_back(planned.tuned);
  }
  const Session session = tune_shapes(contexts, work, line.session, is_tuned);
  if (line.json) {
    print_json(std::cout, session);
  } else if (line.wide) {
    print_wide_table(std::cout, session);
  } else {
    print_table(std::cout, session, line_width(STDOUT_FILENO));
  }
  std::ostringstream summary;
  print_summary(summary, session, contexts);
  if (line.json) {
    std::cerr << summary.str();
  } else {
    std::cout << wrapped(summary.str(), sentence_width(STDOUT_FILENO));
  }
  if (!all_winners_are_stored(contexts, session)) {
    return ExitStatus::kCannotWrite;
  }
  if (session.interrupted) {
    return ExitStatus::kInterrupted;
  }
  if (!session.device_failure.empty()) {
    return ExitStatus::kNoDevice;
  }
  const bool all = std::all_of(session.outcomes.begin(), session.outcomes.end(),
                               [](const Outcome& outcome) { return outcome.record.has_value(); });
  return all ? ExitStatus::kGood : ExitStatus::kNoResult;
}

// "NVIDIA H200, 132 SMs, 1980 MHz, 700 W"
std::string identity_text(const DeviceIdentity& device) {
  return device.name + ", " + std::to_string(device.units) + " SMs, " +
         std::to_string(device.clock_mhz) + " MHz, " + std::to_string(device.power_limit_watts) +
         " W";
}

// Opens the devices with the same cache file. They must be of one kind, because a winner of one is
// a winner of all.
std::vector<std::unique_ptr<Context>> open_contexts(const CommandLine& line) {
  const std::vector<std::string> names =
      line.devices.empty() ? std::vector{line.context.device} : device_names_of(line.devices);
  std::vector<std::unique_ptr<Context>> contexts;
  for (const std::string& name : names) {
    ContextOptions options = to_context_options({.device = name, .cache = line.context.cache});
    options.device.compiling_devices = static_cast<int>(names.size());
    if (!line.in_process) {
      options.worker_command = worker_command();
    }
    if (line.dry_run) {
      options.store.access = StoreOptions::Access::kReadOnly;
    }
    contexts.push_back(Context::create(options));
    const DeviceIdentity& first = contexts.front()->device().identity();
    const DeviceIdentity& other = contexts.back()->device().identity();
    if (!(other == first)) {
      throw std::invalid_argument("--devices: " + names.front() + " (" + identity_text(first) +
                                  ") and " + name + " (" + identity_text(other) +
                                  ") are not of one kind; tune each kind by a command of its own");
    }
  }
  return contexts;
}

ExitStatus run(const CommandLine& line) {
  if (line.work.lists.empty() && line.work.m.empty() && line.work.n.empty() &&
      line.work.k.empty() && !line.work.from_requests) {
    std::cerr << "tune-all: nothing to tune; give a list of shapes, or --m --n --k, or "
                 "--from-requests (see --help)\n";
    return ExitStatus::kWrongUse;
  }
  // Report wrong input before opening a device.
  WorkList work;
  if (!line.work.from_requests) {
    work = make_work_list(line.work, {});
  }
  const std::vector<std::unique_ptr<Context>> owned = open_contexts(line);
  std::vector<Context*> contexts;
  contexts.reserve(owned.size());
  for (const std::unique_ptr<Context>& context : owned) {
    contexts.push_back(context.get());
  }
  if (line.work.from_requests) {
    Context& first = *contexts.front();
    work = make_work_list(line.work, first.store().requests(first.device().identity()));
  }
  // Not called earlier, so that a signal ends the reading of a long list at once.
  note_interrupts();
  return tune_all(line, work, contexts);
}

}  // namespace

// Throws only if the options are declared wrongly.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  CLI::App app(
      "Tunes a list of shapes, so that programs find the winners in the cache.\n"
      "Shapes that are already tuned are skipped: the same command continues an earlier run.",
      "tune-all");
  CommandLine line;
  add_options(app, line);
  return run_program(app, argc, argv, [&] { return run(line); });
}

// tune-all: tunes a list of shapes and stores the winners in a cache.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/available_cpus.h"
#include "runtime/process/private_folder.h"
#include "tools/shared/concurrently.h"
#include "tools/shared/model_layers.h"
#include "tools/shared/options.h"
#include "tools/shared/program.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tune_all/comparison.h"
#include "tools/tune_all/estimate.h"
#include "tools/tune_all/result_file.h"
#include "tools/tune_all/session.h"
#include "tools/tune_all/shard.h"
#include "tools/tune_all/work_list.h"

namespace {

using namespace tunedgemm::internal;

struct CommandLine {
  WorkRequest work;
  ContextChoice context;
  std::vector<std::string> devices;
  std::string shard;
  std::string results;
  std::string audit;
  std::string against;
  std::size_t processes_of_machine = 1;  // of a cluster job
  SessionOptions session;
  bool dry_run = false;
  bool json = false;
  bool wide = false;
  bool in_process = false;
  bool watch = false;
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
      "--tensor-parallel. A model's config.json is the list of its layers, for --m-ladder. Built "
      "in are the layers of " +
      built_in_lists() +
      ".\n"
      "Lines that the library cannot compute are skipped and counted by reason.\n"
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
  app.add_option("--types", line.work.types,
                 "element types for --m --n --k, and for lines of the lists that leave them out, "
                 "joined by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("f32");
  app.add_option("--layouts,--layout", line.work.layouts,
                 "layouts for --m --n --k, and for lines of the lists that leave them out, joined "
                 "by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("nn");
  app.add_flag(
      "--from-requests", line.work.from_requests,
      "the shapes that programs ran on this device without a winner, as recorded by the policies "
      "tune_in_background, compile and stored");

  add_context_options(app, line.context);
  app.add_option("--devices", line.devices,
                 "several GPUs of the same kind, which share the shapes: all, or cuda:0,cuda:2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes("--device")
      ->type_name("all|LIST");
  app.add_option("--shard", line.shard,
                 "tune only shard i of n, counted from 0; auto: as the launcher of this process "
                 "tells (srun, a Slurm job array, mpirun, torchrun, a Kubernetes indexed job with "
                 "auto/n), on the GPU of its local rank")
      ->type_name("i/n|auto|auto/n");
  auto* results = app.add_option(
      "--results", line.results,
      "tune in a new cache on a local disk, and write the winners to a file of this shard in "
      "FOLDER, which the processes of all machines share; shapes that files there have are "
      "skipped, and tunedgemm merge FOLDER collects them");
  results->type_name("FOLDER")->excludes("--cache")->excludes("--from-requests");
  app.add_option("--audit", line.audit,
                 "give this part of the shapes to a second shard as well; tunedgemm merge then "
                 "shows a GPU that is slower than others")
      ->needs(results)
      ->type_name("1/N");
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
  app.add_option("--total-seconds", line.session.total_seconds,
                 "limit for all shapes together; without it the largest shapes come first, with it "
                 "those that the list has first")
      ->check(why_not_positive);
  app.add_option(
         "--candidate-seconds", line.session.shape.candidate_seconds,
         "a candidate that runs this much longer than predicted is considered hung, and its "
         "process is killed; default 30")
      ->check(why_not_positive);
  app.add_flag("--force", line.session.shape.force,
               "tune shapes again that have a winner in the cache; the new result replaces it if "
               "the tuning was complete, and an interrupted one changes nothing");
  app.add_option("--against", line.against,
                 "then race the winners against this library's own calls, and store the times with "
                 "them (vs_vendor in the view best); winners that were compared with this version "
                 "are left out, unless --force is given")
      ->check(CLI::IsMember({"cublas", "openblas"}));
  app.add_flag("--in-process", line.in_process,
               "run candidates in this process, for debuggers and profilers: a candidate that "
               "crashes or hangs stops the run");
  auto* const dry_run = app.add_flag("--dry-run", line.dry_run,
                                     "only print the shapes to tune and the estimated time");
  app.add_flag("--wide", line.wide, "show every column, remarks too, whatever the width");
  auto* const json =
      app.add_flag("--json", line.json, "print the outcomes as JSON instead of a table");
  app.add_flag("--watch", line.watch,
               "then tune what running programs ask for, as it comes, until Ctrl-C")
      ->needs("--from-requests")
      ->excludes(dry_run)
      ->excludes(json);

  using namespace std::string_view_literals;
  constexpr std::array kLeftOut{"m"sv, "n"sv, "k"sv, "types"sv, "layout"sv, "name"sv};
  auto* fields = app.add_option_group(
      "Fields of the shapes of --m --n --k, and of lines of the lists that leave them out");
  add_shape_options(*fields, kLeftOut, line.work.further_fields);
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

// Writes the file of results, and reports the winners of the session that are not in it.
bool publish_all(ResultFile& results, const Session& session, Context& context) {
  std::vector<TuningKey> keys;
  for (const Outcome& outcome : session.outcomes) {
    if (outcome.record) {
      keys.push_back(
          {outcome.record->problem, context.device().identity(), context.device().toolchain()});
    }
  }
  if (keys.empty() && context.store().health().winners == 0) {
    return true;
  }
  const std::string kept = context.store().path().string();
  if (const std::string failure = results.finish(context.store()); !failure.empty()) {
    std::cerr << "tune-all: " << failure << "\nThe winners are kept in " << kept
              << "; add them to your cache, or with --cache to another, by\n    tunedgemm merge "
              << kept << "\nand then remove that folder\n";
    return false;
  }
  const std::size_t found = results.winners_of(keys, context.device().limits());
  if (found < keys.size()) {
    std::cerr << "tune-all: " << keys.size() - found << " of " << counted(keys.size(), "winner")
              << " are not in " << results.path().string()
              << ": they were lost with the local cache; the same command tunes them again\n";
  }
  return found == keys.size();
}

// `results` is null without --results.
ExitStatus tune_all(const CommandLine& line, const WorkList& work,
                    std::span<Context* const> contexts, ResultFile* results) {
  Context& context = *contexts.front();
  if (work.duplicates > 0) {
    std::cerr << counted(work.duplicates, "line") << " skipped: the shape is already in the list\n";
  }
  if (!line.shard.empty() && context.store().state() == StoreState::kReadWrite &&
      !context.store().health().is_on_local_disk) {
    std::cerr << "the cache " << context.store().path().string()
              << " is not on a local disk: processes of several machines should not write one "
                 "cache there, since they wait for each other and its locks may not work; give "
                 "--results FOLDER, or each machine a --cache of its own\n";
  }
  const Estimate estimated = estimate(contexts, work.shapes, line.session);
  for (const std::string& warning : budget_warnings(estimated, line.session)) {
    std::cerr << warning << '\n';
  }
  if (line.dry_run) {
    if (line.json) {
      print_json(std::cout, estimated, context);
    } else {
      print_estimate(std::cout, estimated, work.shapes.size(), contexts,
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
  SessionOptions options = line.session;
  if (results != nullptr) {
    results->make_folder();
    options.on_shape_end = [&] { results->publish(context.store()); };
  }
  const auto vendor = line.against.empty() ? nullptr : open_vendor(line.against, context.device());
  Session session = tune_shapes(contexts, work, options, is_tuned);
  if (vendor != nullptr) {
    compare(session, context, *vendor, options);
  }
  if (line.json) {
    print_json(std::cout, session);
  } else if (line.wide) {
    print_wide_table(std::cout, session);
  } else {
    print_table(std::cout, session, line_width(STDOUT_FILENO));
  }
  bool is_kept = all_winners_are_stored(contexts, session);
  const bool is_published = results != nullptr && publish_all(*results, session, context);
  std::ostringstream summary;
  print_summary(summary, session, contexts);
  if (results == nullptr) {
    summary << "Cache: " << context.store().path().string() << '\n';
  } else if (is_published && context.store().health().winners > 0) {
    summary << "Results: " << results->path().string() << '\n';
  }
  if (line.json) {
    std::cerr << summary.str();
  } else {
    std::cout << wrapped(summary.str(), sentence_width(STDOUT_FILENO));
  }
  is_kept = is_kept && (results == nullptr || is_published);
  if (!is_kept) {
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

using Contexts = std::vector<std::unique_ptr<Context>>;

// Opens the devices with the same cache file. They must be of one kind, because a winner of one is
// a winner of all, and share what they compile in the folder `binaries`, unless it is empty.
Contexts open_contexts(const CommandLine& line, const std::filesystem::path& binaries) {
  const std::vector<std::string> names =
      line.devices.empty() ? std::vector{line.context.device} : device_names_of(line.devices);
  const int cpus = available_cpus(static_cast<int>(line.processes_of_machine));
  Contexts contexts(names.size());
  concurrently(names.size(), [&](std::size_t device) {
    ContextOptions options =
        to_context_options({.device = names[device], .cache = line.context.cache});
    options.device.compile_threads = std::max(1, cpus / static_cast<int>(names.size()));
    options.shared_binaries = binaries;
    if (!line.in_process) {
      options.worker_command = worker_command();
    }
    if (line.dry_run && line.results.empty()) {
      options.store.access = StoreOptions::Access::kReadOnly;
    }
    contexts[device] = Context::create(options);
  });
  const DeviceIdentity& first = contexts.front()->device().identity();
  for (std::size_t device = 1; device < names.size(); ++device) {
    const DeviceIdentity& other = contexts[device]->device().identity();
    if (!(other == first)) {
      throw std::invalid_argument("--devices: " + names.front() + " (" + identity_text(first) +
                                  ") and " + names[device] + " (" + identity_text(other) +
                                  ") are not of one kind; tune each kind by a command of its own");
    }
  }
  return contexts;
}

// The shard that the command line or the launcher gives to this process. With a launcher and
// without --device, the choice of the device follows from the local rank.
std::optional<Shard> choose_shard(CommandLine& line) {
  if (line.shard.empty()) {
    return std::nullopt;
  }
  const auto process = line.shard.starts_with("auto") ? launched() : std::nullopt;
  const Shard shard = parse_shard(line.shard, process);
  if (process) {
    line.processes_of_machine = process->local_count;
  }
  if (process && process->local_rank && line.context.device == "auto" && line.devices.empty()) {
    line.context.device = device_of(*process->local_rank,
                                    static_cast<std::size_t>(cuda_backend().device_count(nullptr)));
  }
  return shard;
}

// "shard 3 of 16: 12 of 190 shapes, and 4 that are in other files of results"
std::string shard_text(const std::optional<Shard>& shard, std::size_t left, std::size_t elsewhere,
                       std::size_t all, const std::string& results) {
  std::string text =
      shard ? "shard " + std::to_string(shard->index) + " of " + std::to_string(shard->count) + ": "
            : "";
  text += std::to_string(left) + " of " + counted(all, "shape");
  if (elsewhere > 0) {
    text += ", and " + std::to_string(elsewhere) + " that other files in " + results + " have";
  }
  return text;
}

WorkList list_with_requests(const CommandLine& line, Context& context) {
  // Winners that programs asked for are compared, too.
  const auto which = line.against.empty() ? Requested::kWithoutWinner : Requested::kAll;
  return make_work_list(line.work, context.store().requests(context.device().identity(), which));
}

// Tunes the list, then the requests of running programs as they come, each once, until Ctrl-C.
ExitStatus watch(const CommandLine& line, const std::vector<Context*>& contexts, WorkList work) {
  constexpr std::chrono::seconds kInterval{1};
  std::set<std::string> seen;
  while (!interrupted()) {
    std::erase_if(work.shapes, [&](const NamedProblem& shape) {
      return !seen.insert(to_text(shape.problem)).second;
    });
    if (!work.shapes.empty()) {
      const ExitStatus status = tune_all(line, work, contexts, nullptr);
      if (status != ExitStatus::kGood && status != ExitStatus::kNoResult) {
        return status;
      }
      std::cerr << "waiting for requests; Ctrl-C ends\n";
    }
    interrupted_within(kInterval);
    work = list_with_requests(line, *contexts.front());
    work.layers.clear();
  }
  return ExitStatus::kInterrupted;
}

ExitStatus run(CommandLine line) {
  if (line.work.lists.empty() && line.work.m.empty() && line.work.n.empty() &&
      line.work.k.empty() && !line.work.from_requests) {
    std::cerr << "tune-all: nothing to tune; give a list of shapes, or --m --n --k, or "
                 "--from-requests (see --help)\n";
    return ExitStatus::kWrongUse;
  }
  // Report wrong input before opening a device.
  const std::optional<Shard> shard = choose_shard(line);
  const std::size_t audit = line.audit.empty() ? 0 : parse_audit(line.audit);
  WorkList list;
  if (!line.work.from_requests) {
    list = make_work_list(line.work, {});
  }
  std::optional<LocalCache> local_cache;
  if (!line.results.empty()) {
    line.context.cache = local_cache.emplace().path();
  }
  std::optional<PrivateFolder> binaries;
  if (!line.devices.empty()) {
    binaries.emplace();
  }
  Contexts owned = open_contexts(line, binaries ? binaries->path() : std::filesystem::path());
  std::vector<Context*> contexts;
  contexts.reserve(owned.size());
  for (const std::unique_ptr<Context>& context : owned) {
    contexts.push_back(context.get());
  }
  Context& first = *contexts.front();
  if (line.work.from_requests) {
    list = list_with_requests(line, first);
  }
  std::optional<ResultFile> results;
  if (local_cache) {
    results.emplace(line.results, shard.value_or(Shard()), list, *local_cache,
                    first.device().identity());
  }
  const std::size_t shapes = list.shapes.size();
  ShardOfList part = part_of(std::move(list), shard.value_or(Shard()), audit);
  const std::size_t elsewhere = results ? results->resume(part, first, line.session.shape) : 0;
  if (shard || elsewhere > 0) {
    std::cerr << shard_text(shard, part.work.shapes.size(), elsewhere, shapes, line.results)
              << '\n';
  }
  // Called only now, so that a signal ends the reading of a long list at once.
  note_interrupts();
  const ExitStatus status =
      line.watch ? watch(line, contexts, std::move(part.work))
                 : tune_all(line, part.work, contexts, results ? &*results : nullptr);
  // Each waits for its worker to end.
  concurrently(owned.size(), [&](std::size_t device) { owned[device].reset(); });
  return status;
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

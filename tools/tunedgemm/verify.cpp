// tunedgemm verify: measures the winners of a file again, against the candidates that came closest.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/bench_output.h"
#include "tools/tunedgemm/bench_race.h"
#include "tools/tunedgemm/best_of.h"
#include "tools/tunedgemm/layer_list.h"
#include "tools/tunedgemm/verbs.h"
#include "tuner/decision.h"
#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

constexpr int kRounds = 15;
constexpr std::size_t kOthers = 3;  // in addition to the default candidate

struct VerifyOptions {
  std::string file;
  ContextChoice context;
  std::vector<std::string> lists;
  bool json = false;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
};

struct Verified {
  BenchRow row;  // without contenders if the winner could not be measured
  double then_us = 0;
  bool holds = false;
  std::string verdict;
};

// The distinct problems of the lists that have a winner on this device.
std::vector<CanonicalProblem> problems_of(Context& context, LayerList& layers) {
  std::vector<CanonicalProblem> problems;
  for (const Record& winner : context.store().winners()) {
    if (winner.device == context.device().identity() && layers.has(winner.problem) &&
        std::ranges::find(problems, winner.problem) == problems.end()) {
      problems.push_back(winner.problem);
    }
  }
  return problems;
}

bool can_run(Context& context, const Instance& instance) {
  return context.device().why_not_compile().empty() || !stored_binaries(context, instance).empty();
}

// The winner, then the fastest other candidates of its tuning, finalists first, and the default.
std::vector<NamedCandidate> contenders_of(Context& context, const Hit& hit) {
  const Record& record = hit.record;
  const DeviceLimits& limits = context.device().limits();
  std::vector<TrialRecord> trials =
      context.store().trials({record.problem, record.device, record.toolchain});
  const auto screened = std::stable_partition(
      trials.begin(), trials.end(), [](const TrialRecord& trial) { return trial.final_round; });
  std::vector<NamedCandidate> contenders{{"tuned", hit.winner.candidate}};
  const auto add = [&](const Instance& instance) {
    const bool is_new = std::ranges::find(contenders, instance.candidate,
                                          &NamedCandidate::candidate) == contenders.end();
    if (is_new && can_run(context, instance)) {
      contenders.push_back({to_text(instance.candidate), instance.candidate});
    }
  };
  for (const auto& group :
       {std::vector(trials.begin(), screened), std::vector(screened, trials.end())}) {
    for (const Instance& instance : measured_instances(record.problem, limits, group)) {
      if (contenders.size() <= kOthers) {
        add(instance);
      }
    }
  }
  add(default_candidate(record.problem, limits));
  return contenders;
}

// The fastest contender but the winner; null if there is none.
const BenchContender* best_other(const BenchRow& row) {
  const auto others = std::span(row.contenders).subspan(row.contenders.empty() ? 0 : 1);
  const auto fastest = std::ranges::min_element(others, {}, &BenchContender::median_us);
  return fastest == others.end() ? nullptr : &*fastest;
}

void judge(Verified& verified) {
  const BenchContender& winner = verified.row.contenders.front();
  const BenchContender* other = best_other(verified.row);
  verified.holds = true;
  verified.verdict = other == nullptr ? "correct; there is no other to compare with" : "holds";
  const double slower_by = other == nullptr ? 0 : winner.median_us / other->median_us - 1;
  if (slower_by > kTieCeiling && winner.p20_us > other->p80_us) {
    verified.holds = false;
    verified.verdict = "slower by " + rounded_text(100 * slower_by) + " %";
  }
}

Verified verify_problem(Context& context, const CanonicalProblem& problem) {
  Device& device = context.device();
  Verified verified;
  verified.row.shape.problem = problem;
  const auto hit =
      context.store().find({problem, device.identity(), device.toolchain()}, device.limits());
  if (!hit) {
    verified.verdict = "not usable: the template of its kernel has changed; tune it again";
    return verified;
  }
  verified.row.kernel = to_text(hit->winner.candidate);
  verified.then_us = hit->record.measurement.median_us;
  if (!can_run(context, hit->winner)) {
    verified.verdict = "not usable: its kernel is not in the file, and there is no compiler";
    return verified;
  }
  try {
    verified.row = race_kernels(context, verified.row.shape, contenders_of(context, *hit), nullptr,
                                {.rounds = kRounds, .cool_down = {}});
    judge(verified);
  } catch (const DeviceError& error) {
    if (error.kind() != DeviceError::Kind::kOutOfMemory) {
      throw;
    }
    verified.verdict = std::string("not measured: ") + error.what();
  } catch (const std::runtime_error& error) {
    verified.verdict = std::string("fails: ") + error.what();
  }
  return verified;
}

std::string problem_text(const Problem& problem) {
  const std::string epilogue = epilogue_text(problem);
  return extents_text(problem) + " " + types_text(problem) + " " + layout_text(problem) +
         (epilogue.empty() ? "" : " ") + epilogue;
}

void print_table(const std::vector<Verified>& all, std::size_t width) {
  Table table({{"m x n x k"},
               {"types", Align::kLeft, Constant::kHeading},
               {"epilogue", Align::kLeft, Constant::kHeading},
               {"now", Align::kRight},
               {"then", Align::kRight},
               {"ratio", Align::kRight},
               {"best other's", Align::kRight},
               {"winner"},
               {"best other"},
               {"verdict", Align::kLeft, Constant::kColumn, TooWide::kWrap}});
  for (const Verified& each : all) {
    const Problem& problem = each.row.shape.problem;
    const auto& contenders = each.row.contenders;
    const double now_us = contenders.empty() ? 0 : contenders.front().median_us;
    const BenchContender* other = best_other(each.row);
    table.add({shape_text(problem), types_text(problem), epilogue_text(problem),
               now_us > 0 ? time_text(now_us) : "-",
               each.then_us > 0 ? time_text(each.then_us) : "-",
               speedup_text(other == nullptr ? 0 : other->median_us, now_us),
               other == nullptr ? "-" : time_text(other->median_us), each.row.kernel,
               other == nullptr ? "" : other->kernel, each.verdict});
  }
  table.print_fitting(std::cout, width);
}

Json to_json(const Verified& verified) {
  Json json = to_json(verified.row);
  json.update(
      {{"then_us", verified.then_us}, {"holds", verified.holds}, {"verdict", verified.verdict}});
  return json;
}

ExitStatus why_nothing(const Context& context, const std::string& file,
                       const std::vector<Record>& winners) {
  const DeviceIdentity& device = context.device().identity();
  std::string others;
  for (const Record& winner : winners) {
    if (winner.device == device) {
      std::cerr << "no winner in " << file << " for " << device.name << " is of the lists\n";
      return ExitStatus::kNoResult;
    }
    const std::string other = device_text(winner.device);
    if (others.find(other) == std::string::npos) {
      others += (others.empty() ? "" : ", ") + other;
    }
  }
  std::cerr << file << " has no winner for " << device_text(device) << "; it has "
            << (others.empty() ? "no winners at all" : "winners for " + others) << '\n';
  return others.empty() ? ExitStatus::kNoResult : ExitStatus::kNoDevice;
}

ExitStatus verify(const VerifyOptions& options) {
  LayerList layers(options.lists);
  ContextOptions context_options = to_context_options(options.context);
  context_options.store.access = StoreOptions::Access::kMemoryOnly;  // for compiled kernels
  context_options.store.system_paths = {options.file};
  const auto context = Context::create(context_options);
  const std::vector<CanonicalProblem> problems = problems_of(*context, layers);
  if (problems.empty()) {
    return why_nothing(*context, options.file, context->store().winners());
  }
  layers.warn_of_missing(std::cerr);
  context->complete_probe();
  note_interrupts();
  std::vector<Verified> all;
  for (const CanonicalProblem& problem : problems) {
    std::cerr << all.size() + 1 << '/' << problems.size() << "  " << problem_text(problem) << ": "
              << std::flush;
    all.push_back(verify_problem(*context, problem));
    std::cerr << all.back().verdict << '\n';
    if (interrupted()) {
      break;
    }
  }
  if (options.json) {
    Json array = Json::array();
    for (const Verified& each : all) {
      array.push_back(to_json(each));
    }
    std::cout << json_text(array, 2) << '\n';
  } else {
    print_table(all, options.width);
  }
  if (all.size() < problems.size()) {
    return ExitStatus::kInterrupted;
  }
  return std::ranges::all_of(all, &Verified::holds) ? ExitStatus::kGood : ExitStatus::kNoResult;
}

}  // namespace

void add_verify(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "verify", "measure the winners of a file again, against the candidates that came closest");
  const auto options = std::make_shared<VerifyOptions>();
  verb->add_option("file", options->file, "the cache file, which stays unchanged")
      ->required()
      ->check(CLI::ExistingFile);
  add_device_option(*verb, options->context.device);
  verb->add_option("--list", options->lists,
                   "only the layers in this list of shapes (CSV or JSON), with any M; may be "
                   "repeated")
      ->allow_extra_args(false);
  add_wide_option(*verb, options->width);
  verb->add_flag("--json", options->json,
                 "print a JSON array: the rows of bench, with the verdicts");
  verb->footer(
      "Races each winner against the three fastest other candidates of its tuning, finalists "
      "first, and the default config. Kernels that are not in the file are compiled; without a "
      "compiler they do not take part. Every result is checked before it is timed. A winner no "
      "longer holds if another is faster by more than 2 % and their 20th to 80th percentiles do "
      "not overlap.\n"
      "Exit status: 0 all winners hold; 1 some do not, or nothing was selected; 2 the command "
      "line or a list is wrong; 3 no such device, or the file has winners of others alone; 130 "
      "interrupted.");
  verb->callback([options, &status] { status = verify(*options); });
}

}  // namespace tunedgemm::internal

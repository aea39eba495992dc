// tunedgemm explain: prints the kernel that a call with this problem would run, and why.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/best_of.h"
#include "tools/tunedgemm/nearest_winners.h"
#include "tools/tunedgemm/verbs.h"
#include "tuner/m_ladder.h"
#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

struct ExplainOptions {
  ContextChoice context;
  std::vector<Field> shape;
  std::string source;  // the file to write
  bool json = false;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
};

// The kernel of policy `stored` for a problem without a winner, from a winner of another M or of a
// similar device.
struct ServedKernel {
  Candidate candidate;
  std::int64_t tuned_m = 0;
  std::string tuned_on;                 // the device
  std::optional<double> expected_loss;  // empty for another device's winner
  std::string origin;                   // for people
};

// Everything known about a problem on a device.
struct Explanation {
  CanonicalProblem problem;
  std::optional<Hit> hit;
  Instance chosen;
  AccumulationClass accumulation_class{};
  std::optional<ServedKernel> served;
  std::vector<MissedWinner> nearest;  // if the problem has no winner
  std::string cost;                   // of tuning it, if it has no winner
  std::string compile_command;
  std::vector<Instance> ranked;
  std::vector<TrialRecord> trials;
};

// The first choice that has a stored binary.
std::optional<LadderChoice> stored_choice(Context& context, std::vector<LadderChoice> choices) {
  const auto first = std::ranges::find_if(choices, [&](const LadderChoice& choice) {
    return !stored_binaries(context, choice.instance).empty();
  });
  return first == choices.end() ? std::nullopt : std::optional(std::move(*first));
}

std::optional<ServedKernel> served_kernel(Context& context, const CanonicalProblem& problem,
                                          const std::vector<Instance>& ranked) {
  const DeviceIdentity& own = context.device().identity();
  const Store& store = context.store();
  const auto ladder_of = [&](const DeviceIdentity& device) {
    return MLadder(problem, context.device().limits(), store.tuned_at_other_m(problem, device));
  };
  const MLadder ladder = ladder_of(own);
  if (const auto choice = stored_choice(context, ladder.choices(problem))) {
    const double loss = ladder.expected_loss(choice->expected_us, ranked);
    return ServedKernel{.candidate = choice->instance.candidate,
                        .tuned_m = choice->tuned_m,
                        .tuned_on = own.name,
                        .expected_loss = loss,
                        .origin = served_from(choice->tuned_m) + ", " + expected_within(loss)};
  }
  for (const DeviceIdentity& similar : store.similar_devices(own)) {
    if (const auto choice = stored_choice(context, ladder_of(similar).choices_elsewhere(problem))) {
      return ServedKernel{.candidate = choice->instance.candidate,
                          .tuned_m = choice->tuned_m,
                          .tuned_on = similar.name,
                          .expected_loss = std::nullopt,
                          .origin = tuned_on(similar, *choice, problem)};
    }
  }
  return std::nullopt;
}

std::string seconds_text(double seconds) {
  return rounded_text(seconds) + " s";
}

constexpr std::size_t kNearest = 3;

// An estimate of a tuning's cost, from earlier tunings.
std::string cost_text(const std::vector<WinnerWithState>& winners, const DeviceIdentity& device) {
  double seconds = 0;
  std::size_t tunings = 0;
  for (const WinnerWithState& winner : winners) {
    if (winner.record.device == device) {
      seconds += winner.record.spent_seconds;
      ++tunings;
    }
  }
  return tunings == 0 ? ""
                      : "tuning it would take about " +
                            seconds_text(seconds / static_cast<double>(tunings)) +
                            ", the mean of " + counted(tunings, "winner") + " of this device";
}

Explanation explain(Context& context, const Problem& problem) {
  Device& device = context.device();
  const DeviceLimits& limits = device.limits();
  Explanation result;
  result.problem = canonical(problem);
  result.hit =
      context.store().find({result.problem, device.identity(), device.toolchain()}, limits);
  result.ranked = ranked_candidates(result.problem, limits);
  if (result.ranked.empty()) {
    throw std::invalid_argument(why_no_candidate(result.problem, limits));
  }
  result.chosen = result.hit ? result.hit->winner
                             : untuned_choices(context.store(), result.problem, device.identity(),
                                               limits, result.ranked)
                                   .front();
  if (!result.hit) {
    result.served = served_kernel(context, result.problem, result.ranked);
    const std::vector<WinnerWithState> winners = context.store().winners_with_state();
    result.nearest = nearest_winners(result.problem, device.identity(), winners, kNearest);
    result.cost = cost_text(winners, device.identity());
  }
  result.accumulation_class = accumulation_class(result.chosen.candidate, result.problem, limits);
  result.trials = context.store().trials({result.problem, device.identity(), device.toolchain()});
  return result;
}

std::string titled(std::string_view title, const std::string& text) {
  constexpr std::size_t kTitleWidth = 11;
  return std::string(title) + std::string(kTitleWidth - title.size(), ' ') + text;
}

void print_line(std::string_view title, const std::string& text) {
  std::cout << wrapped(titled(title, text), sentence_width(STDOUT_FILENO)) << '\n';
}

std::string origin_text(const Explanation& explanation) {
  if (!explanation.hit) {
    const auto& served = explanation.served;
    const bool compile_serves = served && served->expected_loss.value_or(1) <= kUsualAcceptedLoss;
    std::string text = "model: the cache has no winner for this problem; this is the ";
    text += explanation.chosen.candidate == explanation.ranked.front().candidate
                ? "cost model's first choice"
                : "winner of a similar shape or device";
    text += compile_serves ? "" : " (policy compile)";
    text += "; policy tune would tune it first";
    if (served) {
      text += compile_serves ? "; policy compile and policy stored would run "
                             : "; policy stored would run ";
      text += to_text(served->candidate) + ", " + served->origin;
    }
    return text;
  }
  const Record& record = explanation.hit->record;
  if (explanation.hit->match == Match::kStale) {
    return "stale: tuned with " + record.toolchain.compiler + " and driver " +
           record.toolchain.driver + "; used now, and confirmed when tune-all next runs";
  }
  return std::string("tuned: ") + (is_confirmed(record) ? "confirmed" : "provisional") + ", " +
         record.tuned_at + " UTC";
}

std::string workspace_text(const Launch& launch) {
  return launch.workspace_bytes == 0
             ? "none"
             : std::to_string(launch.workspace_bytes) + " bytes per stream" +
                   (launch.workspace_is_optional ? ", optional" : "");
}

std::string class_text(const Explanation& explanation) {
  return std::string(name(explanation.accumulation_class));
}

void print_miss(const Explanation& explanation) {
  std::string_view title = "nearest";
  for (const MissedWinner& winner : explanation.nearest) {
    const Problem& problem = winner.record.problem;
    print_line(title, shape_text(problem) + " " + types_text(problem) + ", " +
                          time_text(winner.record.measurement.median_us) + ": " +
                          differences_text(winner));
    title = "";
  }
  if (!explanation.cost.empty()) {
    print_line("cost", explanation.cost);
  }
}

void print_evidence(const Record& record) {
  const double us = record.measurement.median_us;
  const std::string interval = interval_text(record.measurement);
  print_line("time", time_text(us) +
                         (interval == "-" ? " (too few samples for a 95 % interval"
                                          : " (95 % interval " + interval) +
                         ", 20th to 80th percentile " + time_text(record.measurement.low_us) +
                         " to " + time_text(record.measurement.high_us) + "), " +
                         gflops_text(flops(record.problem), us) + " GFLOP/s");
  std::string compared;
  for (const auto& [other_us, other] :
       {std::pair(record.default_us, std::string("the default config")),
        {record.naive_us, "the baseline kernel"},
        {record.runner_up_us, "the runner-up"},
        {record.vendor_us, record.vendor}}) {
    if (other_us > 0) {
      compared +=
          (compared.empty() ? "" : ", ") + speedup_text(other_us, us) + " as fast as " + other;
    }
  }
  print_line("compared", compared.empty() ? "with nothing" : compared);
  std::string ties = record.ties.empty() ? "none" : "";
  for (const std::string& tie : record.ties) {
    ties += (ties.empty() ? "" : "; ") + tie;
  }
  print_line("ties", ties);
  if (!record.remark.empty()) {
    print_line("remark", record.remark);
  }
  print_line("evidence", std::to_string(record.candidates_tried) + " of " +
                             std::to_string(record.candidates_legal) + " legal candidates tried, " +
                             std::string(name(record.rigor)) +
                             (record.complete ? "" : " (its budget ran out)") + ", in " +
                             seconds_text(record.spent_seconds) + ": compiling " +
                             seconds_text(record.compile_seconds) + ", checking " +
                             seconds_text(record.check_seconds) + ", screening " +
                             seconds_text(record.screen_seconds) + ", finals " +
                             seconds_text(record.finals_seconds));
  print_line("error", rounded_text(100 * record.max_error) + " % of the bound");
}

void print_prediction(const Explanation& explanation) {
  const auto& ranked = explanation.ranked;
  const auto place = std::find_if(ranked.begin(), ranked.end(), [&](const Instance& instance) {
    return instance.candidate == explanation.chosen.candidate;
  });
  if (place != ranked.end()) {
    print_line("predicted", time_text(place->predicted_us) + " by the cost model, number " +
                                std::to_string(place - ranked.begin() + 1) + " of " +
                                std::to_string(ranked.size()));
  }
}

// The fastest finalists, with measured and predicted times.
void print_fastest(std::vector<TrialRecord> trials, std::size_t width) {
  constexpr std::size_t kMostRows = 8;
  std::erase_if(trials, [](const TrialRecord& trial) { return !trial.final_round; });
  std::sort(trials.begin(), trials.end(), [](const TrialRecord& left, const TrialRecord& right) {
    return left.measurement->median_us < right.measurement->median_us;
  });
  if (trials.empty()) {
    return;
  }
  Table table({{"measured", Align::kRight},
               {"predicted", Align::kRight},
               {"registers", Align::kRight},
               {"finalist", Align::kLeft, Constant::kColumn, TooWide::kWrap}});
  for (const TrialRecord& trial : trials) {
    if (table.size() == kMostRows) {
      break;
    }
    table.add({time_text(trial.measurement->median_us), time_text(trial.predicted_us),
               std::to_string(trial.registers), trial.family + " " + to_text(trial.config)});
  }
  std::cout << '\n';
  table.print_fitting(std::cout, width);
}

void print(const Explanation& explanation, Context& context, std::size_t width) {
  Device& device = context.device();
  print_line("problem", to_text(explanation.problem));
  print_line("device", device.identity().name + ", " + compiler_text(device.toolchain().compiler) +
                           ", " + device.toolchain().driver);
  print_line("runs", to_text(explanation.chosen.candidate));
  print_line("because", origin_text(explanation));
  print_line("workspace", workspace_text(explanation.chosen.launch));
  if (explanation.problem->invariant != 0) {
    print_line("bits", "those of the accumulation class " + class_text(explanation) +
                           " for every M and every place of a row");
  }
  if (explanation.hit) {
    print_evidence(explanation.hit->record);
  } else {
    print_miss(explanation);
  }
  print_prediction(explanation);
  print_line("rebuild", "explain --source FILE writes the kernel; " + explanation.compile_command);
  print_fastest(explanation.trials, width);
}

void print_json(const Explanation& explanation) {
  Json json{{"problem", to_text(explanation.problem)},
            {"candidate", to_text(explanation.chosen.candidate)},
            {"because", origin_text(explanation)},
            {"workspace_bytes", explanation.chosen.launch.workspace_bytes},
            {"accumulation_class", class_text(explanation)},
            {"compile_command", explanation.compile_command}};
  json["served"] = nullptr;
  if (const auto& served = explanation.served) {
    json["served"] = {{"candidate", to_text(served->candidate)},
                      {"tuned_m", served->tuned_m},
                      {"tuned_on", served->tuned_on}};
    json["served"]["expected_loss"] =
        served->expected_loss ? Json(*served->expected_loss) : Json(nullptr);
  }
  json["nearest"] = Json::array();
  for (const MissedWinner& winner : explanation.nearest) {
    Json differences = Json::array();
    for (const auto& [field, tuned, asked] : winner.differences) {
      differences.push_back({{"field", field}, {"tuned", tuned}, {"asked", asked}});
    }
    json["nearest"].push_back({{"problem", to_text(winner.record.problem)},
                               {"device", winner.record.device.name},
                               {"state", winner.state},
                               {"median_us", winner.record.measurement.median_us},
                               {"differences", std::move(differences)}});
  }
  json["record"] = explanation.hit ? to_json(explanation.hit->record) : nullptr;
  std::cout << json_text(json, 2) << '\n';
}

ExitStatus explain(const ExplainOptions& options) {
  const NamedProblem shape = shape_of_arguments(options.shape, options.context.cache);
  const auto context = open_for_reading(options.context);
  Explanation explanation = explain(*context, shape.problem);
  const Source source = explanation.chosen.source();
  explanation.compile_command = compile_command(source, context->device().limits(),
                                                options.source.empty() ? "FILE" : options.source);
  if (!options.source.empty()) {
    const std::string origin =
        "// Written by tunedgemm explain --source.\n// " + to_text(explanation.chosen.candidate) +
        "\n// for " + to_text(explanation.problem) + "\n// " + explanation.compile_command + "\n";
    write_file(options.source, origin + self_contained(source), IfThere::kReplaceResults);
  }
  if (options.json) {
    print_json(explanation);
  } else {
    print(explanation, *context, options.width);
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_explain(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("explain", "print the kernel that a call would run, and why");
  const auto options = std::make_shared<ExplainOptions>();
  add_shape_arguments(*verb, options->shape);
  add_context_options(*verb, options->context);
  verb->add_flag("--json", options->json, "print a JSON object");
  verb->add_option("--source", options->source,
                   "also write the kernel with its defines, for profilers and Compiler Explorer")
      ->type_name("FILE");
  verb->callback([options, &status] { status = explain(*options); });
}

}  // namespace tunedgemm::internal

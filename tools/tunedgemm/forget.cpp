// tunedgemm forget: deletes winners with their trials, so that the next tuning starts anew.

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct ForgetOptions {
  ContextChoice context;
  std::vector<Field> shape;
  bool all = false;
  bool stale = false;
};

// The winners to forget: those of one problem, or all that pass the filters.
struct Choice {
  std::optional<Problem> problem = {};
  std::string types = {};  // a part of their text; "": any
  bool only_stale = false;
};

Choice choice_of(const ForgetOptions& options) {
  const std::vector<Field>& fields = options.shape;
  const auto not_types =
      std::ranges::find_if(fields, [](const Field& field) { return field.name != "types"; });
  if (!options.all && not_types == fields.end()) {
    throw std::invalid_argument("forget needs M N K, or --all");
  }
  if (!options.all) {
    return {.problem = shape_of_arguments(fields).problem};
  }
  if (not_types != fields.end()) {
    throw std::invalid_argument(not_types->name + " = " + not_types->value +
                                " is of a single problem, but --all was given as well; remove "
                                "one of them");
  }
  return {.types = fields.empty() ? "" : fields.back().value, .only_stale = options.stale};
}

struct Matches {
  std::vector<TuningKey> keys;
  std::int64_t winners = 0;  // those of read-only files, too
};

TuningKey key_of(const Record& record) {
  return {record.problem, record.device, record.toolchain};
}

// The winners of the problem with every toolchain. Trials without a winner, of an unfinished
// tuning, count if they are of the device's own toolchain.
Matches matches_of(const CanonicalProblem& problem, Context& context) {
  const DeviceIdentity& device = context.device().identity();
  Matches matches;
  for (const Record& record : context.store().winners(problem, device)) {
    matches.keys.push_back(key_of(record));
    ++matches.winners;
  }
  const TuningKey own{problem, device, context.device().toolchain()};
  if (std::ranges::find(matches.keys, own) == matches.keys.end() &&
      !context.store().trials(own).empty()) {
    matches.keys.push_back(own);
  }
  return matches;
}

Matches matches_of(const Choice& choice, Context& context) {
  if (choice.problem) {
    return matches_of(canonical(*choice.problem), context);
  }
  Matches matches;
  for (const auto& [record, state, name] : context.store().winners_with_state()) {
    if (record.device == context.device().identity() &&
        types_text(record.problem).find(choice.types) != std::string::npos &&
        (!choice.only_stale || state == "stale")) {
      matches.keys.push_back(key_of(record));
      ++matches.winners;
    }
  }
  return matches;
}

std::string nothing_matches(const Choice& choice, Context& context) {
  const std::string path = context.store().path().string();
  const std::string device = context.device().identity().name;
  return choice.problem ? "no winner and no trial of " + extents_text(*choice.problem) + " " +
                              layout_text(*choice.problem) + " " + types_text(*choice.problem) +
                              " on " + device + " is in " + path
                        : "no winner of " + device + " in " + path + " matches";
}

void warn_of_read_only() {
  std::cerr << "winners in read-only files ($TUNEDGEMM_SYSTEM_CACHE) cannot be forgotten; calls "
               "use them until tune-all --force stores others in the cache\n";
}

ExitStatus forget(const ForgetOptions& options) {
  const Choice choice = choice_of(options);
  Matches matches;
  {
    // A store for reading makes no file if --cache is wrong.
    const auto context = open_for_reading(options.context);
    matches = matches_of(choice, *context);
    if (matches.keys.empty()) {
      std::cerr << nothing_matches(choice, *context) << "; tunedgemm best lists the winners\n";
      return ExitStatus::kNoResult;
    }
    if (context->store().state() == StoreState::kMemoryOnly) {
      warn_of_read_only();
      return ExitStatus::kNoResult;
    }
  }
  const auto store = Store::open(to_context_options(options.context).store);
  const ForgetResult forgotten = store->forget(matches.keys);
  if (!forgotten.failure.empty()) {
    std::cerr << "tunedgemm: " << forgotten.failure << '\n';
    return ExitStatus::kCannotWrite;
  }
  if (forgotten.winners < matches.winners) {
    warn_of_read_only();
  }
  if (forgotten.winners + forgotten.trials == 0) {
    return ExitStatus::kNoResult;
  }
  std::cout << "forgot " << counted(static_cast<std::size_t>(forgotten.winners), "winner")
            << " and " << counted(static_cast<std::size_t>(forgotten.trials), "trial") << '\n';
  return ExitStatus::kGood;
}

}  // namespace

void add_forget(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "forget", "delete winners and their trials, so that the next tuning starts anew");
  const auto options = std::make_shared<ForgetOptions>();
  add_shape_arguments(*verb, options->shape, Extents::kOptional);
  add_context_options(*verb, options->context);
  auto* all = verb->add_flag("--all", options->all,
                             "instead of M N K: every winner of the device, with --types only "
                             "those whose types contain that text");
  verb->add_flag("--stale", options->stale,
                 "with --all: only winners since which another compiler or driver has been seen")
      ->needs(all);
  verb->footer(
      "The names of a problem and the calls that programs recorded for it go with its last winner "
      "on the device. Read-only caches are left alone.");
  verb->callback([options, &status] { status = forget(*options); });
}

}  // namespace tunedgemm::internal

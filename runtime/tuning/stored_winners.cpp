#include "runtime/tuning/stored_winners.h"

#include <utility>
#include <variant>

#include "kernel_templates/base/log.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// An incomplete tuning is not repeated if it spent this fraction of the budget, because the
// candidates that remain rank lower in the cost model.
constexpr double kSufficientBudgetFraction = 0.5;
// The timeout of the compilation that decides whether an outdated winner is renewed.
constexpr double kRenewalSeconds = 30;

}  // namespace

bool suffices(const Hit& hit, const TuneOptions& options) {
  const Record& record = hit.record;
  if (hit.match != Match::kExact || record.rigor < options.rigor) {
    return false;
  }
  const SearchLimits search_limits = search_limits_of(options.rigor, options.budget);
  return record.complete ||
         record.spent_seconds >= kSufficientBudgetFraction * search_limits.seconds ||
         (record.rigor > options.rigor && record.candidates_tried >= search_limits.candidates);
}

TuningKey StoredWinners::key_of(const CanonicalProblem& problem) const {
  return {problem, device_.identity(), device_.toolchain()};
}

std::optional<Hit> StoredWinners::find(const CanonicalProblem& problem) const {
  if (problem->invariant != 0) {
    note_class(problem);
  }
  return store_.find(key_of(problem), device_.limits());
}

void StoredWinners::note_class(const CanonicalProblem& problem) const {
  const std::string now(name(accumulation_class(problem, device_.limits())));
  const std::string place = types_text(problem) + " on " + device_.identity().backend + " " +
                            std::to_string(device_.identity().compute_capability);
  const std::string note = "accumulation class of " + place;
  const std::string before = store_.find_note(note);
  if (before != now) {
    store_.put_note(note, now);
  }
  if (!before.empty() && before != now) {
    log_warning("invariant products of " + place +
                " have other bits than before: the cache is of a version of this library with the "
                "accumulation class " +
                before + ", and this version has " + now);
  }
}

std::optional<Record> StoredWinners::find_tuned(const CanonicalProblem& problem,
                                                const TuneOptions& options) {
  auto hit = find(problem);
  if (!hit) {
    hit = renewed(problem);
  }
  return hit && suffices(*hit, options) ? std::optional(std::move(hit->record)) : std::nullopt;
}

std::optional<Hit> StoredWinners::renewed(const CanonicalProblem& problem) {
  auto outdated = store_.find_outdated(key_of(problem), device_.limits());
  if (!outdated || !device_.why_not_compile().empty()) {
    return std::nullopt;
  }
  const Source source = outdated->hit.winner.source();
  const int architecture = device_.limits().arch;
  std::optional<Binary> now = store_.find_binary(source, device_.toolchain(), architecture);
  if (!now) {
    auto compiled = device_.compile_within(source, kRenewalSeconds);
    if (!std::holds_alternative<Binary>(compiled)) {
      return std::nullopt;
    }
    now = std::get<Binary>(std::move(compiled));
    // Store the binary even if its code differs, so that the source is compiled only once.
    store_.put_binary(source, device_.toolchain(), architecture, *now);
  }
  if (now->code != outdated->binary.code) {
    return std::nullopt;
  }
  store_.renew(*outdated);
  log_info("keeping the winner of " + to_text(problem) + ": the template of " +
           to_text(outdated->hit.winner.candidate) + " has changed, but not its machine code");
  return std::move(outdated->hit);
}

}  // namespace tunedgemm::internal

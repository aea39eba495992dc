#include "tuner/remark.h"

#include <cstdlib>

#include "kernel_templates/base/number_text.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

std::string percent(double part) {
  return "+-" + fixed(100 * part, 1) + " %";
}

std::string_view name(Winner winner) {
  switch (winner) {
    case Winner::kDefault:
      return "default";
    case Winner::kChallenger:
      return "the preferred of equals";
    case Winner::kTunedLaunch:
      return "the launch that was tuned";
  }
  return "?";
}

}  // namespace

std::string why_kept(const Decision& decision, Winner winner) {
  if (!decision.passed_over) {
    return "";
  }
  const PassedOver& faster = *decision.passed_over;
  const std::string why =
      faster.too_few_rounds ? "too few rounds to tell" : "noise hides the difference";
  return "kept: " + std::string(name(winner)) + ", " + why + " (another measured " +
         fixed(faster.speedup, 2) + "x, " + percent(faster.uncertainty) + ")";
}

std::string why_default_was_kept(std::string_view remark) {
  constexpr std::string_view kKept = "kept: default, ";
  if (!remark.starts_with(kKept)) {
    return "";
  }
  remark.remove_prefix(kKept.size());
  const std::string_view reason = remark.substr(0, remark.find_first_of("(;"));
  return std::string(reason.substr(0, reason.find_last_not_of(' ') + 1));
}

double load_of_machine() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

std::string why_noisy(const Measurement& winner, const FinalsReport& finals, double load) {
  std::string scatter, clock;
  if (const double spread = relative_spread(winner); spread > kBusySpread) {
    scatter = "busy machine: samples within " + percent(spread);
    scatter += load > 0 ? ", load " + fixed(load, 1) : "";
  }
  // Rounds with a dropped clock are repeated. If many were, the clock may have been low in counted
  // rounds too.
  if (2 * finals.repeated_rounds > finals.rounds) {
    clock = "the clock dropped in " + std::to_string(finals.repeated_rounds) + " rounds, " +
            std::to_string(finals.rounds) + " counted";
  }
  return joined_remarks(scatter, clock);
}

std::string why_shared(const std::string& neighbour) {
  return neighbour.empty() ? "" : "busy device: " + neighbour + " used it, so tune again";
}

std::string joined_remarks(std::string_view first, std::string_view second) {
  return std::string(first) + (first.empty() || second.empty() ? "" : "; ") + std::string(second);
}

}  // namespace tunedgemm::internal

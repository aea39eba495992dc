#include "tuner/evaluator.h"

#include <algorithm>
#include <cmath>

#include "kernel_templates/base/number_text.h"

namespace tunedgemm::internal {
namespace {

constexpr double kMostLaunches = 128;
// A margin for errors of the timer and of the stated memory bandwidth.
constexpr double kPlausible = 0.9;

}  // namespace

int launches_for(double sample_us, double launch_us) {
  return static_cast<int>(std::clamp(std::round(sample_us / launch_us), 1.0, kMostLaunches));
}

std::optional<Rejection> why_implausible(double us, double roofline_us) {
  if (std::isfinite(us) && us > 0 && us >= kPlausible * roofline_us) {
    return std::nullopt;
  }
  return Rejection{Reason::kImplausible, "timed at " + four_digits(us) +
                                             " us, but the device cannot take less than " +
                                             four_digits(roofline_us) + " us"};
}

std::variant<double, Rejection> plausible_sample(Trial& trial, int launches, double roofline_us) {
  auto sample = trial.sample(launches);
  if (const double* us = std::get_if<double>(&sample)) {
    if (auto rejection = why_implausible(*us, roofline_us)) {
      return *std::move(rejection);
    }
  }
  return sample;
}

}  // namespace tunedgemm::internal

#pragma once

// One sample and whether to believe it.

#include <optional>
#include <string>
#include <variant>

#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// How many launches make a sample of about `sample_us`: at least 1, and not so many that a tiny
/// kernel's sample takes long to set up.
int launches_for(double sample_us, double launch_us);

/// Why a time cannot be believed, as kImplausible: the device cannot reach it, or it is no number.
std::optional<Rejection> why_implausible(double us, double roofline_us);
/// A sample of the trial in microseconds a launch, rejected where it is implausible.
std::variant<double, Rejection> plausible_sample(Trial& trial, int launches, double roofline_us);

/// Four digits: "0.1234", "1.235e+04".
std::string four_digits(double value);

}  // namespace tunedgemm::internal

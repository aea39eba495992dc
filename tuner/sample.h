#pragma once

// One sample and whether to believe it.

#include <string>
#include <variant>

#include "tuner/evaluator.h"

namespace tunedgemm {

/// How many launches make a sample of about `sample_us`: at least 1, and not so many that a tiny
/// kernel's sample takes long to set up.
int launches_for(double sample_us, double launch_us);

/// A sample of the trial in microseconds a launch. A time that the device cannot reach, or that is
/// no number, is a rejection as kImplausible.
std::variant<double, Rejection> plausible_sample(Trial& trial, int launches, double roofline_us);

/// Four digits: "0.1234", "1.235e+04".
std::string four_digits(double value);

}  // namespace tunedgemm

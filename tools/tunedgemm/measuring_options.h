#pragma once

// The options of the verbs that race kernels: --rounds, --rigor, and the files of the results.

#include <CLI/CLI.hpp>
#include <string>

#include "tools/tunedgemm/picture_options.h"

namespace tunedgemm::internal {

struct MeasuringChoice {
  int rounds = 0;
  std::string rigor = "normal";
  std::string csv;
  PictureChoice picture;
};

/// Adds --rounds (so many by default), --rigor, --csv, --json and --plot for results that the
/// script ("plot_bench.py") draws. `choice` must outlive the parsing, which leaves a rigor that
/// parse_rigor knows.
void add_measuring_options(CLI::App& app, MeasuringChoice& choice, int rounds,
                           const std::string& script);

}  // namespace tunedgemm::internal

#pragma once

// The options of the verbs whose results a script draws (--json, --plot), and of those that race
// kernels (--rounds, --rigor and --csv too).

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tools/tunedgemm/plotter.h"

namespace tunedgemm::internal {

struct PictureChoice {
  std::string script, json, plot;
};

/// Adds --json FILE and --plot PREFIX for results that the script ("plot_bench.py") draws. `choice`
/// must outlive the parsing.
void add_picture_options(CLI::App& app, PictureChoice& choice, const std::string& script);

/// The file that the results go to: as given, else PREFIX.json if they are to be drawn, else "".
std::string json_path(const PictureChoice& choice);

/// Empty unless a picture is asked for. Throws as find_plotter(script) does.
std::optional<Plotter> find_plotter(const PictureChoice& choice);

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

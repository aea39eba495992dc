#pragma once

// The options of the verbs whose results a script draws: --json and --plot.

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

}  // namespace tunedgemm::internal

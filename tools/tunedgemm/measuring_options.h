#pragma once

// Options of verbs whose results a script in tools/ plots (--json, --plot); more options of verbs
// that race kernels (--rounds, --rigor, --csv); and the call of the plot script.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tunedgemm::internal {

struct PictureChoice {
  std::string script, json, plot;
};
/// Adds --json FILE and --plot PREFIX for results that `script` ("plot_bench.py") plots. `choice`
/// must outlive the parsing.
void add_picture_options(CLI::App& app, PictureChoice& choice, const std::string& script);
/// The path of the results: that of --json, else PREFIX.json if --plot is given, else "".
std::string json_path(const PictureChoice& choice);

struct MeasuringChoice {
  int rounds = 0;
  std::string rigor = "normal";
  std::string csv;
  PictureChoice picture;
};
/// Adds --rounds (default `rounds`), --rigor (checked, so that parse_rigor() succeeds), --csv, and
/// the picture options.
void add_measuring_options(CLI::App& app, MeasuringChoice& choice, int rounds,
                           const std::string& script);

struct Plotter {
  std::filesystem::path script;
  std::string python;  ///< with matplotlib
};
// These functions throw std::runtime_error. The message names the missing part and its remedy, or
// contains the script's output.

/// Empty without --plot. Looks for the script in ../share/tunedgemm beside the installed program,
/// then in the source tree, and for Python on the path, then in /usr/bin.
std::optional<Plotter> find_plotter(const PictureChoice& choice);
/// Runs the script in its checking mode, which only reads the file.
void check_drawable(const Plotter& plotter, const std::filesystem::path& file);
/// Plots one file, or several overlaid, to `prefix`.png and `prefix`.svg.
void plot(const Plotter& plotter, const std::vector<std::filesystem::path>& files,
          const std::string& prefix);

}  // namespace tunedgemm::internal

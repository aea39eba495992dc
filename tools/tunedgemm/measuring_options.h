#pragma once

// The options of the verbs whose results a script of tools/ draws (--json, --plot), and of those that
// race kernels (--rounds, --rigor and --csv too); and the drawing, by Python with matplotlib.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tunedgemm::internal {

struct PictureChoice {
  std::string script, json, plot;
};
/// Adds --json FILE and --plot PREFIX for results that the script ("plot_bench.py") draws. `choice`
/// must outlive the parsing.
void add_picture_options(CLI::App& app, PictureChoice& choice, const std::string& script);
/// The file that the results go to: as given, else PREFIX.json if they are to be drawn, else "".
std::string json_path(const PictureChoice& choice);

struct MeasuringChoice {
  int rounds = 0;
  std::string rigor = "normal";
  std::string csv;
  PictureChoice picture;
};
/// Adds --rounds (so many by default), --rigor, which parse_rigor() knows then, --csv, and the
/// options of a picture.
void add_measuring_options(CLI::App& app, MeasuringChoice& choice, int rounds,
                           const std::string& script);

struct Plotter {
  std::filesystem::path script;
  std::string python;  ///< one that has matplotlib
};
// These throw std::runtime_error with a sentence: what is missing and how to get it, or what the
// script said.

/// Empty unless a picture is asked for. Looks for the script beside the installed program
/// (../share/tunedgemm), then in the source tree, and for a Python on the path, then Debian's.
std::optional<Plotter> find_plotter(const PictureChoice& choice);
/// Has the script only read the file.
void check_drawable(const Plotter& plotter, const std::filesystem::path& file);
/// Writes `prefix`.png and `prefix`.svg of one file, or of several laid over each other.
void plot(const Plotter& plotter, const std::vector<std::filesystem::path>& files,
          const std::string& prefix);

}  // namespace tunedgemm::internal

#pragma once

// Draws results by one of the scripts of tools/, which are Python with matplotlib.

#include <filesystem>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// How to draw: the script, and a Python that has matplotlib.
struct Plotter {
  std::filesystem::path script;
  std::string python;
};

/// Looks for the script ("plot_bench.py") beside the installed program (../share/tunedgemm), then
/// in the source tree, and for a Python on the path, then Debian's. Throws std::runtime_error with
/// a sentence that says what is missing and how to get it.
Plotter find_plotter(const std::string& script);

/// Has the script only read the file. Throws std::runtime_error with what it said.
void check_drawable(const Plotter& plotter, const std::filesystem::path& file);

/// Writes `prefix`.png and `prefix`.svg of one file, or of several laid over each other. Throws
/// std::runtime_error with what the script said.
void plot(const Plotter& plotter, const std::vector<std::filesystem::path>& files,
          const std::string& prefix);

}  // namespace tunedgemm::internal

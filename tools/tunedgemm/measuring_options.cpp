#include "tools/tunedgemm/measuring_options.h"

#include <chrono>
#include <stdexcept>

#include "runtime/process/child_process.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kScriptTimeout{120};

bool succeeds(const ChildResult& result) {
  return result.end == ChildResult::End::kExited && result.code == 0;
}

fs::path find_script(const std::string& name) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = program.parent_path().parent_path() / "share" / "tunedgemm" / name;
  const fs::path source = fs::path(TUNEDGEMM_SCRIPTS) / name;
  for (const fs::path& script : {installed, source}) {
    if (fs::exists(script, ignored)) {
      return script;
    }
  }
  throw std::runtime_error("the plot script is neither " + installed.string() + " nor " +
                           source.string() +
                           "; use --json instead of --plot, and plot from the source tree");
}

std::string find_python() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (succeeds(run_child({"/usr/bin/env", python, "-c", "import matplotlib"},
                           {.time = kScriptTimeout}))) {
      return python;
    }
  }
  throw std::runtime_error(
      "--plot needs a python3 with matplotlib (Debian: apt-get install python3-matplotlib); or use "
      "--json, and plot later with the script in tools/");
}

ChildResult run_script(const Plotter& plotter, const std::vector<fs::path>& files,
                       const std::vector<std::string>& options) {
  std::vector<std::string> command{"/usr/bin/env", plotter.python, plotter.script.string()};
  for (const fs::path& file : files) {
    command.push_back(file.string());
  }
  command.insert(command.end(), options.begin(), options.end());
  return run_child(command, {.time = kScriptTimeout});
}

}  // namespace

void add_measuring_options(CLI::App& app, MeasuringChoice& choice, int rounds,
                           const std::string& script) {
  choice.rounds = rounds;
  app.add_option("--rounds", choice.rounds, "timed rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rigor", choice.rigor, "rigor of the tuning, if the cache has no winner")
      ->check(CLI::IsMember({"quick", "normal", "exhaustive"}).description(""))
      ->type_name("quick|normal|exhaustive")
      ->capture_default_str();
  app.add_option("--csv", choice.csv, "write every kernel's figures to this file, row by row");
  add_picture_options(app, choice.picture, script);
}

void add_picture_options(CLI::App& app, PictureChoice& choice, const std::string& script) {
  choice.script = script;
  app.add_option("--json", choice.json, "write all figures to this file, for tools/" + script);
  app.add_option("--plot", choice.plot,
                 "draw PREFIX.png and PREFIX.svg; without --json also write PREFIX.json")
      ->type_name("PREFIX");
}

std::string json_path(const PictureChoice& choice) {
  return choice.json.empty() && !choice.plot.empty() ? choice.plot + ".json" : choice.json;
}

std::optional<Plotter> find_plotter(const PictureChoice& choice) {
  if (choice.plot.empty()) {
    return std::nullopt;
  }
  return Plotter{.script = find_script(choice.script), .python = find_python()};
}

void check_drawable(const Plotter& plotter, const fs::path& file) {
  const ChildResult result = run_script(plotter, {file}, {"--check"});
  if (!succeeds(result)) {
    throw std::runtime_error(file.string() + " cannot be drawn: " + result.output);
  }
}

void plot(const Plotter& plotter, const std::vector<fs::path>& files, const std::string& prefix) {
  const ChildResult result = run_script(plotter, files, {"-o", prefix});
  if (!succeeds(result)) {
    throw std::runtime_error("drawing " + files.front().string() + " failed: " + result.output);
  }
}

}  // namespace tunedgemm::internal

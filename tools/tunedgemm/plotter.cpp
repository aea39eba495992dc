#include "tools/tunedgemm/plotter.h"

#include <chrono>
#include <stdexcept>

#include "runtime/process/child_process.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{120};

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
  throw std::runtime_error("the script that draws is neither " + installed.string() + " nor " +
                           source.string() +
                           "; give --json instead of --plot, and draw where the sources are");
}

std::string find_python() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (succeeds(
            run_child({"/usr/bin/env", python, "-c", "import matplotlib"}, {.time = kPatience}))) {
      return python;
    }
  }
  throw std::runtime_error(
      "no picture can be drawn: there is no python3 with matplotlib (Debian: apt-get install "
      "python3-matplotlib); or give --json instead of --plot, and draw later by the "
      "script of the same name in tools/");
}

ChildResult run_script(const Plotter& plotter, const std::vector<fs::path>& files,
                       const std::vector<std::string>& options) {
  std::vector<std::string> command{"/usr/bin/env", plotter.python, plotter.script.string()};
  for (const fs::path& file : files) {
    command.push_back(file.string());
  }
  command.insert(command.end(), options.begin(), options.end());
  return run_child(command, {.time = kPatience});
}

}  // namespace

Plotter find_plotter(const std::string& script) {
  return {.script = find_script(script), .python = find_python()};
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

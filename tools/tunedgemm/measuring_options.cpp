#include "tools/tunedgemm/measuring_options.h"

namespace tunedgemm::internal {

void add_measuring_options(CLI::App& app, MeasuringChoice& choice, int rounds,
                           const std::string& script) {
  choice.rounds = rounds;
  app.add_option("--rounds", choice.rounds, "timed rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rigor", choice.rigor, "of the tuning, where the cache has no winner")
      ->check(CLI::IsMember({"quick", "normal", "exhaustive"}))
      ->capture_default_str();
  app.add_option("--csv", choice.csv, "writes every kernel's figures to this file, row by row");
  add_picture_options(app, choice.picture, script);
}

void add_picture_options(CLI::App& app, PictureChoice& choice, const std::string& script) {
  choice.script = script;
  app.add_option("--json", choice.json,
                 "writes all figures to this file, for tools/" + script + " to draw");
  app.add_option("--plot", choice.plot,
                 "draws PREFIX.png and PREFIX.svg; without --json it writes PREFIX.json too")
      ->type_name("PREFIX");
}

std::string json_path(const PictureChoice& choice) {
  return choice.json.empty() && !choice.plot.empty() ? choice.plot + ".json" : choice.json;
}

std::optional<Plotter> find_plotter(const PictureChoice& choice) {
  return choice.plot.empty() ? std::nullopt : std::optional(find_plotter(choice.script));
}

}  // namespace tunedgemm::internal

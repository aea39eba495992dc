#include "tools/tunedgemm/picture_options.h"

namespace tunedgemm::internal {

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

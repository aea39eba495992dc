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

}  // namespace tunedgemm::internal

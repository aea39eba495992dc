// tunedgemm: looks at a cache and at this machine. One verb a file, see verbs.h.

#include <iostream>
#include <stdexcept>

#include "runtime/device.h"
#include "tools/shared/shape.h"
#include "tools/tunedgemm/verbs.h"

namespace {

using tunedgemm::ExitStatus;

ExitStatus run(int argc, char** argv) {
  CLI::App app("Looks at what libtunedgemm has tuned, and at what it would do.", "tunedgemm");
  app.footer(
      "Exit status: 0 good; 1 nothing was found, or doctor found what would stop tuning; 2 the\n"
      "command line is wrong; 3 there is no such device; 130 interrupted.");
  app.require_subcommand(1);
  ExitStatus status = ExitStatus::kGood;
  tunedgemm::add_best(app, status);
  tunedgemm::add_explain(app, status);
  tunedgemm::add_trials(app, status);
  tunedgemm::add_bench(app, status);
  tunedgemm::add_ladder(app, status);
  tunedgemm::add_landscape(app, status);
  tunedgemm::add_order(app, status);
  tunedgemm::add_doctor(app, status);
  tunedgemm::add_export(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitStatus::kGood : ExitStatus::kWrongUse;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  ExitStatus status = ExitStatus::kGood;
  try {
    status = run(argc, argv);
  } catch (const tunedgemm::DeviceError& error) {
    std::cerr << "tunedgemm: " << error.what() << '\n';
    status = ExitStatus::kNoDevice;
  } catch (const std::exception& error) {  // ShapeError, std::invalid_argument
    std::cerr << "tunedgemm: " << error.what() << '\n';
    status = ExitStatus::kWrongUse;
  }
  return static_cast<int>(status);
}

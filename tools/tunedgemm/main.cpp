// tunedgemm: looks at a cache and at this machine. One verb a file, see verbs.h.

#include <array>
#include <iostream>
#include <stdexcept>

#include "runtime/device.h"
#include "tools/shared/full_disk.h"
#include "tools/shared/interrupt.h"
#include "tools/shared/own_processes.h"
#include "tools/shared/printable_output.h"
#include "tools/shared/shape.h"
#include "tools/tunedgemm/verbs.h"

namespace {

using tunedgemm::ExitStatus;

// In the order of the help.
constexpr std::array kVerbs{
    tunedgemm::add_best,   tunedgemm::add_explain, tunedgemm::add_trials,    tunedgemm::add_bench,
    tunedgemm::add_sweep,  tunedgemm::add_ladder,  tunedgemm::add_landscape, tunedgemm::add_order,
    tunedgemm::add_doctor, tunedgemm::add_export,
};

ExitStatus run(int argc, char** argv) {
  CLI::App app("Looks at what libtunedgemm has tuned, and at what it would do.", "tunedgemm");
  app.footer(
      "Exit status: 0 good; 1 nothing was found, or doctor found what would stop tuning; 2 the\n"
      "command line is wrong; 3 there is no such device; 4 what was found could not be written; "
      "130\n"
      "interrupted.");
  app.require_subcommand(1);
  ExitStatus status = ExitStatus::kGood;
  for (const auto add_verb : kVerbs) {
    add_verb(app, status);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitStatus::kGood : ExitStatus::kWrongUse;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto compiled = tunedgemm::compile_if_told(argc, argv)) {
    return *compiled;
  }
  tunedgemm::survive_file_size_limit();
  const tunedgemm::PrintableOutput results(std::cout);
  const tunedgemm::PrintableOutput messages(std::cerr);
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
  return tunedgemm::status_after_output(static_cast<int>(status), "tunedgemm");
}

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

using tunedgemm::internal::ExitStatus;

// In the order of the help.
constexpr std::array kVerbs{
    tunedgemm::internal::add_best,   tunedgemm::internal::add_explain,
    tunedgemm::internal::add_trials, tunedgemm::internal::add_bench,
    tunedgemm::internal::add_sweep,  tunedgemm::internal::add_ladder,
    tunedgemm::internal::add_order,  tunedgemm::internal::add_doctor,
    tunedgemm::internal::add_export, tunedgemm::internal::add_merge,
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
  if (const auto compiled = tunedgemm::internal::compile_if_told(argc, argv)) {
    return *compiled;
  }
  tunedgemm::internal::survive_file_size_limit();
  const tunedgemm::internal::PrintableOutput results(std::cout);
  const tunedgemm::internal::PrintableOutput messages(std::cerr);
  ExitStatus status = ExitStatus::kGood;
  try {
    status = run(argc, argv);
  } catch (const tunedgemm::internal::DeviceError& error) {
    std::cerr << "tunedgemm: " << error.what() << '\n';
    status = ExitStatus::kNoDevice;
  } catch (const std::exception& error) {  // ShapeError, std::invalid_argument
    std::cerr << "tunedgemm: " << error.what() << '\n';
    status = ExitStatus::kWrongUse;
  }
  return tunedgemm::internal::status_after_output(static_cast<int>(status), "tunedgemm");
}

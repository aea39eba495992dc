// tunedgemm: looks at a cache and at this machine. One verb a file, see verbs.h.

#include "tools/tunedgemm/verbs.h"

using namespace tunedgemm::internal;

// Only a mistake in the options themselves is thrown here.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  CLI::App app("Looks at what libtunedgemm has tuned, and at what it would do.", "tunedgemm");
  app.footer(
      "Exit status: 0 good; 1 nothing was found, or doctor found what would stop tuning; 2 the\n"
      "command line is wrong; 3 there is no such device; 4 the standard output could not be\n"
      "written; 130 interrupted.");
  app.require_subcommand(1);
  ExitStatus status = ExitStatus::kGood;
  // In the order of the help.
  for (const auto add_verb : {add_best, add_explain, add_trials, add_bench, add_sweep, add_ladder,
                              add_order, add_doctor, add_export, add_merge}) {
    add_verb(app, status);
  }
  return run_program(app, argc, argv, [&] { return status; });
}

// tunedgemm: inspects a cache and this machine, and measures kernels. One file per verb, see
// verbs.h.

#include "tools/tunedgemm/verbs.h"

using namespace tunedgemm::internal;

// Throws only if the options are declared wrongly.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  CLI::App app("Inspects and measures the kernels that libtunedgemm has tuned.", "tunedgemm");
  app.footer(
      "Exit status: 0 success; 1 nothing was found, doctor found an obstacle to tuning, a "
      "winner does not hold, or diff found differences; 2 the command line is wrong; 3 no such "
      "device; 4 the standard output or the cache could not be written; 130 interrupted.");
  app.require_subcommand(1);
  ExitStatus status = ExitStatus::kGood;
  // In the order of the help text.
  for (const auto add_verb :
       {add_best, add_explain, add_trials, add_missing, add_show, add_report, add_bench, add_sweep,
        add_ladder, add_order, add_record, add_run, add_doctor, add_diff, add_export, add_merge,
        add_forget, add_gc, add_verify}) {
    add_verb(app, status);
  }
  return run_program(app, argc, argv, [&] { return status; });
}

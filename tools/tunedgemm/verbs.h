#pragma once

// The verbs of the tunedgemm command, one file each. A new verb needs its file, a declaration here
// and an entry in the table of main.cpp.

#include <CLI/CLI.hpp>

#include "tools/shared/program.h"

namespace tunedgemm::internal {

// Each function adds its verb to `app`. A verb runs during the parsing of the command line and sets
// `status`, which must outlive the parsing.

void add_best(CLI::App& app, ExitStatus& status);
void add_show(CLI::App& app, ExitStatus& status);
void add_missing(CLI::App& app, ExitStatus& status);
void add_report(CLI::App& app, ExitStatus& status);
void add_top(CLI::App& app, ExitStatus& status);
void add_explain(CLI::App& app, ExitStatus& status);
void add_trials(CLI::App& app, ExitStatus& status);
void add_bench(CLI::App& app, ExitStatus& status);
void add_sweep(CLI::App& app, ExitStatus& status);
void add_ladder(CLI::App& app, ExitStatus& status);
void add_order(CLI::App& app, ExitStatus& status);
void add_record(CLI::App& app, ExitStatus& status);
void add_run(CLI::App& app, ExitStatus& status);
void add_doctor(CLI::App& app, ExitStatus& status);
void add_diff(CLI::App& app, ExitStatus& status);
void add_export(CLI::App& app, ExitStatus& status);
void add_merge(CLI::App& app, ExitStatus& status);
void add_forget(CLI::App& app, ExitStatus& status);
void add_gc(CLI::App& app, ExitStatus& status);
void add_verify(CLI::App& app, ExitStatus& status);

}  // namespace tunedgemm::internal

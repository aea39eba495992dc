#pragma once

// The command line of tune-all.

#include <CLI/CLI.hpp>

#include "tools/shared/context_options.h"
#include "tools/tune_all/session.h"
#include "tools/tune_all/work_list.h"

namespace tunedgemm::internal {

struct CommandLine {
  WorkRequest work;
  ContextChoice context;
  SessionOptions session;
  bool dry_run = false;
  bool json = false;
  bool in_process = false;
};

/// Adds the options; `line` must outlive the parsing.
void add_options(CLI::App& app, CommandLine& line);

}  // namespace tunedgemm::internal

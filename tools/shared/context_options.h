#pragma once

// The options that several tools have: which device, and which cache file.

#include <CLI/CLI.hpp>
#include <string>

#include "runtime/context/context.h"

namespace tunedgemm::internal {

struct ContextChoice {
  std::string device = "auto";
  std::string cache;
};

/// Adds --device auto|host|cuda[:n] and --cache PATH. `choice` must outlive the parsing.
void add_context_options(CLI::App& app, ContextChoice& choice);

/// The options of the context that was chosen. Precondition: parsed by CLI11, which has refused
/// what is wrong.
ContextOptions to_context_options(const ContextChoice& choice);

}  // namespace tunedgemm::internal

#pragma once

// The comparison of a session's winners with the vendor library's own calls: races on this machine,
// whose results are stored with the winners.

#include <memory>
#include <string>

#include "runtime/context/context.h"
#include "tools/baselines/baseline.h"
#include "tools/tune_all/session.h"

namespace tunedgemm::internal {

/// `name` is that of name_of_baseline(). Throws std::invalid_argument if the device has another
/// library or this one is missing.
std::unique_ptr<Baseline> open_vendor(const std::string& name, Device& device);

/// Races the winners that were not compared with this version of the library, or all with
/// TuneOptions::force, against its default and its other ways of calling it. Prints a line for each
/// on standard error. Ends early if interrupted, or if the device fails. Changes the outcomes and
/// the context's store.
void compare(Session& session, Context& context, Baseline& vendor, const SessionOptions& options);

}  // namespace tunedgemm::internal

#pragma once

#include "cache/record.h"
#include "cache/store.h"
#include "kernel_templates/family.h"
#include "tuner/evaluator.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// What tune() was called with. Everything is referred to, nothing owned; lives as long as the
/// call.
struct Task {
  const Problem& problem;
  const DeviceIdentity& device;
  const Toolchain& toolchain;
  const DeviceLimits& limits;
  Evaluator& evaluator;
  Store& store;
  const TuneOptions& options;
};

}  // namespace tunedgemm::internal

#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "tuner/decision.h"
#include "tuner/evaluator.h"
#include "tuner/selection.h"

namespace tunedgemm {

/// A candidate that computes the right result and was timed once. Move-only: it owns the kernel.
struct Contender {
  Selected selected;
  std::size_t line = 0;  ///< in the trial log
  double screened_us = 0;
  std::unique_ptr<Trial> trial;
  Contestant standing;                 ///< its rounds are filled in by the finals
  std::optional<Rejection> rejection;  ///< it failed in the finals, and its rounds do not count
};

}  // namespace tunedgemm

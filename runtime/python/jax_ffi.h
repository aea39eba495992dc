#pragma once

// Products as custom calls of XLA, which tunedgemm.jax registers.

#include <nanobind/nanobind.h>

namespace tunedgemm::python {

/// The handlers as capsules by platform and stage: {"cpu": {"execute": ...}, "CUDA": {...}}. Empty
/// if the package was built without XLA's headers.
nanobind::dict jax_handlers();

}  // namespace tunedgemm::python

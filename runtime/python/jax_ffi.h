#pragma once

// Products as custom calls of XLA, which tunedgemm.jax registers.

#include <nanobind/nanobind.h>

namespace tunedgemm::python {

/// The version of jaxlib with whose headers the package was built, and the handlers as capsules by
/// platform and stage: ("0.6.2", {"cpu": {"execute": ...}, "CUDA": {...}}). ("", {}) if it was
/// built without jaxlib.
nanobind::tuple jax_handlers();

}  // namespace tunedgemm::python

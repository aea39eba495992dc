#pragma once

// Launches a plan with a caller's buffers: the hot path.

#include <string>

#include "runtime/context/context.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

/// A fast test that accepts most valid buffers: no required pointer is null, scalars and alignments
/// match the plan's classes, and D overlaps no input. If the result is false, why_not_buffers()
/// decides.
bool plainly_usable(const Plan& plan, const tunedgemm_buffers& buffers) noexcept;

/// Empty if the buffers can be used with the plan, else a sentence that names the wrong value.
std::string why_not_buffers(const Plan& plan, const tunedgemm_buffers& buffers);

/// Empty if kernels can access all non-null buffers that the problem reads or writes, or if that is
/// unknown; else a sentence. Queries the operating system or the driver, which is slow: use it only
/// for the first launch of a plan.
std::string why_not_memory(const MemorySpace& memory, const Problem& problem,
                           const tunedgemm_buffers& buffers);

/// Launches the plan. Precondition: the buffers can be used with the plan. Returns 0 or the device
/// API's error number. Allocates only if the plan needs a workspace, and the stream or the captured
/// graph has none yet. May then throw DeviceError.
int launch(const Plan& plan, const tunedgemm_buffers& buffers, StreamHandle stream);

}  // namespace tunedgemm::internal

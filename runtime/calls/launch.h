#pragma once

// The hot path: launches a plan with a caller's buffers.

#include <string>

#include "runtime/context/context.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

/// A fast test that accepts most valid buffers. There must be no bias, scale or workspace, no
/// required pointer may be null, scalars and alignments must suit the plan, and D must not overlap
/// an input, except a C that is D. If the result is false, why_not_buffers() decides.
bool plainly_usable(const Plan& plan, const tunedgemm_buffers& buffers) noexcept;

/// Empty if the buffers can be used with the plan, else a sentence that names the wrong value.
std::string why_not_buffers(const Plan& plan, const tunedgemm_buffers& buffers);

/// Empty if kernels can access all non-null buffers that the problem reads or writes, or if that is
/// unknown; else a sentence. Queries the operating system or the driver, which is slow, so use it
/// only for the first launch of a plan.
std::string why_not_memory(const MemorySpace& memory, const Problem& problem,
                           const tunedgemm_buffers& buffers);

/// Launches the plan. Precondition: the buffers can be used with the plan. Returns 0 or the device
/// API's error number. Allocates only if the kernel uses a workspace and neither the caller nor the
/// stream or captured graph has one of this size. Compiles only if that allocation fails. May throw
/// DeviceError in both cases.
int launch(const Plan& plan, const tunedgemm_buffers& buffers, StreamHandle stream);

}  // namespace tunedgemm::internal

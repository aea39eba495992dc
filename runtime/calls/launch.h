#pragma once

// From a plan and a caller's buffers to a launch: the hot path.

#include <string>

#include "runtime/context/context.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

/// Whether the buffers can be used with the plan by the tests that cost next to nothing: pointers
/// are there, scalars and alignments are of the plan's classes, D is apart from what is read. False
/// needs a second look: why_not_buffers.
bool plainly_usable(const Plan& plan, const tunedgemm_buffers& buffers) noexcept;

/// Empty if the buffers can be used with the plan, else a sentence with the value that is wrong.
std::string why_not_buffers(const Plan& plan, const tunedgemm_buffers& buffers);

/// Empty if kernels can use the memory of the buffers that are given and that a call
/// with this problem reads or writes, or if that cannot be told; else a sentence. Asks the
/// operating system or the driver, so that it is for a first call.
std::string why_not_memory(const MemorySpace& memory, const Problem& problem,
                           const tunedgemm_buffers& buffers);

/// Launches. Precondition: the buffers can be used. Returns 0 or the device's error number.
/// Allocates only where the plan needs a workspace that the stream does not have yet (or the graph
/// into which it is captured); then it may throw DeviceError.
int launch(const Plan& plan, const tunedgemm_buffers& buffers, StreamHandle stream);

}  // namespace tunedgemm::internal

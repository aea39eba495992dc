#pragma once

namespace tunedgemm::internal {

/// Whether the CPU can read the byte at `pointer`. True where that cannot be found out. Reads
/// through the operating system, so that what is not readable does no harm.
bool is_readable(const void* pointer) noexcept;

}  // namespace tunedgemm::internal

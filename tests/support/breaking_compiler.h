#pragma once

// For tests of candidates that harm the process that they run in, and of who outlives them.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// Writes a compiler in whose place kernels of the host have another body where a line of a shell's
/// `case` says `make BODY`: "PATTERN) make BODY ;;". The patterns meet the kernel's name, a space,
/// and the arguments. Kernels without the argument `only` stay as they are.
void write_breaking_compiler(const std::filesystem::path& path, const std::string& cases,
                             const std::string& only = "");

/// The pids of the processes in whose command line both texts stand.
std::vector<pid_t> processes_with(const std::string& one, const std::string& other);

}  // namespace tunedgemm::internal

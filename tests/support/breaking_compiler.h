#pragma once

// For tests of candidates that harm their process.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// Writes a compiler wrapper that replaces the bodies of some host kernels. `cases` are the lines
/// of a shell `case`: "PATTERN) make BODY ;;". A pattern matches the kernel's name, a space, and
/// the arguments. If `only` is not empty, the wrapper changes only kernels whose compiler arguments
/// contain this text.
void write_breaking_compiler(const std::filesystem::path& path, const std::string& cases,
                             const std::string& only = "");

/// The pids of processes whose command line contains both texts.
std::vector<pid_t> processes_with(const std::string& one, const std::string& other);

}  // namespace tunedgemm::internal

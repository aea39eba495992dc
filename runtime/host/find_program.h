#pragma once

#include <filesystem>
#include <string>

namespace tunedgemm::internal {

/// The path of a program, searched for as a shell does; empty if there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace tunedgemm::internal

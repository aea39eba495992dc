#pragma once

// The only code that reads the environment. In a program with privileges that its caller lacks
// (set-user-ID, set-group-ID, file capabilities; AT_SECURE of getauxval(3)) the environment belongs
// to the caller and may be an attack: such a program reads nothing from it and passes nothing on to
// children. Any thread may call these, while no thread changes the environment.
// tools/check_environment.py checks that no other file reads it.

#include <string>
#include <vector>

namespace tunedgemm::internal {

/// The variable's value; "" if it is not set.
std::string environment(const char* name);

/// The folders to search for programs: $PATH, else the system's.
std::string program_folders();

/// The environment for a child process, each entry "NAME=value".
std::vector<std::string> environment_of_children();

}  // namespace tunedgemm::internal

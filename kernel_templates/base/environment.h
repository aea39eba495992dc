#pragma once

// The one place that reads the environment. In a program that runs with rights that its caller does
// not have (set-user-ID, set-group-ID, file capabilities; AT_SECURE of getauxval(3)) the
// environment is the caller's and may be an attack: there, nothing is read from it, and nothing of
// it is handed on. Any thread may ask, while no thread changes the environment.
// tools/check_environment.py is the test that no other file asks.

#include <string>
#include <vector>

namespace tunedgemm::internal {

/// The value of the variable; "" if it is not set.
std::string environment(const char* name);

/// The folders in which programs are looked for: $PATH, else those of the system.
std::string program_folders();

/// What a child process gets, each entry "NAME=value".
std::vector<std::string> environment_of_children();

}  // namespace tunedgemm::internal

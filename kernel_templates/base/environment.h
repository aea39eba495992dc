#pragma once

// The only code that reads the environment. A program may have privileges that its caller lacks
// (set-user-ID, set-group-ID, file capabilities; AT_SECURE of getauxval(3)). Its environment may
// then be an attack by the caller. In such a program these functions ignore the environment, and
// children get only the default PATH. Any thread may call these functions as long as no thread
// changes the environment. tools/check_environment.py checks that no other file reads it.

#include <string>
#include <vector>

namespace tunedgemm::internal {

/// The variable's value; "" if it is not set.
std::string environment(const char* name);

/// The folders to search for programs: $PATH if it is set, otherwise the system's default.
std::string program_folders();

/// The environment for a child process, each entry "NAME=value".
std::vector<std::string> environment_of_children();

}  // namespace tunedgemm::internal

#pragma once

// The only code that reads the environment. A program may have privileges that its caller lacks
// (set-user-ID, set-group-ID or file capabilities; getauxval(AT_SECURE) knows). The caller may then
// attack it through the environment. In this case these functions ignore the environment, and
// children get only the default PATH. Any thread may call these functions as long as no thread
// changes the environment. tools/ci/check_environment.py checks that no other file reads the
// environment.

#include <string>
#include <vector>

namespace tunedgemm::internal {

/// The variable's value; "" if it is not set or is ignored.
std::string environment(const char* name);

/// The folders to search for programs: $PATH, or a default if it is unset, empty or ignored.
std::string program_folders();

/// The environment for a child process, each entry "NAME=value".
std::vector<std::string> environment_of_children();

}  // namespace tunedgemm::internal

// Tests a program that runs with more rights than its caller, in an environment that the caller
// chooses.

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using tunedgemm::internal::TemporaryFolder;

namespace {

constexpr uid_t kNobody = 65534;

void write_program(const fs::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  fs::permissions(path, fs::perms(0755));
}

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs the program as an unprivileged user with only this environment. Returns its exit status.
int run_as_nobody(const fs::path& program, const std::vector<std::string>& environment,
                  const fs::path& output) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> entries;
    entries.reserve(environment.size() + 1);
    for (const std::string& entry : environment) {
      entries.push_back(const_cast<char*>(entry.c_str()));
    }
    entries.push_back(nullptr);
    char* const arguments[] = {const_cast<char*>(program.c_str()), nullptr};
    if (std::freopen(output.c_str(), "w", stdout) == nullptr || setgroups(0, nullptr) != 0 ||
        setgid(kNobody) != 0 || setuid(kNobody) != 0) {
      _exit(126);
    }
    execve(program.c_str(), arguments, entries.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("A set-uid program reads nothing from its caller's environment") {
  if (geteuid() != 0) {
    TUNEDGEMM_SKIP("only root can make a program set-uid root");
  }
  const TemporaryFolder folder;
  const fs::path attackers = folder.path() / "attackers";
  const fs::path program = folder.path() / "program";
  const fs::path output = folder.path() / "output";
  fs::permissions(folder.path(), fs::perms(0755));
  fs::create_directory(attackers);
  fs::permissions(attackers, fs::perms(0777));
  for (const char* name : {"c++", "g++", "clang++"}) {
    write_program(attackers / name, "id >" + (attackers / "executed").string() + "\nexit 1");
  }
  std::vector<std::string> environment{"TUNEDGEMM_POLICY=fail", "TUNEDGEMM_THREADS=1",
                                       "PATH=" + attackers.string()};
  for (const char* name : {"TUNEDGEMM_CXX", "CXX"}) {
    environment.push_back(name + ("=" + attackers.string()) + "/c++");
  }
  for (const char* name : {"TUNEDGEMM_CACHE", "TUNEDGEMM_SYSTEM_CACHE"}) {
    environment.push_back(name + ("=" + attackers.string()) + "/cache.db");
  }
  for (const char* name : {"TMPDIR", "HOME", "XDG_CACHE_HOME", "GCC_EXEC_PREFIX", "COMPILER_PATH",
                           "SQLITE_TMPDIR", "TUNEDGEMM_NVRTC", "TUNEDGEMM_TRUST"}) {
    environment.push_back(name + ("=" + attackers.string()));
  }
  fs::copy_file(TUNEDGEMM_SET_UID_PROGRAM, program);
  fs::permissions(program, fs::perms(0755));
  CHECK(run_as_nobody(program, environment, output) == 0);
  const std::string as_usual = contents(output);
  CHECK_THAT(as_usual, ContainsSubstring("secure 0"));
  CHECK_THAT(as_usual, ContainsSubstring("TUNEDGEMM_CXX=" + attackers.string()));
  CHECK_THAT(as_usual, ContainsSubstring("children get COMPILER_PATH=" + attackers.string()));
  CHECK_THAT(as_usual, ContainsSubstring("not tuned"));
  const auto entries_before =
      std::distance(fs::directory_iterator(attackers), fs::directory_iterator());

  fs::permissions(program, fs::perms(04755));
  CHECK(run_as_nobody(program, environment, output) == 0);
  const std::string as_root = contents(output);
  if (as_root.find("secure 1") == std::string::npos) {
    TUNEDGEMM_SKIP("set-uid programs get no rights here (nosuid or no_new_privs)");
  }
  INFO(as_root);
  CHECK_FALSE(fs::exists(attackers / "executed"));
  CHECK(std::distance(fs::directory_iterator(attackers), fs::directory_iterator()) ==
        entries_before);
  CHECK(as_root.find(attackers.string()) == std::string::npos);
  CHECK_THAT(as_root, ContainsSubstring("TUNEDGEMM_CXX=\n"));
  CHECK_THAT(as_root, ContainsSubstring("temporary files in /tmp\n"));
  CHECK_THAT(as_root, ContainsSubstring("ok , d is 16"));
  CHECK_THAT(as_root, ContainsSubstring("in memory"));
}

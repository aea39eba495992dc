#include "runtime/process/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

#include "runtime/process/private_folder.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/environment_variable.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using namespace std::chrono_literals;

ChildResult shell(const std::string& script, std::chrono::milliseconds time,
                  const std::vector<std::string>& variables = {}) {
  return run_child({"/bin/sh", "-c", script}, {.time = time}, variables);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// Whether the process lives. A zombie counts as dead; it stays in a container without an init.
bool lives(const std::string& pid) {
  const std::string status = text_of("/proc/" + pid + "/stat");
  return !status.empty() && status.substr(status.rfind(')')).find('Z') == std::string::npos;
}

// A script that writes its own pid to the file `own` and its child's pid to `other`. Neither
// process ends, and both ignore SIGTERM.
std::string endless(const TemporaryFolder& folder) {
  const std::string own = folder.path() / "own", other = folder.path() / "other";
  return "trap '' TERM HUP INT; sleep 1000 & echo $! > " + other + "; echo $$ > " + own +
         "; while :; do sleep 1000; done";
}

}  // namespace

TEST_CASE("A child process returns its output and how it ended", "[host]") {
  const ChildResult both = shell("echo out; echo err >&2; exit 3", 10s);
  CHECK(both.end == ChildResult::End::kExited);
  CHECK(both.code == 3);
  CHECK(both.output == "out\nerr\n");

  CHECK(shell("kill -9 $$", 10s).end == ChildResult::End::kSignalled);
  CHECK(shell("sleep 60 & sleep 60", 200ms).end == ChildResult::End::kTimedOut);
  CHECK_THROWS_AS(run_child({"/nonexistent/program"}, {.time = 1s}), std::system_error);
}

TEST_CASE("A child's variables replace those of the same names", "[host]") {
  setenv("TUNEDGEMM_TEST_CHILD", "old", 1);
  const ChildResult result =
      shell("echo $TUNEDGEMM_TEST_CHILD $HOME_OF_TEST; env | grep -c TUNEDGEMM_TEST_CHILD=", 10s,
            {"TUNEDGEMM_TEST_CHILD=new", "HOME_OF_TEST=here"});
  unsetenv("TUNEDGEMM_TEST_CHILD");
  CHECK(result.output == "new here\n1\n");
}

TEST_CASE("A child that writes endlessly is read up to 64 KiB and stopped in time", "[host]") {
  const auto begin = std::chrono::steady_clock::now();
  const ChildResult result = shell("while :; do echo nonsense; done", 300ms);
  CHECK(result.end == ChildResult::End::kTimedOut);
  CHECK(result.output.size() == 64 << 10);
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("A child that closes its output is still waited for, and stopped", "[host]") {
  CHECK(shell("exec >&- 2>&-; sleep 0.2; exit 4", 10s).code == 4);
  CHECK(shell("exec >&- 2>&-; sleep 60", 200ms).end == ChildResult::End::kTimedOut);
}

TEST_CASE("A child that has exited is not waited for because of processes that it left", "[host]") {
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const ChildResult result =
      shell("sleep 1000 & echo $! > " + (folder.path() / "other").string() + "; echo done", 60s);
  CHECK(result.end == ChildResult::End::kExited);
  CHECK(result.output == "done\n");
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  const std::string other = text_of(folder.path() / "other");
  CHECK(comes_true([&] { return !lives(other); }));
}

TEST_CASE("No process of a child is left after its timeout, even if it ignores signals", "[host]") {
  const TemporaryFolder folder;
  CHECK(shell(endless(folder), 300ms).end == ChildResult::End::kTimedOut);
  const std::string own = text_of(folder.path() / "own"), other = text_of(folder.path() / "other");
  REQUIRE_FALSE(own.empty());
  REQUIRE_FALSE(other.empty());
  CHECK_FALSE(lives(own));
  CHECK(comes_true([&] { return !lives(other); }));
}

TEST_CASE("A child without a caller ends at its CPU limit") {
  const ChildResult result =
      run_child({"/bin/sh", "-c", "while :; do :; done"}, {.time = 60s, .cpu = 1s});
  CHECK(result.end == ChildResult::End::kSignalled);
  CHECK(result.code == SIGKILL);  // the hard limit equals the soft one
}

TEST_CASE("A child cannot fill the disk", "[host]") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "garbage";
  const ChildResult result = run_child(
      {"/bin/sh", "-c", "sleep 0.1; head -c 100000000 /dev/zero > " + file + " 2> /dev/null"},
      {.time = 20s, .file_bytes = 1 << 20});
  CHECK((result.end != ChildResult::End::kExited || result.code != 0));
  CHECK(std::filesystem::file_size(file) == 1 << 20);
}

TEST_CASE("A child has the signal dispositions of a shell's child", "[host]") {
  const auto ignored = signal(SIGTERM, SIG_IGN);
  const ChildResult result = shell("kill -TERM $$; echo still here", 10s);
  signal(SIGTERM, ignored);
  CHECK(result.end == ChildResult::End::kSignalled);
  CHECK(result.code == SIGTERM);
}

TEST_CASE("A program that ignores SIGCHLD still learns that a child has ended", "[host]") {
  const auto before = signal(SIGCHLD, SIG_IGN);
  const ChildResult result = shell("echo said", 20s);
  signal(SIGCHLD, before);
  CHECK(result.end == ChildResult::End::kExited);
  CHECK(result.output == "said\n");
}

TEST_CASE("A subprocess is read line by line, and its end is detected", "[host]") {
  using Received = ChildProcess::Received;
  const auto soon = [] { return std::chrono::steady_clock::now() + 10s; };
  ChildProcess child({"/bin/sh", "-c",
                      "while read -r line; do echo \"heard $line\"; "
                      "[ \"$line\" = crash ] && kill -SEGV $$; done; exit 3"},
                     {});
  std::string line;
  REQUIRE(child.send("one"));
  REQUIRE(child.send("two"));
  CHECK(child.receive(line, soon()) == Received::kLine);
  CHECK(line == "heard one");
  CHECK(child.receive(line, soon()) == Received::kLine);
  CHECK(line == "heard two");
  CHECK(child.receive(line, std::chrono::steady_clock::now() + 20ms) == Received::kNothing);
  SECTION("It reaches the end of its input") {
    child.close_input();
    const ChildResult result = child.finish(soon());
    CHECK(result.end == ChildResult::End::kExited);
    CHECK(result.code == 3);
    CHECK_FALSE(child.send("three"));
    CHECK(child.receive(line, soon()) == Received::kEnd);
  }
  SECTION("It crashes") {
    REQUIRE(child.send("crash"));
    CHECK(child.receive(line, soon()) == Received::kLine);
    CHECK(child.receive(line, soon()) == Received::kEnd);
    const ChildResult result = child.finish(soon());
    CHECK(result.end == ChildResult::End::kSignalled);
    CHECK(result.code == SIGSEGV);
  }
}

TEST_CASE("A subprocess that does not end is killed with its process group", "[host]") {
  const TemporaryFolder folder;
  const auto written = [&] { return !text_of(folder.path() / "own").empty(); };
  {
    ChildProcess child({"/bin/sh", "-c", endless(folder)}, {});
    REQUIRE(comes_true(written));
    CHECK(child.finish(std::chrono::steady_clock::now() + 50ms).end == ChildResult::End::kTimedOut);
  }
  const auto gone = [&] {
    return !lives(text_of(folder.path() / "own")) && !lives(text_of(folder.path() / "other"));
  };
  CHECK(comes_true(gone));
  CHECK_THROWS_AS(ChildProcess({"/nonexistent/program"}, {}), std::system_error);
}

TEST_CASE("A subprocess dies with its caller, with its group, however the caller dies", "[host]") {
  const TemporaryFolder folder;
  const pid_t caller = fork();
  if (caller == 0) {
    shell("exit 0", 10s);
    const ChildProcess child({"/bin/sh", "-c", endless(folder)}, {.dies_with_caller = true});
    std::ofstream(folder.path() / "constructed") << "yes\n";
    pause();
    _exit(0);
  }
  // The script may be running before its caller's constructor has ended.
  for (const char* const file : {"own", "constructed"}) {
    REQUIRE(comes_true([&] { return !text_of(folder.path() / file).empty(); }));
  }
  kill(caller, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(caller, &status, 0) == caller);
  CHECK(comes_true([&] {
    return !lives(text_of(folder.path() / "own")) && !lives(text_of(folder.path() / "other"));
  }));
}

TEST_CASE("No temporary folder is created where another user could replace it") {
  namespace fs = std::filesystem;
  const TemporaryFolder places;
  const EnvironmentVariable tmpdir("TMPDIR", places.path());
  CHECK(PrivateFolder().path().parent_path() == places.path());
  fs::permissions(places.path(), fs::perms(0777));
  CHECK(PrivateFolder().path().parent_path() == "/tmp");
  fs::permissions(places.path(), fs::perms(01777));
  CHECK(PrivateFolder().path().parent_path() == places.path());
}

TEST_CASE("A temporary folder of a killed process is removed by a later one") {
  namespace fs = std::filesystem;
  const TemporaryFolder places;
  const char* const before = std::getenv("TMPDIR");
  const std::string restored = before == nullptr ? "" : before;
  setenv("TMPDIR", places.path().c_str(), 1);
  const pid_t maker = fork();
  if (maker == 0) {
    const PrivateFolder folder;
    std::ofstream(folder.path() / "file") << "left";
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(maker, &status, 0) == maker);
  REQUIRE_FALSE(fs::is_empty(places.path()));
  const auto make_old = [](const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - 1h);
  };
  make_old(fs::directory_iterator(places.path())->path());
  // The folders of a running process and of other programs are kept.
  const fs::path living = places.path() / ("tunedgemm-" + std::to_string(getpid()) + "-aaaaaa");
  const fs::path other = places.path() / "tunedgemm-999999999";
  for (const fs::path& folder : {living, other}) {
    fs::create_directory(folder);
    make_old(folder);
  }
  { const PrivateFolder folder; }
  CHECK(std::distance(fs::directory_iterator(places.path()), {}) == 2);
  CHECK(fs::exists(living));
  CHECK(fs::exists(other));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", restored.c_str(), 1);
}

TEST_CASE("A temporary folder in use is kept, whatever its age and the process that looks") {
  namespace fs = std::filesystem;
  const TemporaryFolder places;
  const EnvironmentVariable tmpdir("TMPDIR", places.path());
  const auto make_old = [](const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - 100h);
  };
  const auto pid_of_nobody = [](const fs::path& path) {
    const std::string name = path.filename().string();
    return path.parent_path() / ("tunedgemm-999999999" + name.substr(name.rfind('-')));
  };
  PrivateFolder used;
  // As a process of another PID namespace sees it.
  const fs::path renamed = pid_of_nobody(used.path());
  fs::rename(used.path(), renamed);
  make_old(renamed);
  { const PrivateFolder other; }
  CHECK(fs::exists(renamed));
  fs::rename(renamed, used.path());

  // The folder of a child process keeps that of its dead parent.
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const PrivateFolder outer;
    setenv("TMPDIR", outer.path().c_str(), 1);
    if (fork() == 0) {
      for (int inherited = 3; inherited < 256; ++inherited) {  // as exec does, the outer lock
        if (inherited != ends[0]) {
          close(inherited);
        }
      }
      const PrivateFolder inner;
      char byte = 0;
      (void)!read(ends[0], &byte, 1);  // until the test closes its end
      _exit(0);
    }
    while (std::distance(fs::directory_iterator(outer.path()), {}) < 2) {
    }
    _exit(0);
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(parent, &status, 0) == parent);
  { const PrivateFolder other; }
  CHECK(std::distance(fs::directory_iterator(places.path()), {}) == 2);
  close(ends[1]);
  CHECK(comes_true([&] {
    { const PrivateFolder other; }
    return std::distance(fs::directory_iterator(places.path()), {}) == 1;
  }));
  CHECK(used.is_there());
}

TEST_CASE("A temporary folder that was removed is made again, and one that is kept stays") {
  namespace fs = std::filesystem;
  const TemporaryFolder places;
  const EnvironmentVariable tmpdir("TMPDIR", places.path());
  fs::path path;
  {
    PrivateFolder folder;
    path = folder.path();
    CHECK_FALSE(folder.restore());
    fs::remove_all(path);
    CHECK_FALSE(folder.is_there());
    CHECK(folder.restore());
    CHECK_FALSE(folder.restore());
    fs::remove_all(path);
    fs::create_directory(path);  // as a cache in it does
    std::ofstream(path / "file") << "text";
    CHECK(folder.restore());
    { const PrivateFolder other; }
    CHECK(fs::exists(path / "file"));
    folder.keep();
    folder.keep_no_longer();
    folder.keep();
  }
  { const PrivateFolder other; }
  CHECK(fs::exists(path / "file"));
}

}  // namespace tunedgemm::internal

// In a broken environment a call may run a slower kernel, but must still compute the right result.
// Each case runs in a separate process, which breaks its environment and calls the library.

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.hpp"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

#ifdef TUNEDGEMM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr int kM = 33, kN = 47, kK = 29;
constexpr double kBudgetSeconds = 2;
constexpr double kSecondsBeyondBudget = kSanitized ? 30 : 1;  // a sanitizer reads files slowly
constexpr int kCannotBeSetUp = 77;

struct Call {
  const char* name;
  tunedgemm_policy policy;
  bool has_winner;
};
constexpr Call kTune{"tune", TUNEDGEMM_POLICY_TUNE, false};
constexpr Call kCompile{"compile", TUNEDGEMM_POLICY_COMPILE, false};
constexpr Call kStored{"stored", TUNEDGEMM_POLICY_STORED, false};
constexpr Call kFail{"fail", TUNEDGEMM_POLICY_FAIL, true};

// Empty if D is right.
std::string multiply(const Context& context) {
  std::vector<float> a(kM * kK), b(kK * kN), d(kM * kN, std::nanf(""));
  for (std::size_t index = 0; index < a.size(); ++index) {
    a[index] = static_cast<float>(index % 13) - 6;
  }
  for (std::size_t index = 0; index < b.size(); ++index) {
    b[index] = static_cast<float>(index % 7) - 3;
  }
  tuned_matmul(context, {.m = kM, .n = kN, .k = kK}, {.a = a.data(), .b = b.data(), .d = d.data()});
  for (std::size_t row = 0; row < kM; ++row) {
    for (std::size_t column = 0; column < kN; ++column) {
      float sum = 0;
      for (std::size_t inner = 0; inner < kK; ++inner) {
        sum += a[row * kK + inner] * b[inner * kN + column];
      }
      if (!(d[row * kN + column] == sum)) {
        return "the result is wrong";
      }
    }
  }
  return "";
}

std::string call(tunedgemm_policy policy, const std::string& cache, int threads = 2) {
  const Context context({.backend = TUNEDGEMM_BACKEND_HOST,
                         .host_threads = threads,
                         .cache_path = cache.c_str(),
                         .policy = policy,
                         .rigor = TUNEDGEMM_RIGOR_QUICK,
                         .tune_seconds = kBudgetSeconds,
                         .tune_candidates = 2});
  const auto begin = steady_clock::now();
  std::string wrong = multiply(context);
  const std::chrono::duration<double> seconds = steady_clock::now() - begin;
  if (wrong.empty() && seconds.count() > kBudgetSeconds + kSecondsBeyondBudget) {
    wrong = "it took " + std::to_string(seconds.count()) + " s";
  }
  return wrong;
}

// Breaks the environment and makes the calls, all in a child process. Returns the error, or "".
std::string in_child(const std::function<bool()>& breaks,
                     const std::function<std::string()>& calls) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (const int signal : {SIGABRT, SIGFPE, SIGILL, SIGSEGV, SIGTERM}) {
      std::signal(signal, SIG_DFL);  // else Catch2 would report the parent's test
    }
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);  // discards the long log
    std::string wrong;
    try {
      if (!breaks()) {
        _exit(kCannotBeSetUp);
      }
      wrong = calls();
    } catch (const std::exception& error) {  // must not continue with the other tests
      wrong = error.what();
    }
    const bool is_written = write(pipe_ends[1], wrong.data(), wrong.size()) >= 0;
    _exit(wrong.empty() && is_written ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::string message;
  std::array<char, 4096> chunk{};
  for (ssize_t bytes = 0; (bytes = read(pipe_ends[0], chunk.data(), chunk.size())) > 0;) {
    message.append(chunk.data(), static_cast<std::size_t>(bytes));
  }
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    return "the process was killed by signal " + std::to_string(WTERMSIG(status));
  }
  if (WEXITSTATUS(status) == kCannotBeSetUp) {
    WARN("skipped: this environment cannot be set up here");
    return "";
  }
  return WEXITSTATUS(status) == 0 ? "" : "wrong: " + message;
}

class Bench {
 public:
  // An executable file.
  std::string program(const std::string& name, const std::string& text) const {
    const fs::path path = folder_.path() / name;
    std::ofstream(path) << text;
    fs::permissions(path, fs::perms(0755));
    return path;
  }
  std::string file(const std::string& name) const { return folder_.path() / name; }

  // The path of a new cache, with the winner if the call needs one.
  std::string cache(const Call& call_of) {
    std::string path = file("cache" + std::to_string(++caches_) + ".db");
    if (call_of.has_winner) {
      const Context context({.backend = TUNEDGEMM_BACKEND_HOST,
                             .host_threads = 2,
                             .cache_path = path.c_str(),
                             .policy = TUNEDGEMM_POLICY_TUNE,
                             .rigor = TUNEDGEMM_RIGOR_QUICK,
                             .tune_candidates = 1});
      CHECK(multiply(context).empty());
    }
    return path;
  }

  void check(const std::string& environment, const std::vector<Call>& calls,
             const std::function<bool()>& breaks) {
    for (const Call& one : calls) {
      const std::string path = cache(one);
      INFO(environment << ", policy " << one.name);
      CHECK(in_child(breaks, [&] { return call(one.policy, path); }) == "");
    }
  }

 private:
  TemporaryFolder folder_;
  int caches_ = 0;
};

bool limit(decltype(RLIMIT_NOFILE) resource, rlim_t value) {
  const rlimit limited{value, value};
  return setrlimit(resource, &limited) == 0;
}

// Enters a new mount namespace, as root or in a user namespace.
bool own_mounts() {
  return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool cover(const char* folder, const char* options) {
  return mount("tmpfs", folder, "tmpfs", 0, options) == 0;
}

}  // namespace

TEST_CASE("A temporary folder that is missing, no folder or full fails no call", "[alone]") {
  Bench bench;
  bench.check("no TMPDIR", {kTune}, [] { return setenv("TMPDIR", "/proc/nowhere", 1) == 0; });
  const std::string file = bench.program("file", "");
  bench.check("TMPDIR is a file", {kCompile},
              [&] { return setenv("TMPDIR", file.c_str(), 1) == 0; });
  const auto full = [] {
    return own_mounts() && cover("/tmp", "size=16k") && cover("/var/tmp", "size=16k") &&
           cover("/dev/shm", "size=16k") && unsetenv("TMPDIR") == 0;
  };
  bench.check("all temporary folders full", {kTune, kCompile, kStored}, full);
  const auto read_only = [&] {
    return full() && mount("none", "/tmp", nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0 &&
           mount("none", "/var/tmp", nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0 &&
           mount("none", "/dev/shm", nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  };
  bench.check("no temporary folder can be written", {kTune, kCompile}, read_only);
}

TEST_CASE("A broken compiler fails no call", "[alone]") {
  Bench bench;
  const std::string object =
      "while [ \"$1\" != -o ]; do all=\"$all $1\"; shift; done; object=$2; source=$3\n";
  const std::array<std::array<std::string, 2>, 7> compilers{{
      {"exits 1", "#!/bin/sh\nexit 1\n"},
      {"crashes", "#!/bin/sh\nkill -SEGV $$\n"},
      {"cannot start", "#!/nonexistent/interpreter\n"},
      {"makes nothing", "#!/bin/sh\nexit 0\n"},
      {"makes garbage", "#!/bin/sh\n" + object + "echo garbage > $object\n"},
      {"makes half an object",
       "#!/bin/sh\n" + object +
           "c++ $all -o $object $source; half=$(( $(wc -c < $object) / 2 ));"
           "head -c $half $object > $object.half; mv $object.half $object\n"},
      {"makes too much", "#!/bin/sh\n" + object + "head -c 10000000000 /dev/zero > $object\n"},
  }};
  for (const auto& [name, text] : compilers) {
    const std::string program = bench.program("c++", text);
    bench.check("the compiler " + name, {kTune, name == "exits 1" ? kCompile : kStored},
                [&] { return setenv("TUNEDGEMM_CXX", program.c_str(), 1) == 0; });
  }
  // A stored winner needs no compiler.
  const std::string broken = bench.program("c++", "#!/bin/sh\nexit 1\n");
  bench.check("the compiler exits 1", {kFail},
              [&] { return setenv("TUNEDGEMM_CXX", broken.c_str(), 1) == 0; });
}

TEST_CASE("Crashing candidates cost two processes, and the third one gets a result", "[alone]") {
  Bench bench;
  const std::string object = bench.file("crashes.so");
  std::ofstream source(bench.file("crashes.cc"));
  for (const char* family : {"blocked", "naive_mnk", "reordered_mkn", "transposed_b"}) {
    source << "extern \"C\" void tunedgemm_" << family << "() { __builtin_trap(); }\n";
  }
  source.close();
  REQUIRE(std::system(
              ("c++ -shared -fPIC -o " + object + " " + bench.file("crashes.cc")).c_str()) == 0);
  const std::string program = bench.program(
      "c++", "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done; cp " + object + " $2\n");
  const std::string cache = bench.cache(kTune);
  const auto breaks = [&] { return setenv("TUNEDGEMM_CXX", program.c_str(), 1) == 0; };
  const auto calls = [&] { return call(TUNEDGEMM_POLICY_TUNE, cache); };
  for (int crash = 0; crash < 2; ++crash) {
    CHECK_THAT(in_child(breaks, calls), Catch::Matchers::StartsWith("the process was killed"));
  }
  CHECK(in_child(breaks, calls) == "");
}

TEST_CASE("A compiler that hangs delays no call beyond its budget and leaves no process",
          "[alone]") {
  Bench bench;
  const std::string started = bench.file("started");
  const std::string program = bench.program(
      "c++", "#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho $$ $! >> " + started + "\nwait\nwait\n");
  bench.check("the compiler hangs", {kTune, kCompile, kFail, kStored},
              [&] { return setenv("TUNEDGEMM_CXX", program.c_str(), 1) == 0; });
  std::ifstream pids(started);
  int count = 0;
  for (pid_t pid = 0; pids >> pid; ++count) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(status, text);
    INFO(text);  // a zombie counts as ended
    CHECK((text.empty() || text.substr(text.rfind(')')).find('Z') != std::string::npos));
  }
  CHECK(count > 0);
  const std::string talking = bench.program("c++", "#!/bin/sh\nwhile :; do echo error; done\n");
  bench.check("the compiler talks without end", {kCompile},
              [&] { return setenv("TUNEDGEMM_CXX", talking.c_str(), 1) == 0; });
}

TEST_CASE("Too few descriptors fail no call", "[alone]") {
  if (kSanitized) {
    TUNEDGEMM_SKIP("sanitizers need more descriptors");
  }
  Bench bench;
  for (const rlim_t more : {0U, 3U, 8U}) {
    bench.check(std::to_string(more) + " descriptors", {more % 2 == 0 ? kTune : kCompile}, [&] {
      const int next = open("/dev/null", O_RDONLY);
      close(next);
      return next >= 0 && limit(RLIMIT_NOFILE, static_cast<rlim_t>(next) + more);
    });
  }
}

TEST_CASE("A limit on file sizes or a missing /proc fails no call", "[alone]") {
  Bench bench;
  for (const rlim_t bytes : {0U, 40000U}) {
    bench.check("files of " + std::to_string(bytes) + " bytes",
                bytes == 0 ? std::vector{kTune, kCompile, kFail} : std::vector{kTune},
                [&] { return limit(RLIMIT_FSIZE, bytes); });
  }
  const auto no_proc = [] { return own_mounts() && cover("/proc", "size=16k"); };
  bench.check("no /proc", {kTune, kFail}, no_proc);
}

TEST_CASE("A temporary folder left for want of descriptors is removed by a later process",
          "[alone]") {
  if (kSanitized) {
    TUNEDGEMM_SKIP("sanitizers need more descriptors");
  }
  Bench bench;
  const std::string places = bench.file("places");
  fs::create_directory(places);
  for (rlim_t more = 0; more < 8; ++more) {
    const std::string path = bench.cache(kTune);
    INFO(more << " descriptors");
    CHECK(in_child(
              [&] {
                const int next = open("/dev/null", O_RDONLY);
                close(next);
                return setenv("TMPDIR", places.c_str(), 1) == 0 && next >= 0 &&
                       limit(RLIMIT_NOFILE, static_cast<rlim_t>(next) + more);
              },
              [&] { return call(TUNEDGEMM_POLICY_COMPILE, path); }) == "");
    for (const auto& left : fs::directory_iterator(places)) {
      fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
  }
  const std::string path = bench.cache(kTune);
  CHECK(in_child([&] { return setenv("TMPDIR", places.c_str(), 1) == 0; },
                 [&] { return call(TUNEDGEMM_POLICY_COMPILE, path); }) == "");
  CHECK(fs::is_empty(places));
}

TEST_CASE("A stored winner is loaded without /proc/self/fd", "[alone]") {
  Bench bench;
  const std::string cache = bench.cache(kFail);
  const auto only_what_the_cpu_is = [] {
    std::ifstream cpu("/proc/cpuinfo"), memory("/proc/meminfo");
    const std::string cpu_text{std::istreambuf_iterator<char>(cpu), {}};
    const std::string memory_text{std::istreambuf_iterator<char>(memory), {}};
    if (!own_mounts() || !cover("/proc", "size=256k")) {
      return false;
    }
    std::ofstream("/proc/cpuinfo") << cpu_text;
    std::ofstream("/proc/meminfo") << memory_text;
    return setenv("TUNEDGEMM_CXX", "/bin/false", 1) == 0;
  };
  CHECK(in_child(only_what_the_cpu_is, [&]() -> std::string {
          Context context({.backend = TUNEDGEMM_BACKEND_HOST,
                           .host_threads = 2,
                           .cache_path = cache.c_str(),
                           .policy = TUNEDGEMM_POLICY_FAIL});
          const std::string wrong = multiply(context);
          const std::string report = context.report();
          // The stored winner of the other compiler ran, not the linked-in kernel.
          return report.find("1 stale") == std::string::npos ? report : wrong;
        }) == "");
}

TEST_CASE("Calls do without threads that cannot be started", "[alone]") {
  Bench bench;
  const auto no_processes = [] {
    return (geteuid() != 0 || (setgroups(0, nullptr) == 0 && setresgid(65534, 65534, 65534) == 0 &&
                               setresuid(65534, 65534, 65534) == 0)) &&
           limit(RLIMIT_NPROC, 0);
  };
  for (const Call& one : {kTune, kCompile, kStored}) {
    INFO("policy " << one.name);
    CHECK(in_child(no_processes, [&] { return call(one.policy, "", 4); }) == "");
  }
  CHECK(in_child([] { return true; }, [] { return call(TUNEDGEMM_POLICY_STORED, "", 100'000); }) ==
        "");
  if (kSanitized) {
    return;  // the sanitizers reserve terabytes of addresses
  }
  for (const rlim_t mib : {8U, 64U, 128U}) {
    const auto little_memory = [&] {
      std::ifstream file("/proc/self/statm");
      rlim_t pages = 0;
      file >> pages;
      return pages > 0 && limit(RLIMIT_AS, pages * 4096 + (mib << 20));
    };
    INFO(mib << " MiB of addresses");
    CHECK(in_child(little_memory, [] { return call(TUNEDGEMM_POLICY_TUNE, "", 8); }) == "");
  }
}

}  // namespace tunedgemm::internal

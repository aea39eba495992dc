// Tests compilation by NVRTC in a separate process: the machine code is the same, and every failure
// of the process is returned as a value.

#include "runtime/cuda/compile_process.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "tests/runtime/support/compile_check.h"
#include "tests/support/breaking_compiler.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/environment_variable.h"
#include "tests/support/instances.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal::cuda {
namespace {

using Catch::Matchers::ContainsSubstring;
using Cause = CompileFailure::Cause;
using Command = std::vector<std::string>;
constexpr std::chrono::seconds kLong{120};

// The source that these tests compile.
Source some_source() {
  const CanonicalProblem problem =
      canonical(make_problem(64, 64, 64, DataType::kF32, DataType::kF32, DataType::kF32));
  return default_candidate(problem, limits_of(80)).source();
}

CompileProcesses processes_of(const Command& command) {
  return {command, find_nvrtc().value_or(NvrtcLocation{"none", "0"})};
}

std::variant<Binary, CompileFailure> compiled_by(const Command& command, const Source& source,
                                                 std::chrono::milliseconds limit = kLong) {
  return processes_of(command).compile(source, 80, limit);
}

CompileFailure failure_by(const Command& command, std::chrono::milliseconds limit = kLong) {
  const auto compiled = compiled_by(command, some_source(), limit);
  REQUIRE(std::holds_alternative<CompileFailure>(compiled));
  return std::get<CompileFailure>(compiled);
}

}  // namespace

TEST_CASE("A separate process compiles the same machine code", "[nvrtc]") {
  const auto location = find_nvrtc();
  if (!location) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  const Source source = some_source();
  const auto here = Nvrtc(*location).compile(source, 80);
  const auto there = compiled_by({TUNEDGEMM_COMPILE_PROGRAM}, source);
  REQUIRE(std::holds_alternative<Binary>(here));
  REQUIRE(std::holds_alternative<Binary>(there));
  const Binary& expected = std::get<Binary>(here);
  const Binary& binary = std::get<Binary>(there);
  CHECK(binary.code == expected.code);
  CHECK(binary.entry == expected.entry);
  CHECK(binary.registers == expected.registers);
  CHECK(binary.shared_bytes == expected.shared_bytes);
  CHECK(binary.spill_bytes == expected.spill_bytes);
  CHECK(binary.compile_ms > 0);
}

TEST_CASE("A compile process does not load the driver", "[nvrtc]") {
  if (!find_nvrtc()) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  // The loader reports each library that a process looks for.
  const TemporaryFolder folder;
  const EnvironmentVariable report("LD_DEBUG", "libs");
  const EnvironmentVariable path("LD_DEBUG_OUTPUT", folder.path() / "libraries");
  const auto compiled = compiled_by({TUNEDGEMM_COMPILE_PROGRAM}, some_source());
  REQUIRE(std::holds_alternative<Binary>(compiled));
  std::string libraries;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::ifstream stream(file.path());
    libraries.append(std::istreambuf_iterator<char>(stream), {});
  }
  CHECK_THAT(libraries, ContainsSubstring("libnvrtc"));
  CHECK_THAT(libraries, !ContainsSubstring("libcuda.so"));
}

TEST_CASE("A compile process compiles one source after the other, and a killed one is replaced",
          "[nvrtc]") {
  auto location = find_nvrtc();
  if (!location) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  location->version += " of " + std::to_string(getpid());  // other tests run compilers, too
  std::optional<CompileProcesses> processes;
  processes.emplace(Command{TUNEDGEMM_COMPILE_PROGRAM}, *location);
  const auto compilers = [&] {
    return processes_with(TUNEDGEMM_COMPILE_PROGRAM, location->version);
  };
  const auto code = [&] {
    auto compiled = processes->compile(some_source(), 80, kLong);
    if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
      FAIL(failure->log);
    }
    return std::get<Binary>(std::move(compiled)).code;
  };
  const auto first = code();
  const auto before = compilers();
  REQUIRE(before.size() == 1);
  Source wrong = some_source();
  wrong.defines.front().second = "nothing like a number";
  CHECK(std::holds_alternative<CompileFailure>(processes->compile(wrong, 80, kLong)));
  CHECK(code() == first);
  CHECK(compilers() == before);

  REQUIRE(kill(before.front(), SIGKILL) == 0);
  // Its end may be noticed only while it should compile: the failure is the environment's.
  CHECK(comes_true([&] {
    const auto compiled = processes->compile(some_source(), 80, kLong);
    const auto* binary = std::get_if<Binary>(&compiled);
    CHECK((binary != nullptr || std::get<CompileFailure>(compiled).cause == Cause::kEnvironment));
    return binary != nullptr && binary->code == first;
  }));
  CHECK(compilers().size() == 1);
  processes.reset();
  CHECK(compilers().empty());
}

TEST_CASE("Two sources compile at the same time in two processes", "[nvrtc]") {
  const auto location = find_nvrtc();
  if (!location) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  CompileProcesses processes({TUNEDGEMM_COMPILE_PROGRAM}, *location);
  auto other =
      std::async(std::launch::async, [&] { return processes.compile(some_source(), 80, kLong); });
  const auto compiled = processes.compile(some_source(), 80, kLong);
  const auto also = other.get();
  REQUIRE(std::holds_alternative<Binary>(compiled));
  REQUIRE(std::holds_alternative<Binary>(also));
  CHECK(std::get<Binary>(compiled).code == std::get<Binary>(also).code);
}

TEST_CASE("A source that does not compile in a separate process gives the compiler's message",
          "[nvrtc]") {
  if (!find_nvrtc()) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  Source source = some_source();
  for (auto& define : source.defines) {
    define.second = "nothing like a number";
  }
  const auto compiled = compiled_by({TUNEDGEMM_COMPILE_PROGRAM}, source);
  REQUIRE(std::holds_alternative<CompileFailure>(compiled));
  CHECK(std::get<CompileFailure>(compiled).cause == Cause::kSource);
  CHECK(std::get<CompileFailure>(compiled).log.find("error") != std::string::npos);
}

TEST_CASE("A compiler that crashes, hangs or is missing gives a value") {
  const auto shell = [](const std::string& script) { return Command{"/bin/sh", "-c", script}; };
  const CompileFailure crashed = failure_by(shell("kill -SEGV $$"));
  CHECK(crashed.cause == Cause::kSource);
  CHECK(crashed.log.find("signal 11") != std::string::npos);
  const CompileFailure killed = failure_by(shell("kill -KILL $$"));  // as the OOM killer does
  CHECK(killed.cause == Cause::kEnvironment);
  const auto start = std::chrono::steady_clock::now();
  CHECK(failure_by(shell("sleep 60"), std::chrono::milliseconds(200)).cause == Cause::kTimeLimit);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  CHECK(failure_by(shell("exit 0")).cause == Cause::kEnvironment);  // wrote nothing
  CHECK(failure_by(shell("exit 3")).cause == Cause::kEnvironment);
  CHECK_THROWS_AS(failure_by({"/no/such/program"}), std::system_error);
  // The program gets too few arguments; below, the source names a file that does not exist.
  CHECK(failure_by(shell(std::string("exec ") + TUNEDGEMM_COMPILE_PROGRAM)).cause ==
        Cause::kEnvironment);
  Source source = some_source();
  source.file.name = "cuda/none.cu";
  const auto compiled = compiled_by({TUNEDGEMM_COMPILE_PROGRAM}, source);
  REQUIRE(std::holds_alternative<CompileFailure>(compiled));
  CHECK(std::get<CompileFailure>(compiled).cause == Cause::kEnvironment);
}

TEST_CASE("A compile process whose folder is removed is replaced by another") {
  const TemporaryFolder folder;
  const std::string place = folder.path();
  // The first process loses its folder when it compiles.
  const std::string script = "echo $TMPDIR >> " + place + "/starts; while read line; do mkdir " +
                             place + "/first 2> /dev/null && rm -rf $TMPDIR; echo failed; done";
  const auto starts = [&] {
    std::ifstream file(place + "/starts");
    return std::vector<std::string>(std::istream_iterator<std::string>(file), {});
  };
  CompileProcesses processes({"/bin/sh", "-c", script}, {"none", "0"});
  const auto compile = [&] { static_cast<void>(processes.compile(some_source(), 80, kLong)); };
  compile();
  REQUIRE(starts().size() == 2);
  compile();
  CHECK(starts().size() == 2);
  std::filesystem::remove_all(starts().back());  // of an idle process
  compile();
  CHECK(starts().size() == 3);
}

TEST_CASE("A program that embeds other sources compiles none", "[nvrtc]") {
  if (!find_nvrtc()) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  CompileProcesses processes = processes_of({TUNEDGEMM_COMPILE_PROGRAM});
  Source other = some_source();
  other.template_fingerprint = "of another version";
  CHECK_THROWS_WITH(processes.compile(other, 80, kLong), ContainsSubstring("another version"));
  CHECK_THROWS_WITH(processes.compile(some_source(), 80, kLong),
                    ContainsSubstring(TUNEDGEMM_COMPILE_PROGRAM));
}

TEST_CASE("Compile processes end when they have not been used for a while") {
  const TemporaryFolder folder;
  const std::string script = "echo >> " + (folder.path() / "starts").string() +
                             "; while read line; do echo failed; done; echo >> " +
                             (folder.path() / "ends").string();
  const auto lines_of = [&](const char* name) {
    std::ifstream file(folder.path() / name);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  CompileProcesses processes({"/bin/sh", "-c", script}, {"none", "0"},
                             std::chrono::milliseconds(100));
  for (const int times : {1, 2}) {
    static_cast<void>(processes.compile(some_source(), 80, kLong));
    CHECK(lines_of("starts") == times);
    CHECK(comes_true([&] { return lines_of("ends") == times; }));
  }
}

TEST_CASE("The installed program compiles for the library beside it") {
  const TemporaryFolder folder;
  const std::filesystem::path library = folder.path() / "lib" / "some-abi" / "libtunedgemm.so.0";
  CHECK(compiler_installed_with(library).empty());
  for (const char* const place : {"bin", "lib/bin", "lib/some-abi/bin"}) {
    const std::filesystem::path program = folder.path() / place / "tunedgemm";
    std::filesystem::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\n";
    CHECK(compiler_installed_with(library) != Command{program, std::string(kCompilerFlag)});
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    CHECK(compiler_installed_with(library) == Command{program, std::string(kCompilerFlag)});
  }
  // Not one that happens to be in the current folder.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  CHECK(compiler_installed_with("").empty());
  CHECK(compiler_installed_with("libtunedgemm.so.0").empty());
  std::filesystem::current_path(before);
}

TEST_CASE("A compiler process dies with its caller, however the caller dies") {
  const TemporaryFolder folder;
  const std::string nvrtc = folder.path() / "nvrtc.so";  // opening it never ends
  REQUIRE(mkfifo(nvrtc.c_str(), 0600) == 0);
  const pid_t caller = fork();
  if (caller == 0) {
    static_cast<void>(CompileProcesses({TUNEDGEMM_COMPILE_PROGRAM}, {nvrtc, "0"})
                          .compile(some_source(), 80, kLong));
    _exit(0);
  }
  const auto compilers = [&] { return processes_with(TUNEDGEMM_COMPILE_PROGRAM, nvrtc).size(); };
  CHECK(comes_true([&] { return compilers() == 1; }));
  kill(caller, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(caller, &status, 0) == caller);
  CHECK(comes_true([&] { return compilers() == 0; }));
}

}  // namespace tunedgemm::internal::cuda

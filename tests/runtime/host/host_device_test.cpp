#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "kernel_templates/host/families.h"
#include "runtime/host/host_device.h"
#include "runtime/host/loaded_object.h"
#include "runtime/host/processor.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/support/instances.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

TeamWork work_of(const std::function<void(const Team&)>& function) {
  return {[](const void* kernel, const Arguments&, const Team& team) {
            (*static_cast<const std::function<void(const Team&)>*>(kernel))(team);
          },
          &function};
}

Problem small_problem() {
  return make_problem(3, 4, 5, DataType::kF32, DataType::kF32, DataType::kF32);
}

Instance small_instance(const Device& device) {
  return instance_of(naive_mnk_family(), small_problem(), Config(), device.limits());
}
Source small_source(const Device& device) {
  return small_instance(device).source();
}

// Multiplies a 3x5 matrix of ones by a 5x4 matrix of twos.
void check_product(const CompiledKernel& kernel, const Launch& launch) {
  const std::vector<float> a(15, 1.0F), b(20, 2.0F);
  std::vector<float> d(12, -1.0F);
  Arguments arguments = arguments_of(canonical(small_problem()));
  arguments.a = a.data();
  arguments.b = b.data();
  arguments.d = d.data();
  CHECK(kernel.run(launch, arguments, nullptr) == 0);
  CHECK(d == std::vector<float>(12, 10.0F));
}

// Replaces the compiler with a script during its lifetime.
class [[nodiscard]] ScriptedCompiler {
 public:
  explicit ScriptedCompiler(const std::string& text) { write(text); }
  void write(const std::string& text) const {
    std::ofstream(program_) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  }

 private:
  TemporaryFolder folder_;
  std::string program_ = folder_.path() / "c++";
  EnvironmentVariable variable_{"TUNEDGEMM_CXX", program_};
};

}  // namespace

TEST_CASE("A team runs its work once on every participating thread", "[host]") {
  ThreadTeam team(4);
  for (int threads = 1; threads <= 4; ++threads) {
    std::vector<std::atomic<int>> calls(4);
    const std::function<void(const Team&)> count = [&](const Team& member) {
      ++calls[static_cast<std::size_t>(member.rank)];
      if (member.size != threads) {
        calls[0] = -1000;
      }
    };
    for (int launch = 0; launch < 200; ++launch) {
      CHECK(team.run(work_of(count), {}, threads, 0) == 0);
    }
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(calls[static_cast<std::size_t>(rank)] == (rank < threads ? 200 : 0));
    }
  }
}

TEST_CASE("No thread passes a team's barrier early", "[host]") {
  ThreadTeam team(3);
  std::vector<int> steps(3, 0);
  std::atomic<int> early{0};
  const std::function<void(const Team&)> walk = [&](const Team& member) {
    for (int step = 1; step <= 300; ++step) {
      steps[static_cast<std::size_t>(member.rank)] = step;
      wait_for_all(member);
      for (const int other : steps) {
        early += other != step;
      }
      wait_for_all(member);
    }
  };
  CHECK(team.run(work_of(walk), {}, 3, 0) == 0);
  CHECK(early == 0);
}

TEST_CASE("A team rounds to nearest and keeps subnormal numbers, whatever its caller has set",
          "[host]") {
  volatile float one = 1.0F, three = 3.0F, smallest_normal = 0x1p-126F;
  const auto third = [&] { return one / three; };
  const auto half_of_smallest = [&] { return smallest_normal / 2; };
  const float nearest = third();
  std::fenv_t saved;
  std::fegetenv(&saved);
  std::fesetround(FE_DOWNWARD);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // flush results and inputs to zero
  CHECK(half_of_smallest() == 0.0F);
#endif
  const float downward = third();
  std::atomic<int> wrong{0};
  const std::function<void(const Team&)> compute = [&](const Team&) {
    wrong += third() != nearest || half_of_smallest() != 0x1p-127F;
  };
  {
    ThreadTeam team(3);  // whose threads inherit the setting
    CHECK(team.run(work_of(compute), {}, 3, 0) == 0);
  }
  CHECK(third() == downward);
  std::fesetenv(&saved);
  CHECK(downward < nearest);
  CHECK(wrong == 0);
}

TEST_CASE("Every thread of a team has its own scratch memory", "[host]") {
  constexpr std::int64_t kBytes = 100'000;
  ThreadTeam team(3);
  std::atomic<int> spoilt{0};
  const std::function<void(const Team&)> write = [&](const Team& member) {
    std::memset(member.scratch, member.rank, kBytes);
    wait_for_all(member);
    const auto* bytes = static_cast<const char*>(member.scratch);
    spoilt += bytes[0] != member.rank || bytes[kBytes - 1] != member.rank;
    spoilt += reinterpret_cast<std::uintptr_t>(bytes) % 256 != 0;
  };
  CHECK(team.run(work_of(write), {}, 3, kBytes) == 0);
  CHECK(spoilt == 0);
  CHECK(team.run(work_of(write), {}, 3, std::int64_t{1} << 60) == ENOMEM);
}

TEST_CASE("Launches of several threads on one team are serialised", "[host]") {
  ThreadTeam team(2);
  std::atomic<int> inside{0}, meetings{0}, calls{0};
  const std::function<void(const Team&)> visit = [&](const Team& member) {
    if (member.rank == 0) {
      meetings += inside.fetch_add(1) != 0;
    }
    wait_for_all(member);
    if (member.rank == 0) {
      --inside;
    }
    ++calls;
  };
  std::vector<std::thread> users;
  users.reserve(4);
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int launch = 0; launch < 100; ++launch) {
        team.run(work_of(visit), {}, 2, 0);
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
  CHECK(meetings == 0);
  CHECK(calls == 800);
}

TEST_CASE("The host compiles, loads and multiplies", "[host]") {
  HostDevice device(2);
  REQUIRE(device.why_not_compile().empty());
  const Source source = small_source(device);
  const auto compiled = device.compile(source);
  REQUIRE(std::holds_alternative<Binary>(compiled));
  const Binary& binary = std::get<Binary>(compiled);
  CHECK(binary.compile_ms > 0);

  const Launch launch =
      instance_of(naive_mnk_family(), small_problem(), Config(), device.limits()).launch;
  // Two kernels of one binary exist at the same time, and one outlives the other.
  auto first = device.load(binary, launch);
  const auto second = device.load(binary, launch);
  REQUIRE(first.index() == 0);
  REQUIRE(second.index() == 0);
  check_product(*std::get<0>(first), launch);
  std::get<0>(first).reset();
  check_product(*std::get<0>(second), launch);
}

TEST_CASE("A source that does not compile gives a value with the compiler's message", "[host]") {
  HostDevice device(1);
  Source source = small_source(device);
  source.defines.emplace_back("TYPE_D", "no_such_type");
  const auto compiled = device.compile(source);
  REQUIRE(std::holds_alternative<CompileFailure>(compiled));
  CHECK_THAT(std::get<CompileFailure>(compiled).log, ContainsSubstring("no_such_type"));
}

TEST_CASE("A binary that cannot be loaded is a rejection", "[host]") {
  HostDevice device(1);
  Binary garbage{.code = std::vector<std::byte>(1000, std::byte{7}), .entry = "tunedgemm_blocked"};
  const auto loaded = device.load(garbage, {});
  REQUIRE(std::holds_alternative<Rejection>(loaded));
  CHECK(std::get<Rejection>(loaded).reason == Reason::kLoadFailed);

  auto compiled = device.compile(small_source(device));
  std::get<Binary>(compiled).entry = "tunedgemm_another";
  const auto unnamed = device.load(std::get<Binary>(compiled), {});
  REQUIRE(std::holds_alternative<Rejection>(unnamed));
  CHECK_THAT(std::get<Rejection>(unnamed).detail, ContainsSubstring("tunedgemm_another"));
}

TEST_CASE("Without a compiler the host names the remedy, and still multiplies", "[host]") {
  const EnvironmentVariable missing("TUNEDGEMM_CXX", "/nonexistent/c++");
  HostDevice device(2);
  CHECK_THAT(device.why_not_compile(), ContainsSubstring("/nonexistent/c++"));
  CHECK_THAT(device.toolchain().compiler, ContainsSubstring("none"));
  const Instance instance = small_instance(device);
  CHECK_THROWS_AS(device.compile(instance.source()), DeviceError);
  const auto kernel = device.built_in(instance);
  REQUIRE(kernel);
  check_product(*kernel, {});
}

TEST_CASE("A compiler command may have arguments", "[host]") {
  const EnvironmentVariable command("TUNEDGEMM_CXX", "c++ -DUNUSED=1");
  HostDevice device(1);
  CHECK(device.why_not_compile().empty());
  CHECK(std::holds_alternative<Binary>(device.compile(small_source(device))));
}

TEST_CASE("A compiler that hangs or writes no kernel gives a failure", "[host]") {
  const ScriptedCompiler liar("exit 0");
  HostDevice device(1);
  CHECK(std::holds_alternative<CompileFailure>(device.compile(small_source(device))));
}

TEST_CASE("A truncated object gives an error message, wherever it is cut", "[host]") {
  HostDevice device(1);
  const auto compiled = device.compile(small_source(device));
  const std::vector<std::byte>& whole = std::get<Binary>(compiled).code;
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97) {
    const auto loaded = LoadedObject::load(std::span(whole).first(size));
    REQUIRE(std::get<Rejection>(loaded).reason == Reason::kLoadFailed);
  }
  CHECK(std::holds_alternative<std::unique_ptr<LoadedObject>>(LoadedObject::load(whole)));
}

TEST_CASE("A compiler that takes too long is stopped, and the source is not blamed", "[host]") {
  const ScriptedCompiler hanging("sleep 60");
  HostDevice device(1);
  const auto stopped = device.compile_within(small_source(device), 0.2);
  REQUIRE(std::holds_alternative<CompileFailure>(stopped));
  const auto& failure = std::get<CompileFailure>(stopped);
  CHECK(failure.cause == CompileFailure::Cause::kEnvironment);
  CHECK(rejection_of(failure).reason == Reason::kUnavailable);
  CHECK_THAT(failure.log, ContainsSubstring("took more than 200 ms"));
}

TEST_CASE("Only an error at a line of the source is the source's fault", "[host]") {
  const auto cause_of = [](const std::string& script) {
    const ScriptedCompiler compiler(script);
    HostDevice device(1);
    const auto compiled = device.compile(small_source(device));
    REQUIRE(std::holds_alternative<CompileFailure>(compiled));
    return std::get<CompileFailure>(compiled).cause;
  };
  using Cause = CompileFailure::Cause;
  for (const std::string said :
       {"", "c++: fatal error: Killed signal terminated program cc1plus",
        "kernel.cc:10:1: internal compiler error: Segmentation fault",
        "cc1plus: out of memory allocating 65536 bytes after a total of 1000 bytes",
        "/usr/bin/ld: final link failed: No space left on device",
        "collect2: error: ld returned 1 exit status",
        "/tmp/x.s: Fatal error: cannot write to x.o: No space left on device"}) {
    CAPTURE(said);
    CHECK(cause_of("echo '" + said + "' >&2; exit 1") == Cause::kEnvironment);
  }
  CHECK(cause_of("kill -KILL $$") == Cause::kEnvironment);
  CHECK(cause_of("exit 0") == Cause::kEnvironment);
  CHECK(cause_of("echo 'a/kernel.cc:10:1: error: expected ;' >&2; exit 1") == Cause::kSource);
}

TEST_CASE("The compiler's identity changes with its file and starts no process", "[host]") {
  const ScriptedCompiler compiler("sleep 60");  // if it were started, the test would take too long
  const std::string first = Compiler::find({}).identity();
  CHECK(first == Compiler::find({}).identity());
  CHECK_THAT(first, ContainsSubstring("c++ "));
  compiler.write("sleep 60 # another version");
  CHECK(first != Compiler::find({}).identity());
}

TEST_CASE("TUNEDGEMM_THREADS sets the threads", "[host]") {
  {
    const EnvironmentVariable threads("TUNEDGEMM_THREADS", "3");
    CHECK(available_threads() == 3);
    CHECK(HostDevice(0).limits().threads == 3);
    CHECK(HostDevice(1).limits().threads == 1);
  }
  const EnvironmentVariable nonsense("TUNEDGEMM_THREADS", "many");
  CHECK(available_threads() >= 1);
}

TEST_CASE("The host allocates aligned memory or reports that it cannot", "[host]") {
  HostDevice device(1);
  const auto memory = device.allocate(1000);
  CHECK(reinterpret_cast<std::uintptr_t>(memory->data()) % 256 == 0);
  CHECK(memory->size_bytes() == 1000);
  CHECK(device.allocate(0)->data() != nullptr);
  CHECK(device.free_memory_bytes() > 0);
  try {
    device.allocate(std::int64_t{1} << 60);
    FAIL("an exabyte was allocated");
  } catch (const DeviceError& error) {
    CHECK(error.kind() == DeviceError::Kind::kOutOfMemory);
  }
}

}  // namespace tunedgemm::internal

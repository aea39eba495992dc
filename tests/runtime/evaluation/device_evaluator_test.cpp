// Tests the verifier: correct kernels pass for every problem, and each kind of error is detected.

#include "runtime/evaluation/device_evaluator.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cache/store.h"
#include "runtime/evaluation/trial_runner.h"
#include "runtime/evaluation/verifier.h"
#include "tests/runtime/support/gemm_cases.h"
#include "tests/runtime/support/plain_device.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/memory_store.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using Checked = std::variant<double, Rejection>;

Checked check(const Problem& problem, Flaw flaw, std::int64_t workspace_bytes = 0) {
  PlainDevice device(problem, flaw);
  TrialRunner runner(device, make_host_verifier(2), problem, test_seed());
  Launch launch;
  launch.workspace_bytes = workspace_bytes;
  return runner.check(LoopKernel(problem, flaw), launch);
}

std::string text(const Checked& checked) {
  const auto* rejection = std::get_if<Rejection>(&checked);
  return rejection == nullptr ? "passed with " + std::to_string(std::get<double>(checked))
                              : to_text(*rejection);
}

bool passes(const Checked& checked) {
  const double* error = std::get_if<double>(&checked);
  return error != nullptr && *error >= 0 && *error <= 1;
}

bool is(const Checked& checked, Reason reason) {
  const auto* rejection = std::get_if<Rejection>(&checked);
  return rejection != nullptr && rejection->reason == reason;
}

CanonicalProblem plain(std::int64_t m, std::int64_t n, std::int64_t k,
                       DataType type = DataType::kF32) {
  const bool integers = type == DataType::kS8;
  const DataType d = integers ? DataType::kS32 : type == DataType::kF64 ? type : DataType::kF32;
  return canonical(make_problem(m, n, k, type, type, d));
}

Problem padded(Problem problem) {
  problem.a.leading_dimension += 3;
  problem.d.leading_dimension += 5;
  problem.a.alignment_bytes = problem.d.alignment_bytes = 4;
  return canonical(problem);
}

// PlainDevice does not round to D's type.
bool can_be_looped(const TypeCase& types) {
  const bool wide_output =
      types.d == DataType::kF32 || types.d == DataType::kF64 || types.d == DataType::kS32;
  return wide_output && types.numerics != Numerics::kTf32;
}

}  // namespace

TEST_CASE("a correct kernel passes for every type, layout, stride and batch") {
  Random random(test_seed());
  for (const TypeCase& types : all_type_cases()) {
    if (!can_be_looped(types)) {
      continue;
    }
    for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
      const Problem problem = random_sizes(random_class(types, layout, 0, random), random);
      if (problem.d.type == DataType::kS32 && problem.bias != Bias::kNone) {
        continue;  // needs rounding
      }
      INFO(to_text(problem));
      const Checked checked = check(problem, Flaw::kNone);
      INFO(text(checked));
      CHECK(passes(checked));
    }
  }
}

TEST_CASE("a correct kernel passes for any length of K") {
  for (const DataType type :
       {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kE4M3, DataType::kS8}) {
    for (const std::int64_t k : {1, 1000, 16384, 16385, 1000000}) {
      const CanonicalProblem problem = plain(3, 5, k, type);
      INFO(to_text(problem));
      const Checked checked = check(problem, Flaw::kNone);
      INFO(text(checked));
      CHECK(passes(checked));
    }
  }
}

TEST_CASE("an omitted tile along K is detected for any length of K") {
  for (const DataType type :
       {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kE4M3, DataType::kS8}) {
    for (const std::int64_t k : {16, 512, 16384, 16385, 200000}) {
      const CanonicalProblem problem = plain(3, 30, k, type);
      INFO(to_text(problem));
      CHECK(is(check(problem, Flaw::kLeavesOutKTile), Reason::kWrongResult));
    }
  }
}

TEST_CASE("swapped rows are detected") {
  const Checked checked = check(plain(40, 30, 300), Flaw::kExchangesRows);
  INFO(text(checked));
  REQUIRE(is(checked, Reason::kWrongResult));
  const std::string& detail = std::get<Rejection>(checked).detail;
  CHECK(detail.find("batch=0 m=0 n=") == 0);
  CHECK(detail.find("expected") != std::string::npos);
  CHECK(detail.find("of 1200 elements wrong") != std::string::npos);
}

TEST_CASE("f32 inputs rounded to tf32 fail for ieee and pass for tf32") {
  Problem problem = plain(20, 20, 4096);
  CHECK(is(check(problem, Flaw::kRoundsInputs), Reason::kWrongResult));
  problem.numerics = Numerics::kEmulated;
  CHECK(is(check(problem, Flaw::kRoundsInputs), Reason::kWrongResult));
  problem.numerics = Numerics::kTf32;
  CHECK(passes(check(problem, Flaw::kRoundsInputs)));
}

TEST_CASE("an incomplete epilogue is detected") {
  Problem problem = plain(9, 11, 33);
  CHECK(is(check(problem, Flaw::kForgetsAlpha), Reason::kWrongResult));
  problem.bias = Bias::kPerColumn;
  CHECK(is(check(problem, Flaw::kForgetsBias), Reason::kWrongResult));
  Problem scaled = plain(40, 30, 300, DataType::kE4M3);
  CHECK(passes(check(scaled, Flaw::kTakesNextScale)));
  scaled.scaling_a = Scaling::kRow;
  CHECK(is(check(scaled, Flaw::kTakesNextScale), Reason::kWrongResult));
  scaled.numerics = Numerics::kPromoted;
  scaled.scaling_a = Scaling::kBlock1x128;
  scaled.scaling_b = Scaling::kBlock128x128;
  CHECK(passes(check(scaled, Flaw::kNone)));
  for (const Flaw flaw : {Flaw::kTakesNextScale, Flaw::kExchangesStrides, Flaw::kKeepsFirstScale}) {
    CHECK(is(check(scaled, flaw), Reason::kWrongResult));
  }
}

TEST_CASE("an element that is not written, or is NaN, is detected") {
  CHECK(is(check(plain(33, 65, 10), Flaw::kLeavesElementOut), Reason::kWrongResult));
  CHECK(is(check(plain(33, 65, 10), Flaw::kGivesNan), Reason::kWrongResult));
}

TEST_CASE("an element that is not written is detected after a correct kernel has written it") {
  const CanonicalProblem problem = plain(33, 65, 10);
  PlainDevice device(problem, Flaw::kNone);
  TrialRunner runner(device, make_host_verifier(2), problem, test_seed());
  const LoopKernel right(problem, Flaw::kNone), wrong(problem, Flaw::kLeavesElementOut);
  CHECK(passes(runner.check(right, {})));
  TimedLaunch timed = runner.prepare_timing(right, {});
  CHECK(std::holds_alternative<double>(
      runner.sample(timed, static_cast<int>(timed.rotation.size()))));
  CHECK(is(runner.check(wrong, {}), Reason::kWrongResult));
}

namespace {

// Records its workspaces.
class RecordingKernel final : public CompiledKernel {
 public:
  explicit RecordingKernel(const Problem& problem) : loop_(problem, Flaw::kNone) {}
  int run(const Launch& launch, const Arguments& arguments,
          StreamHandle stream) const noexcept override {
    workspace = arguments.workspace;
    return loop_.run(launch, arguments, stream);
  }
  mutable const void* workspace = nullptr;

 private:
  LoopKernel loop_;
};

}  // namespace

TEST_CASE("a timing uses the workspace that a later check has enlarged") {
  const CanonicalProblem problem = plain(8, 8, 8);
  PlainDevice device(problem, Flaw::kNone);
  TrialRunner runner(device, make_host_verifier(2), problem, test_seed());
  const RecordingKernel first(problem), second(problem);
  Launch small, large;
  small.workspace_bytes = kWorkspaceCounterBytes + 1024;
  large.workspace_bytes = kWorkspaceCounterBytes + (std::int64_t{1} << 20);
  CHECK(passes(runner.check(first, small)));
  TimedLaunch timed = runner.prepare_timing(first, small);
  CHECK(passes(runner.check(second, large)));
  CHECK(std::holds_alternative<double>(runner.sample(timed, 2)));
  CHECK(first.workspace == second.workspace);
}

TEST_CASE("a NaN is detected in elements that the reference does not sample") {
  // More elements than the reference samples.
  const CanonicalProblem problem = plain(3000, 2100, 1);
  CHECK(is(check(problem, Flaw::kLeavesElementOut), Reason::kWrongResult));
  CHECK(passes(check(problem, Flaw::kNone)));
}

TEST_CASE("writes outside D are detected") {
  CHECK(is(check(plain(8, 8, 8), Flaw::kWritesBehindD), Reason::kOutOfBounds));
  CHECK(is(check(padded(plain(8, 8, 8)), Flaw::kWritesBetweenRows), Reason::kOutOfBounds));
  CHECK(passes(check(padded(plain(8, 8, 8)), Flaw::kNone)));
}

TEST_CASE("the padding between rows of A is poisoned") {
  CHECK(is(check(padded(plain(8, 8, 8)), Flaw::kReadsPadding), Reason::kWrongResult));
}

TEST_CASE("workspace counters that are not zero after the launch are detected") {
  const std::int64_t bytes = kWorkspaceCounterBytes + 1024;
  CHECK(is(check(plain(8, 8, 8), Flaw::kSpoilsCounter, bytes), Reason::kWrongResult));
  CHECK(passes(check(plain(8, 8, 8), Flaw::kNone, bytes)));
}

TEST_CASE("a workspace that does not fit in memory is a temporary rejection") {
  const std::int64_t bytes = std::int64_t{1} << 30;
  const Checked checked = check(plain(8, 8, 8), Flaw::kNone, bytes);
  REQUIRE(is(checked, Reason::kUnavailable));
  CHECK(std::get<Rejection>(checked).detail.find("1073741824 bytes") != std::string::npos);
}

TEST_CASE("a tuning that may take part of the memory takes no more") {
  const CanonicalProblem problem = plain(64, 64, 64);
  PlainDevice device(problem, Flaw::kNone);
  const double free = static_cast<double>(device.free_memory_bytes());
  CHECK_THROWS_AS(TrialRunner(device, make_host_verifier(2), problem, test_seed(), 1e4 / free),
                  DeviceError);
  TrialRunner runner(device, make_host_verifier(2), problem, test_seed(), 2e6 / free);
  const LoopKernel kernel(problem, Flaw::kNone);
  CHECK(passes(runner.check(kernel, {})));
  Launch launch;
  launch.workspace_bytes = 1 << 20;
  CHECK(passes(runner.check(kernel, launch)));
  launch.workspace_bytes = 4 << 20;
  CHECK(is(runner.check(kernel, launch), Reason::kUnavailable));
}

TEST_CASE("a failed launch is a rejection with the device's message") {
  const Checked checked = check(plain(8, 8, 8), Flaw::kFailsToLaunch);
  REQUIRE(is(checked, Reason::kLaunchFailed));
  CHECK(std::get<Rejection>(checked).detail == "error 7");
}

TEST_CASE("DeviceEvaluator compiles announced candidates once and uses the binary in every trial") {
  const CanonicalProblem problem = plain(16, 16, 16);
  PlainDevice device(problem, Flaw::kNone);
  const std::unique_ptr<Store> store = memory_store();
  DeviceEvaluator evaluator(device, *store, problem);
  const Instance candidate = default_candidate(problem, device.limits());
  evaluator.compile_ahead(std::array{candidate, candidate});
  for (int times = 0; times < 2; ++times) {
    Prepared prepared = evaluator.prepare(candidate);
    REQUIRE(std::holds_alternative<std::unique_ptr<Trial>>(prepared));
    Trial& trial = *std::get<std::unique_ptr<Trial>>(prepared);
    CHECK(passes(trial.check()));
    evaluator.warm_up();
    const auto us = trial.sample(3);
    REQUIRE(std::holds_alternative<double>(us));
    CHECK(std::get<double>(us) > 0);
  }
  CHECK(device.compilations() == 1);
  CHECK(evaluator.roofline_us() > 0);
}

// Compiles nothing until it is opened.
class DeviceWithGate final : public PlainDevice {
 public:
  explicit DeviceWithGate(const Problem& problem, int compile_threads = 2)
      : PlainDevice(problem, Flaw::kNone), compile_threads_(compile_threads) {}
  ~DeviceWithGate() override { open(); }
  DeviceWithGate(const DeviceWithGate&) = delete;
  DeviceWithGate& operator=(const DeviceWithGate&) = delete;

  void open() { is_open_.test_and_set(), is_open_.notify_all(); }
  int begun() const { return begun_; }
  /// The fingerprints of the sources, in the order in which their compilation began.
  std::vector<std::string> sources() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sources_;
  }
  /// Lets one compilation fail.
  void fail_once(CompileFailure failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = std::move(failure);
  }

  int compile_threads() const override { return compile_threads_; }
  std::variant<Binary, CompileFailure> compile_within(const Source& source,
                                                      double seconds) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      sources_.push_back(fingerprint(source));
    }
    ++begun_;
    is_open_.wait(false);
    if (auto failure = take_failure()) {
      return std::move(*failure);
    }
    return PlainDevice::compile_within(source, seconds);
  }

 private:
  std::optional<CompileFailure> take_failure() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(failure_, std::nullopt);
  }

  int compile_threads_;
  std::atomic_flag is_open_;
  std::atomic<int> begun_{0};
  std::mutex mutex_;
  std::vector<std::string> sources_;
  std::optional<CompileFailure> failure_;
};

// The best candidates of which no two have the same source.
std::vector<Instance> different_sources(const Problem& problem, const DeviceLimits& limits,
                                        std::size_t count) {
  std::vector<Instance> candidates;
  std::set<std::string> sources;
  for (const Instance& candidate : ranked_candidates(problem, limits)) {
    if (candidates.size() < count && sources.insert(fingerprint(candidate.source())).second) {
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

// Evaluators of one problem after another that share a compiler.
struct TuningsInARow {
  explicit TuningsInARow(std::size_t count, int compile_threads = 2)
      : device(problem, compile_threads),
        candidates(different_sources(problem, device.limits(), count)) {
    REQUIRE(candidates.size() == count);
  }

  DeviceEvaluator evaluator() { return {device, *store, problem, compiler}; }

  const CanonicalProblem problem = plain(64, 64, 64);
  DeviceWithGate device;
  const std::unique_ptr<Store> store = memory_store();
  const std::shared_ptr<CandidateCompiler> compiler =
      std::make_shared<CandidateCompiler>(device, *store, nullptr);
  const std::vector<Instance> candidates;
  const std::span<const Instance> all{candidates};
};

TEST_CASE(
    "DeviceEvaluator does not compile forgotten candidates, but again those announced again") {
  const CanonicalProblem problem = plain(64, 64, 64);
  DeviceWithGate device(problem);
  const auto store = memory_store();
  DeviceEvaluator evaluator(device, *store, problem);
  // Two sources are being compiled, the third one waits.
  const std::vector<Instance> candidates = different_sources(problem, device.limits(), 3);
  REQUIRE(candidates.size() == 3);
  evaluator.compile_ahead(candidates);
  CHECK(comes_true([&] { return device.begun() == 2; }));
  CHECK_FALSE(evaluator.is_compiled(candidates[0]));
  evaluator.forget(candidates[2]);
  evaluator.forget(candidates[0]);
  device.open();
  CHECK(comes_true([&] { return evaluator.is_compiled(candidates[1]); }));
  CHECK(std::holds_alternative<std::unique_ptr<Trial>>(evaluator.prepare(candidates[1])));
  CHECK(device.begun() == 2);
  CHECK_FALSE(evaluator.is_compiled(candidates[2]));

  evaluator.compile_ahead(std::span(candidates).last(1));
  CHECK(comes_true([&] { return evaluator.is_compiled(candidates[2]); }));
  CHECK(device.begun() == 3);
}

TEST_CASE("DeviceEvaluator compiles the next problem's candidates when none of its own wait") {
  TuningsInARow tunings(4, 1);  // one thread, so the order is certain
  DeviceWithGate& device = tunings.device;
  const std::vector<Instance>& candidates = tunings.candidates;
  {
    DeviceEvaluator evaluator = tunings.evaluator();
    evaluator.compile_ahead(tunings.all.first(1));
    CHECK(comes_true([&] { return device.begun() == 1; }));
    evaluator.compile_next(tunings.all.subspan(2));
    evaluator.compile_ahead(tunings.all.subspan(1, 1));
    device.open();
    CHECK(comes_true([&] { return evaluator.is_compiled(candidates[1]); }));
    CHECK(comes_true([&] { return device.begun() == 4; }));
    CHECK(device.sources()[1] == fingerprint(candidates[1].source()));
  }
  DeviceEvaluator next = tunings.evaluator();
  next.compile_ahead(tunings.all.subspan(2));
  CHECK(comes_true([&] { return next.is_compiled(candidates[3]); }));
  CHECK(std::holds_alternative<std::unique_ptr<Trial>>(next.prepare(candidates[2])));
  CHECK(device.begun() == 4);
}

TEST_CASE("DeviceEvaluator drops the next problem's candidates that are not announced") {
  TuningsInARow tunings(5);
  DeviceWithGate& device = tunings.device;
  {
    DeviceEvaluator evaluator = tunings.evaluator();
    evaluator.compile_ahead(tunings.all.first(2));
    CHECK(comes_true([&] { return device.begun() == 2; }));
    evaluator.compile_next(tunings.all.subspan(2));
  }
  DeviceEvaluator next = tunings.evaluator();
  next.compile_ahead(tunings.all.subspan(4));
  device.open();
  CHECK(comes_true([&] { return next.is_compiled(tunings.candidates[4]); }));
  CHECK(device.begun() == 3);
}

TEST_CASE("A compilation for the next problem that fails for want of something is repeated") {
  TuningsInARow tunings(2, 1);
  DeviceWithGate& device = tunings.device;
  device.open();
  device.fail_once({"no memory", CompileFailure::Cause::kEnvironment});
  {
    DeviceEvaluator evaluator = tunings.evaluator();
    evaluator.compile_next(tunings.all);
    CHECK(comes_true([&] { return device.begun() == 2; }));
  }
  DeviceEvaluator next = tunings.evaluator();
  next.compile_ahead(tunings.all);
  CHECK(std::holds_alternative<std::unique_ptr<Trial>>(next.prepare(tunings.candidates[0])));
  CHECK(device.begun() == 3);
}

TEST_CASE("DeviceEvaluator keeps what it compiled for the next problem") {
  const CanonicalProblem problem = plain(16, 16, 16);
  PlainDevice device(problem, Flaw::kNone);
  const std::unique_ptr<Store> store = memory_store();
  const Instance candidate = default_candidate(problem, device.limits());
  BinaryCache binaries;
  for (int times = 0; times < 2; ++times) {
    DeviceEvaluator evaluator(device, *store, problem,
                              std::make_shared<CandidateCompiler>(device, *store, &binaries));
    REQUIRE(std::holds_alternative<std::unique_ptr<Trial>>(evaluator.prepare(candidate)));
  }
  CHECK(device.compilations() == 1);
}

namespace {

Binary of_bytes(std::size_t bytes) {
  Binary binary;
  binary.code.assign(bytes, std::byte{7});
  binary.entry = "entry of " + std::to_string(bytes);
  binary.registers = 96;
  binary.shared_bytes = 1024;
  binary.spill_bytes = 8;
  binary.compile_ms = 2.5;
  return binary;
}

}  // namespace

TEST_CASE("BinaryCache evicts the least recently used binary") {
  BinaryCache binaries(100);
  binaries.keep("a", of_bytes(40));
  binaries.keep("b", of_bytes(40));
  REQUIRE(binaries.find("a"));
  binaries.keep("c", of_bytes(30));
  CHECK_FALSE(binaries.find("b"));
  REQUIRE(binaries.find("a"));
  CHECK(binaries.find("a")->code.size() == 40);
  CHECK(binaries.find("c")->code.size() == 30);
  binaries.keep("too large", of_bytes(101));
  CHECK_FALSE(binaries.find("too large"));
  CHECK(binaries.find("a"));
}

TEST_CASE("Processes with the same folder find each other's binaries") {
  const TemporaryFolder folder;
  BinaryCache one(100, folder.path()), other(100, folder.path()), alone(100);
  one.keep("a", of_bytes(40));
  alone.keep("b", of_bytes(40));
  const auto found = other.find("a");
  REQUIRE(found);
  CHECK(found->code == of_bytes(40).code);
  CHECK(found->entry == "entry of 40");
  CHECK(found->registers == 96);
  CHECK(found->shared_bytes == 1024);
  CHECK(found->spill_bytes == 8);
  CHECK(found->compile_ms == 2.5);
  CHECK_FALSE(other.find("b"));
  CHECK_FALSE(alone.find("a"));

  for (const char* name : {"c", "d", "e", "f", "g"}) {  // four have space beside "a"
    one.keep(name, of_bytes(90));
  }
  CHECK(other.find("f"));
  CHECK_FALSE(other.find("g"));
  CHECK(one.find("g"));

  std::filesystem::resize_file(folder.path() / "c", 100);
  BinaryCache late(100, folder.path());
  CHECK_FALSE(late.find("c"));
  std::filesystem::remove_all(folder.path());
  one.keep("h", of_bytes(10));
  CHECK(one.find("h"));
  CHECK_FALSE(late.find("d"));
}

TEST_CASE("DeviceEvaluator forwards the compiler's message") {
  const CanonicalProblem problem = plain(16, 16, 16);
  PlainDevice device(problem, Flaw::kDoesNotCompile);
  const std::unique_ptr<Store> store = memory_store();
  DeviceEvaluator evaluator(device, *store, problem);
  const Prepared prepared = evaluator.prepare(default_candidate(problem, device.limits()));
  REQUIRE(std::holds_alternative<Rejection>(prepared));
  CHECK(std::get<Rejection>(prepared).reason == Reason::kCompileFailed);
  CHECK(std::get<Rejection>(prepared).detail == "line 1: nothing but mistakes");
}

TEST_CASE("sampling covers every position of a tile and stays within its budget") {
  const CanonicalProblem problem = plain(4096, 4096, 4096);
  const reference::Sampling sampling = sampling_for(problem, 1e10, 4 << 20, test_seed());
  CHECK(sampling.row_step % 2 == 1);
  CHECK(sampling.first_row + (sampling.rows - 1) * sampling.row_step < 4096);
  CHECK(sampling.first_column + (sampling.columns - 1) * sampling.column_step < 4096);
  CHECK(static_cast<double>(sampling.rows * sampling.columns) * 4096 < 1.1e10);
  const reference::Sampling all = sampling_for(plain(30, 40, 50), 1e10, 4 << 20, test_seed());
  CHECK(all.rows == 30);
  CHECK(all.columns == 40);
}

// A GPU without NVRTC that refuses machine code.
class DeviceWithoutCompiler final : public PlainDevice {
 public:
  DeviceWithoutCompiler() : PlainDevice(plain(4, 4, 4), Flaw::kNone) {}
  std::string why_not_compile() override { return "there is no NVRTC: install it"; }
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary&,
                                                                const Launch&) override {
    return Rejection{Reason::kLoadFailed, "seen"};
  }
};

TEST_CASE(
    "The verifier of GPUs runs stored machine code of any compiler, or names what is missing") {
  const auto store = memory_store();
  DeviceWithoutCompiler device;
  const auto message = [&] {
    try {
      make_cuda_verifier(device, *store)->fill({});
    } catch (const DeviceError& error) {
      CHECK(error.kind() == DeviceError::Kind::kUnavailable);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(message(), Catch::Matchers::ContainsSubstring("verify results") &&
                            Catch::Matchers::ContainsSubstring("there is no NVRTC: install it"));
  Source fill;
  fill.backend = "cuda";
  fill.file = embedded_file("cuda/reference/fill_random.cu");
  fill.includes = included_files(fill.file);
  fill.entry = "tunedgemm_fill_random";
  Binary binary;
  binary.entry = fill.entry;
  binary.code.assign(16, std::byte{1});
  store->put_binary(fill, {"nvrtc of another machine", ""}, device.limits().arch, binary);
  CHECK_THAT(message(), Catch::Matchers::ContainsSubstring("cannot be loaded: seen"));
  CHECK(device.compilations() == 0);
}

}  // namespace tunedgemm::internal

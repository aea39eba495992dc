// Tuning in a worker process, from the caller's side.

#include "runtime/tuning/tuning_worker.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/backend.h"
#include "runtime/context/context.h"
#include "tests/runtime/support/worker_bench.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"
#include "tests/support/sql.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

ContextOptions options_on(const WorkerBench& bench) {
  ContextOptions options;
  options.backend = find_backend("host");
  options.device.host_threads = 2;
  options.store.path = bench.cache();
  options.worker_command = {TUNEDGEMM_WORKER_PROGRAM, std::string(kWorkerFlag)};
  return options;
}

std::unique_ptr<Context> context_on(const WorkerBench& bench) {
  return Context::create(options_on(bench));
}

std::unique_ptr<Context> context_on(const WorkerBench& bench, std::vector<std::string> worker) {
  ContextOptions options = options_on(bench);
  options.worker_command = std::move(worker);
  return Context::create(options);
}

CanonicalProblem problem_of(int n) {
  return canonical(make_problem(40, n, 16, DataType::kF32, DataType::kF32, DataType::kF32));
}

TuneOptions quick(int candidates) {
  TuneOptions options;
  options.rigor = Rigor::kQuick;
  options.budget = {.seconds = 60, .candidates = candidates};
  options.candidate_seconds = 4;
  return options;
}

std::vector<std::string> rejections(Context& context, const CanonicalProblem& problem,
                                    Reason reason) {
  std::vector<std::string> details;
  for (const TrialRecord& trial : context.store().trials(
           {problem, context.device().identity(), context.device().toolchain()})) {
    if (trial.rejection && trial.rejection->reason == reason) {
      details.push_back(trial.rejection->detail);
    }
  }
  return details;
}

}  // namespace

TEST_CASE("A worker tunes, and its caller finds the winner in the cache") {
  const WorkerBench bench;
  const auto context = context_on(bench);
  int moves = 0;
  TuneOptions options = quick(2);
  options.on_progress = [&](const Progress&) { ++moves; };
  const TuneResult result = context->tune(problem_of(24), options);
  CAPTURE(result.tuning.failure);
  REQUIRE(result.record);
  CHECK(result.kind == TuneResult::Kind::kTuned);
  CHECK(result.record->measurement.median_us > 0);
  CHECK(moves > 3);
  CHECK(bench.workers().size() == 1);
  CHECK(context->tune(problem_of(24), options).kind == TuneResult::Kind::kCached);
}

TEST_CASE("A worker tries only the default and the candidates that it is given") {
  const WorkerBench bench;
  const auto context = context_on(bench);
  const CanonicalProblem problem = problem_of(24);
  const std::vector<Instance> ranked = ranked_candidates(problem, context->device().limits());
  TuneOptions options = quick(0);
  options.rigor = Rigor::kModel;
  options.candidates = {ranked.at(7).candidate, ranked.at(3).candidate};
  const TuneResult result = context->tune(problem, options);
  CAPTURE(result.tuning.failure);
  REQUIRE(result.record);
  CHECK(bench.workers().size() == 1);
  CHECK(result.record->rigor == Rigor::kModel);
  const auto trials = context->store().trials(
      {problem, context->device().identity(), context->device().toolchain()});
  REQUIRE(trials.size() == 3);
  for (const std::size_t rank : {0U, 3U, 7U}) {
    const Candidate& expected = ranked[rank].candidate;
    CHECK(std::ranges::any_of(trials, [&](const TrialRecord& trial) {
      return trial.family == expected.family->name() && trial.config == expected.config;
    }));
  }
  CHECK(context->tune(problem, options).kind == TuneResult::Kind::kCached);
  CHECK(context->tune(problem, quick(2)).kind == TuneResult::Kind::kTuned);
}

TEST_CASE("A worker that is killed or stopped is replaced at once, and no candidate is blamed") {
  const int signal = GENERATE(SIGKILL, SIGSTOP);
  CAPTURE(signal);
  const WorkerBench bench;
  const auto context = context_on(bench);
  REQUIRE(context->tune(problem_of(24), quick(2)).record);
  for (const pid_t worker : bench.workers()) {
    kill(worker, signal);
  }
  TuneOptions options = quick(2);
  options.budget.seconds = 1000;  // a worker that is only slow is given this long
  CHECK(context->tune(problem_of(32), options).record);
  CHECK(rejections(*context, problem_of(32), Reason::kUnavailable).empty());
}

TEST_CASE("The worker after one that was killed between two candidates blames none of them") {
  const WorkerBench bench;
  const auto context = context_on(bench);
  REQUIRE(context->tune(problem_of(24), quick(2)).record);
  TuneOptions options = quick(2);
  bool is_killed = false;
  options.on_progress = [&](const Progress&) {
    if (std::exchange(is_killed, true)) {
      return;
    }
    for (const pid_t worker : bench.workers()) {
      kill(worker, SIGKILL);
    }
    while (!bench.workers().empty()) {
      std::this_thread::sleep_for(1ms);
    }
  };
  const TuneResult result = context->tune(problem_of(32), options);
  REQUIRE(result.record);
  CAPTURE(result.record->remark);
  CHECK(result.record->remark.find("crashed") == std::string::npos);
  CHECK(rejections(*context, problem_of(32), Reason::kCrashed).empty());
}

TEST_CASE("A worker marks no candidate as in flight, because its caller knows which one runs") {
  const WorkerBench bench;
  const auto context = context_on(bench);
  REQUIRE(context->tune(problem_of(24), quick(2)).record);
  REQUIRE(sql_number(bench.cache(),
                     "CREATE TABLE mark (config); CREATE TRIGGER marked AFTER UPDATE ON lease "
                     "WHEN NEW.in_flight IS NOT NULL "
                     "BEGIN INSERT INTO mark VALUES (NEW.in_flight); END; SELECT 1") == 1);
  REQUIRE(context->tune(problem_of(32), quick(4)).record);
  CHECK(sql_number(bench.cache(), "SELECT count(*) FROM mark") == 0);
}

TEST_CASE("Workers with a shared folder compile each kernel once") {
  const WorkerBench bench;
  const TemporaryFolder folder, binaries;
  const std::filesystem::path compiled = folder.path() / "compiled";
  bench.break_kernels("*) echo >> " + compiled.string() + " ;;\n");
  ContextOptions options = options_on(bench);
  options.shared_binaries = binaries.path();
  const auto one = Context::create(options);
  options.store.path = folder.path() / "other.db";
  const auto other = Context::create(options);

  REQUIRE(one->tune(problem_of(24), quick(4)).record);
  const auto first = std::filesystem::file_size(compiled);
  CHECK(first >= 4);
  REQUIRE(other->tune(problem_of(24), quick(4)).record);
  CHECK(std::filesystem::file_size(compiled) == first);
}

TEST_CASE("Cancelling ends the tuning of a worker") {
  const WorkerBench bench;
  const auto context = context_on(bench);
  TuneOptions options = quick(12);
  int polls = 0;
  options.cancelled = [&] { return ++polls > 2; };
  options.in_background = true;
  const TuneResult result = context->tune(problem_of(24), options);
  CHECK_FALSE(result.record);
  CHECK(result.tuning.cancelled);
}

TEST_CASE("A worker's winner is looked up once, even if its tuning was cancelled") {
  const WorkerBench bench;
  const auto context = context_on(bench);
  TuneOptions options = quick(12);
  bool has_timed_one = false;
  options.on_progress = [&](const Progress& progress) { has_timed_one |= progress.best_us > 0; };
  options.cancelled = [&] { return has_timed_one; };
  const TuneResult result = context->tune(problem_of(24), options);
  CAPTURE(result.tuning.failure);
  REQUIRE(result.record);
  CHECK(context->store().lookups() == 2);  // before the worker is asked, and for its winner
}

TEST_CASE("Candidates that crash or hang cost workers, and the caller gets a remark") {
  const WorkerBench bench;
  bench.break_kernels(
      "*BLOCK_N=512*) make '*(volatile int*)1 = 0' ;;\n"
      "*PARTIAL_SUMS=32*) make 'for (;;) asm(\"\")' ;;");
  const auto context = context_on(bench);
  const TuneResult result = context->tune(problem_of(24), quick(12));
  CAPTURE(result.tuning.failure);
  REQUIRE(result.record);
  CHECK_THAT(result.record->remark, ContainsSubstring("2 candidates crashed"));
  CHECK(rejections(*context, problem_of(24), Reason::kCrashed).size() == 2);
}

TEST_CASE("Candidates that kill every worker do not harm the caller") {
  const WorkerBench bench;
  const std::string body = GENERATE(as<std::string>(), "__builtin_trap()", "*(volatile int*)1 = 0",
                                    "void _exit(int); _exit(0)");
  CAPTURE(body);
  bench.break_kernels("*) make '" + body + "' ;;");
  const auto context = context_on(bench);
  CHECK_FALSE(context->tune(problem_of(24), quick(2)).record);
  CHECK_FALSE(rejections(*context, problem_of(24), Reason::kCrashed).empty());
}

TEST_CASE("If no worker can be started, candidates run in the process itself") {
  const WorkerBench bench;
  const char* const program = GENERATE("/nonexistent/program", "/bin/true", "/bin/cat");
  CAPTURE(program);
  const auto context = context_on(bench, {program});
  CHECK(context->tune(problem_of(24), quick(2)).record);
}

TEST_CASE("A worker that sends garbage costs its caller only that worker") {
  const WorkerBench bench;
  const std::string says =
      GENERATE("read -r line; while echo garbage; do :; done", "while echo progress 99; do :; done",
               "echo done 0 0 0 0; sleep 60");
  CAPTURE(says);
  const auto context = context_on(bench, {"/bin/sh", "-c", "echo progress 0 0 0 0; " + says});
  const TuneResult result = context->tune(problem_of(24), quick(2));
  CHECK_FALSE(result.record);
  CHECK_THAT(result.tuning.failure, ContainsSubstring("use tune-all of the library's own version"));
}

TEST_CASE("A worker delays its caller no longer than the timeout, whatever it does") {
  const WorkerBench bench;
  const std::string does = GENERATE("exec sleep 100", "trap '' TERM; while :; do sleep 100; done",
                                    "while echo progress 0 0 0 0; do :; done",
                                    "while echo running 1000 blocked; do :; done",
                                    "echo running 1000 blocked; exec sleep 100");
  CAPTURE(does);
  const auto context = context_on(bench, {});
  TuningWorker worker({"/bin/sh", "-c", does}, {}, context->store(), 1s);
  TuneOptions options = quick(2);
  options.budget.seconds = 0.1;
  const auto begin = std::chrono::steady_clock::now();
  const TuneResult result = worker.tune(
      {problem_of(24), context->device().identity(), context->device().toolchain()}, options);
  CHECK_FALSE(result.record);
  CHECK_THAT(result.tuning.failure, ContainsSubstring("it did not finish within 1 s"));
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  CHECK(rejections(*context, problem_of(24), Reason::kCrashed).empty());
}

TEST_CASE("A silent worker is lost when its candidate's time is over") {
  const WorkerBench bench;
  const auto context = context_on(bench, {});
  const Candidate candidate =
      default_candidate(problem_of(24), context->device().limits()).candidate;
  TuningWorker worker(
      {"/bin/sh", "-c", "echo 'running 0.2 " + to_text(candidate) + "'; exec sleep 100"}, {},
      context->store());
  const TuneResult result = worker.tune(
      {problem_of(24), context->device().identity(), context->device().toolchain()}, quick(2));
  CHECK_THAT(result.tuning.failure, ContainsSubstring("it did not return within 0 s"));
  CHECK(rejections(*context, problem_of(24), Reason::kCrashed).size() == 1);
}

TEST_CASE("Workers that crash leave no temporary files") {
  const WorkerBench bench;
  bench.break_kernels("*) make '*(volatile int*)1 = 0' ;;");
  const TemporaryFolder places;
  const char* const before = std::getenv("TMPDIR");
  const std::string restored = before == nullptr ? "" : before;
  setenv("TMPDIR", places.path().c_str(), 1);
  {
    const auto context = context_on(bench);
    CHECK_FALSE(context->tune(problem_of(24), quick(2)).record);
  }
  CHECK(std::filesystem::is_empty(places.path()));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", restored.c_str(), 1);
}

}  // namespace tunedgemm::internal

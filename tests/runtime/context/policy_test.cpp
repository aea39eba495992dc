// Problems without a winner under each policy, on the host device.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "runtime/calls/arguments.h"
#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/runtime/support/plain_device.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

using Catch::Matchers::ContainsSubstring;

namespace tunedgemm::internal {
namespace {

ContextOptions options_in_memory(const PlainBackend& backend, Policy policy) {
  ContextOptions options;
  options.backend = &backend;
  options.policy = policy;
  options.store.access = StoreOptions::Access::kMemoryOnly;
  return options;
}

TEST_CASE("An interrupted tuning stores a winner unless it must be complete") {
  const CanonicalProblem problem = canonical(to_problem(HostCall(64, 48, 32).key()));
  for (const bool in_background : {false, true}) {
    const TemporaryFolder folder;
    const auto context = host_context(folder, Policy::kCompile);
    if (!context->device().why_not_compile().empty()) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    bool has_timed_one = false;
    TuneOptions options;
    options.rigor = Rigor::kQuick;
    options.on_progress = [&](const Progress& progress) { has_timed_one |= progress.best_us > 0; };
    options.cancelled = [&] { return has_timed_one; };
    options.in_background = in_background;
    const TuneResult result = context->tune(problem, options);
    CHECK(result.tuning.cancelled);
    CHECK(result.record.has_value() == !in_background);
    CHECK(context->store().winners().size() == (in_background ? 0 : 1));
    const Device& device = context->device();
    CHECK_FALSE(context->store()
                    .trials({problem, device.identity(), context->device().toolchain()})
                    .empty());
  }
}

TEST_CASE("Policy stored computes other sizes with the kernel of the nearest winner") {
  const TemporaryFolder folder;
  const HostCall near(41, 51, 31);
  Candidate tuned;
  {
    const auto tuning = host_context(folder, Policy::kTune);
    tuning->plan(HostCall(5, 401, 901).checked(), {});
    tuned = tuning->plan(near.checked(), {}).candidate;
  }
  const auto context = host_context(folder, Policy::kStored);
  for (const HostCall& call : {HostCall(41, 53, 29), HostCall(65, 67, 63), HostCall(1, 33, 7),
                               HostCall(2570, 3, 333)}) {  // far away in all extents
    const Plan& plan = context->plan(call.checked(), {});
    CHECK_THAT(plan.description, ContainsSubstring("the nearest stored kernel"));
    CHECK_FALSE(plan.is_final);
    CHECK(call.is_right_with(plan));
  }
  CHECK(context->plan(HostCall(41, 53, 29).checked(), {}).candidate == tuned);
  CHECK(context->counters().nearest == 4);
  CHECK(context->kernel_counters().compiled == 0);
  CHECK(context->store().requests(context->device().identity()).size() == 4);
}

TEST_CASE("Policy stored serves an M between two tuned ones and tells the expected loss") {
  const TemporaryFolder folder;
  {
    const auto tuning = host_context(folder, Policy::kTune);
    tuning->plan(HostCall(8, 51, 31).checked(), {});
    tuning->plan(HostCall(64, 51, 31).checked(), {});
  }
  const auto context = host_context(folder, Policy::kStored);
  for (const int m : {1, 9, 40, 63, 200}) {
    const HostCall call(m, 51, 31);
    const Plan& plan = context->plan(call.checked(), {});
    CHECK((plan.origin.tuned_m == 8 || plan.origin.tuned_m == 64));
    CHECK(plan.origin.expected_us > 0);
    const std::string served =
        "served from M = " + std::to_string(plan.origin.tuned_m) + ", expected within ";
    CHECK_THAT(context->description(plan), ContainsSubstring(served));
    CHECK(&context->description(plan) == &context->description(plan));
    CHECK(call.is_right_with(plan));
  }
  const Plan& tuned = context->plan(HostCall(64, 51, 31).checked(), {});
  CHECK(tuned.is_final);
  CHECK(context->description(tuned) == tuned.description);
  CHECK(context->kernel_counters().compiled == 0);
}

TEST_CASE("Policy tune accepts a kernel of another M whose expected loss is small enough") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kTune);
  const auto plan_of = [&](int m, double accepted_loss) -> const Plan& {
    return context->plan(HostCall(m, 51, 31).checked(), {}, Policy::kTune, "", accepted_loss);
  };
  CHECK(plan_of(8, 100).is_final);  // nothing is stored yet
  const std::int64_t compiled = context->kernel_counters().compiled;
  const Plan& served = plan_of(9, 100);
  CHECK_FALSE(served.is_final);
  CHECK(served.origin.tuned_m == 8);
  CHECK(&plan_of(9, 100) == &served);
  CHECK(context->kernel_counters().compiled == compiled);
  CHECK(context->store().requests(context->device().identity()).size() == 1);

  const Plan& tuned = plan_of(9, 0);
  CHECK(tuned.is_final);
  CHECK(&served.newest() == &tuned);
}

TEST_CASE("Policy compile compiles only if no kernel of another M is expected to be fast") {
  const PlainBackend backend;
  const ContextOptions options = options_in_memory(backend, Policy::kCompile);
  const CanonicalProblem tuned = canonical(to_problem(HostCall(640, 51, 31).key()));
  const auto ranked = ranked_candidates(tuned, backend.open({})->limits());
  // A context whose cache has this winner, which takes as long as predicted.
  const auto context_with = [&](const Instance& winner) {
    auto context = Context::create(options);
    Device& device = context->device();
    const double us = winner.predicted_us;
    Record record = winner_record(winner, device);
    record.measurement = {.median_us = us, .low_us = us, .high_us = us, .samples_us = {1, 1}};
    const Source source = winner.source();
    const Binary binary = std::get<Binary>(device.compile(source));
    CHECK(context->store().put(record, source, binary, {}).stored);
    return context;
  };
  {
    const auto context = context_with(ranked.front());
    const Plan& plan = context->plan(HostCall(639, 51, 31).checked(), {});
    CHECK(plan.candidate == ranked.front().candidate);
    CHECK_THAT(context->description(plan),
               ContainsSubstring("served from M = 640, expected within "));
    CHECK_FALSE(plan.is_final);
    CHECK(context->kernel_counters().compiled == 0);
    CHECK(context->store().requests(context->device().identity()).size() == 1);
  }
  for (const double accepted_loss : {0.0, 0.05, 100.0}) {
    const bool accepts = accepted_loss > 1;
    const auto context = context_with(ranked.back());
    const Plan& plan = context->plan(HostCall(8, 51, 31).checked(), {}, {}, "", accepted_loss);
    CHECK(plan.origin.tuned_m == (accepts ? 640 : 0));
    CHECK_THAT(plan.description,
               ContainsSubstring(accepts ? "served from M = 640" : "chosen by the model"));
    CHECK(context->kernel_counters().compiled == (accepts ? 0 : 1));
    CHECK(context->rankings() == 1);
  }
}

TEST_CASE("Policy stored uses a kernel that needs less alignment") {
  const TemporaryFolder folder;
  HostCall unaligned(33, 31, 29);
  unaligned.offset = 1;
  Candidate tuned = host_context(folder, Policy::kTune)->plan(unaligned.checked(), {}).candidate;
  const auto context = host_context(folder, Policy::kStored);
  HostCall aligned(32, 32, 32);
  const Plan& plan = context->plan(aligned.checked(), {});
  CHECK(plan.candidate == tuned);
  CHECK_THAT(plan.description, ContainsSubstring("the nearest stored kernel"));
  CHECK(aligned.is_right_with(plan));
}

TEST_CASE("Policy stored finds a kernel that was compiled without a tuning") {
  const TemporaryFolder folder;
  HostCall call(31, 17, 64);
  host_context(folder, Policy::kCompile)->plan(call.checked(), {});
  const auto context = host_context(folder, Policy::kStored);
  const Plan& plan = context->plan(call.checked(), {});
  CHECK_THAT(plan.description, ContainsSubstring("a stored kernel, chosen by the model"));
  CHECK(context->kernel_counters().compiled == 0);
  CHECK(call.is_right_with(plan));
}

TEST_CASE("Policy stored names the remedy if no kernel computes the problem") {
  const PlainBackend backend;
  const ContextOptions options = options_in_memory(backend, Policy::kStored);
  const auto context = Context::create(options);
  try {
    context->plan(HostCall(4, 5, 6).checked(), {});
    FAIL("a plan without a kernel");
  } catch (const CallError& error) {
    CHECK(error.kind() == CallError::Kind::kNotTuned);
    CHECK_THAT(error.what(),
               ContainsSubstring("policy stored, and neither the cache in memory nor") &&
                   ContainsSubstring("m=4 n=5 k=6") && ContainsSubstring("plain") &&
                   ContainsSubstring("tune-all"));
  }
}

TEST_CASE("Policy stored runs a kernel as soon as another process has stored it") {
  const PlainBackend backend;
  const TemporaryFolder folder;
  ContextOptions options;
  options.backend = &backend;
  options.store.path = folder.path() / "cache.db";
  options.policy = Policy::kStored;
  const auto context = Context::create(options);
  const CallKey key = HostCall(4, 5, 6).key();
  CHECK_THROWS_AS(context->plan(checked_call(key), {}), CallError);
  CHECK_THROWS_AS(context->plan(checked_call(key), {}), CallError);
  options.policy = Policy::kCompile;
  const Candidate compiled = Context::create(options)->plan(checked_call(key), {}).candidate;
  CHECK(context->plan(checked_call(key), {}).candidate == compiled);
  CHECK(context->kernel_counters().compiled == 0);
}

TEST_CASE("A plan of the model's choice switches to the winner when there is one") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kCompile);
  HostCall call(37, 53, 29);
  const Plan& chosen = context->plan(call.checked(), {});
  CHECK_FALSE(chosen.is_final);
  CHECK(&context->plan(call.checked(), {}) == &chosen);

  const Plan& tuned = context->plan(call.checked(), {}, Policy::kTune);
  CHECK(tuned.is_final);
  CHECK(context->find_plan(call.key()) == &tuned);
  CHECK(&chosen.newest() == &tuned);
  CHECK(context->counters().replaced == 1);
  CHECK(call.is_right_with(chosen.newest()));
}

TEST_CASE("A tuning outside of calls replaces the plans of all keys of the problem") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kCompile);
  const HostCall call(8, 9, 10);
  CallKey written_out = call.key();
  written_out.problem.lda = 10;  // the value that 0 stands for
  const Plan& first = context->plan(call.checked(), {});
  const Plan& second = context->plan(checked_call(written_out), {});
  CHECK(&first != &second);
  TuneOptions tuning;
  tuning.rigor = Rigor::kQuick;
  tuning.budget = {.seconds = 30, .candidates = 2};
  context->tune(to_problem(call.key()), tuning);
  CHECK(first.newest().is_final);
  CHECK(second.newest().is_final);
  CHECK(context->counters().replaced == 2);
}

TEST_CASE("Policy fail for one call refuses a problem that has run without a winner") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kCompile);
  const HostCall call(8, 9, 10);
  context->plan(call.checked(), {});
  CHECK_THROWS_AS(context->plan(call.checked(), {}, Policy::kFail), CallError);
  CHECK_NOTHROW(context->plan(call.checked(), {}, Policy::kStored));
  // The accepted loss has no effect: only policies tune and compile use it.
  CHECK_THROWS_AS(context->plan(call.checked(), {}, Policy::kFail, "", 100), CallError);
}

TEST_CASE("Policy fail with an accepted loss does not depend on earlier calls") {
  const TemporaryFolder folder;
  host_context(folder, Policy::kTune)->plan(HostCall(8, 51, 31).checked(), {});
  const auto context = host_context(folder, Policy::kStored);
  const HostCall call(9, 51, 31);
  CHECK_THROWS_AS(context->plan(call.checked(), {}, Policy::kFail, "", 100), CallError);
  CHECK(context->plan(call.checked(), {}).origin.tuned_m == 8);
  CHECK_THROWS_AS(context->plan(call.checked(), {}, Policy::kFail, "", 100), CallError);
}

TEST_CASE(
    "Policy tune_in_background returns at once, and later runs the winner that it has tuned") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kTuneInBackground);
  HostCall call(37, 53, 29);
  const Plan& first = context->plan(call.checked(), {});
  CHECK(first.kernel->is_built_in());
  CHECK(call.is_right_with(first));
  REQUIRE(comes_true([&] { return first.newest().is_final; }));
  CHECK(&context->plan(call.checked(), {}) == &first.newest());
  CHECK_THAT(first.newest().description, ContainsSubstring("(tuned, "));
  CHECK(call.is_right_with(first.newest()));
}

// Stores the call's winner without its binary. Returns whether there is a winner.
bool tune_and_forget_binary(const TemporaryFolder& folder, const HostCall& call) {
  const auto context = host_context(folder, Policy::kTune);
  const Plan& plan = context->plan(call.checked(), {});
  Device& device = context->device();
  const auto winner = instantiate(plan.problem, plan.candidate, device.limits());
  context->store().forget_binary(winner->source(), device.toolchain(), device.limits().arch);
  return plan.is_final && !plan.kernel->is_built_in();
}

TEST_CASE("Policy tune_in_background compiles a winner without a binary in its own thread") {
  const TemporaryFolder folder;
  const HostCall call(37, 53, 29);
  if (!tune_and_forget_binary(folder, call)) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  const auto context = host_context(folder, Policy::kTuneInBackground);
  const Plan& first = context->plan(call.checked(), {});
  CHECK(first.kernel->is_built_in());
  CHECK_FALSE(first.is_final);
  CHECK(context->kernel_counters().compiled == 0);
  CHECK(call.is_right_with(first));
  REQUIRE(comes_true([&] { return first.newest().is_final; }));
  CHECK_FALSE(first.newest().kernel->is_built_in());
  CHECK(context->kernel_counters().compiled == 1);
  CHECK(context->counters().replaced == 1);
  CHECK_THAT(context->report(), ContainsSubstring("0 tuned and 1 kernels compiled here"));
  CHECK(call.is_right_with(first.newest()));
}

TEST_CASE(
    "Policy tune_in_background compiles the winner at once if nothing else computes the "
    "problem") {
  const PlainBackend backend;
  const ContextOptions options = options_in_memory(backend, Policy::kTuneInBackground);
  const auto context = Context::create(options);
  context->freeze();
  const CallKey key = HostCall(4, 5, 6).key();
  const CanonicalProblem problem = canonical(to_problem(key));
  Device& device = context->device();
  const Instance second = ranked_candidates(problem, device.limits()).at(1);
  Record record = winner_record(second, device);
  record.measurement = {.median_us = 1, .low_us = 1, .high_us = 1, .samples_us = {1, 1}};
  REQUIRE(context->store().put(record, second.source(), {}, {}).stored);
  const Plan& plan = context->plan(checked_call(key), {});
  CHECK(plan.is_final);
  CHECK(plan.candidate == second.candidate);
  CHECK(context->kernel_counters().compiled == 1);
}

TEST_CASE("A plan switches to the winner that another process stores") {
  const TemporaryFolder folder;
  const auto tune = [&](const HostCall& call) {
    REQUIRE(host_context(folder, Policy::kTune)->plan(call.checked(), {}).is_final);
  };
  tune(HostCall(37, 53, 31));  // the policy needs a stored kernel
  for (const Policy policy : {Policy::kStored, Policy::kCompile}) {
    const HostCall call(37, 53, policy == Policy::kStored ? 29 : 30);
    const auto server = host_context(folder, policy);
    const Plan& plan = server->plan(call.checked(), {});
    REQUIRE_FALSE(plan.is_final);
    const std::int64_t compiled = server->kernel_counters().compiled;
    tune(call);
    CHECK(comes_true([&] { return plan.newest().is_final; }));
    CHECK(call.is_right_with(plan.newest()));
    CHECK(server->find_plan(call.key()) == &plan.newest());
    CHECK(server->kernel_counters().compiled == compiled);
  }
}

TEST_CASE("The watch for winners of other processes rests while no plan waits") {
  std::atomic<int> looks{0};
  std::atomic<bool> plans_wait{true};
  Watch watch(
      [&] {
        ++looks;
        return plans_wait.load();
      },
      std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(looks == 0);
  watch.start();
  CHECK(comes_true([&] { return looks > 3; }));
  plans_wait = false;
  CHECK(comes_true([&] {
    const int before = looks;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return looks == before;
  }));
  watch.start();
  const int before = looks;
  CHECK(comes_true([&] { return looks > before; }));
  watch.stop();
  watch.start();
  const int last = looks;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(looks == last);
}

TEST_CASE("A frozen plan does not change") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kTuneInBackground);
  const HostCall early(37, 53, 29);
  const HostCall late(37, 53, 31);
  const Plan& plan = context->plan(early.checked(), {});
  context->freeze();
  const Plan& after = context->plan(late.checked(), {});
  std::this_thread::sleep_for(3 * BackgroundTuner::kQuiet);
  CHECK(&plan.newest() == &plan);
  CHECK(&after.newest() == &after);
  CHECK(context->counters().replaced == 0);
}

TEST_CASE("A context that tunes in the background can be destroyed at any time") {
  for (const auto pause : {0, 120, 400}) {
    const TemporaryFolder folder;
    const auto context = host_context(folder, Policy::kTuneInBackground);
    for (int size = 8; size < 12; ++size) {
      context->plan(HostCall(size, 9, 10).checked(), {});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
}

TEST_CASE("Every policy has its name in the environment variable") {
  CHECK(parse_policy("tune") == Policy::kTune);
  CHECK(parse_policy("compile") == Policy::kCompile);
  CHECK(parse_policy("fail") == Policy::kFail);
  CHECK(parse_policy("stored") == Policy::kStored);
  CHECK(parse_policy("tune_in_background") == Policy::kTuneInBackground);
  CHECK_FALSE(parse_policy(""));
  CHECK_FALSE(parse_policy("Stored"));
}

}  // namespace
}  // namespace tunedgemm::internal

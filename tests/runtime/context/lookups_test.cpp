// Tests the cost of a first call: look-ups in the store and loads of kernels.

#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

CheckedCall call(int k = 64) {
  return HostCall(31, 17, k).checked();
}

TEST_CASE("A miss that tunes costs one look-up and one load of the winner, a hit one of each") {
  const TemporaryFolder folder;
  {
    const auto context = host_context(folder, Policy::kTune);
    context->plan(call(), {});
    CHECK(context->counters().hits == 1);
    CHECK(context->store().lookups() == 1);
    CHECK(context->kernel_counters().loaded == 1);
    CHECK(context->kernel_counters().compiled == 0);
    context->plan(call(), {});
    CHECK(context->store().lookups() == 1);
    CHECK(context->kernel_counters().loaded == 1);
  }
  const auto context = host_context(folder, Policy::kTune);
  context->plan(call(), {});
  CHECK(context->counters().hits == 1);
  CHECK(context->store().lookups() == 1);
  CHECK(context->kernel_counters().loaded == 1);
  CHECK(context->kernel_counters().compiled == 0);
}

// During its lifetime, new devices find no compiler.
struct [[nodiscard]] WithoutCompiler {
  EnvironmentVariable named{"TUNEDGEMM_CXX", "/nonexistent/c++"};
};

TEST_CASE("An exported cache runs without a compiler, under every policy") {
  const TemporaryFolder folder;
  const std::vector<HostCall> calls{{31, 17, 64}, {64, 48, 40}, {5, 129, 33}};
  std::vector<Candidate> tuned;
  const auto shipped = folder.path() / "shipped.db";
  {
    const auto context = host_context(folder, Policy::kTune);
    if (!context->device().why_not_compile().empty()) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    for (const HostCall& call : calls) {
      tuned.push_back(context->plan(call.checked(), {}).candidate);
    }
    REQUIRE(context->store().export_to(shipped).empty());
  }
  for (const Policy policy : {Policy::kTune, Policy::kCompile, Policy::kFail, Policy::kStored,
                              Policy::kTuneInBackground}) {
    for (const bool is_system_file : {false, true}) {
      const TemporaryFolder user;
      ContextOptions options;
      options.backend = &host_backend();
      options.device.host_threads = 2;
      options.policy = policy;
      options.store.path = is_system_file ? user.path() / "cache.db" : shipped;
      if (is_system_file) {
        options.store.system_paths = {shipped};
      }
      const WithoutCompiler none;
      const auto context = Context::create(options);
      REQUIRE_FALSE(context->device().why_not_compile().empty());
      INFO("policy " << static_cast<int>(policy) << ", system file " << is_system_file);
      for (std::size_t index = 0; index < calls.size(); ++index) {
        const Plan& plan = context->plan(calls[index].checked(), {});
        CHECK(plan.candidate == tuned[index]);
        CHECK(plan.is_final);
        CHECK_FALSE(plan.kernel->is_built_in());
        CHECK(calls[index].is_right_with(plan));
      }
      if (policy != Policy::kFail) {
        const HostCall other(30, 20, 64);
        const Plan& plan = context->plan(other.checked(), {});
        CHECK_THAT(plan.description,
                   Catch::Matchers::ContainsSubstring("the nearest stored kernel"));
        CHECK(other.is_right_with(plan));
      }
      CHECK(context->counters().hits == 3);
      const bool names_file =
          context->report().find("of them 3 in " + shipped.string()) != std::string::npos;
      CHECK(names_file == is_system_file);
      CHECK(context->kernel_counters().compiled == 0);
    }
  }
}

TEST_CASE("Without a compiler and a stored kernel, the plan of the linked-in kernel says so") {
  const TemporaryFolder folder;
  const WithoutCompiler none;
  const auto context = host_context(folder, Policy::kCompile);
  const Plan& plan = context->plan(call(), {});
  CHECK(plan.kernel->is_built_in());
  CHECK(plan.description.find("linked in") != std::string::npos);
}

TEST_CASE("A miss ranks its candidates once, and a hit does not rank them") {
  const TemporaryFolder folder;
  {
    const auto context = host_context(folder, Policy::kTune);
    if (!context->device().why_not_compile().empty()) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    context->plan(call(), {});
    CHECK(context->rankings() == 0);  // the tuning ranks them itself
    const TemporaryFolder empty;
    const auto compiling = host_context(empty, Policy::kCompile);
    compiling->plan(call(), {});
    CHECK(compiling->rankings() == 1);
    compiling->plan(call(), {});
    CHECK(compiling->rankings() == 1);
  }
  const WithoutCompiler none;
  CHECK(host_context(folder, Policy::kTune)->plan(call(), {}).is_final);
  for (const Policy policy : {Policy::kTune, Policy::kCompile, Policy::kStored}) {
    INFO("policy " << static_cast<int>(policy));
    const TemporaryFolder empty;
    const auto context = host_context(empty, policy);
    context->plan(call(), {});
    CHECK(context->rankings() == 1);
  }
}

TEST_CASE("A miss without tuning runs a similar problem's winner from its stored binary") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kCompile);
  Device& device = context->device();
  const CanonicalProblem near = call(96).problem;
  const std::vector<Instance> ranked = ranked_candidates(near, device.limits());
  const Instance& second = ranked.at(1);
  const auto compiled = device.compile(second.source());
  if (!std::holds_alternative<Binary>(compiled)) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  Record record = winner_record(second, device);
  record.measurement = {.median_us = 1, .low_us = 1, .high_us = 1, .samples_us = {1, 1}};
  record.rigor = Rigor::kNormal;
  REQUIRE(context->store().put(record, second.source(), std::get<Binary>(compiled), {}).stored);
  const Plan& plan = context->plan(call(), {});
  CHECK(plan.candidate == second.candidate);
  CHECK(context->counters().model == 1);
  CHECK(context->kernel_counters().compiled == 0);
}

TEST_CASE("A problem that another CPU has tuned runs its kernel, whose features this CPU has") {
  const TemporaryFolder folder;
  {
    const auto context = host_context(folder, Policy::kCompile);
    Device& device = context->device();
    const Instance second = ranked_candidates(call().problem, device.limits()).at(1);
    const auto compiled = device.compile(second.source());
    if (!std::holds_alternative<Binary>(compiled)) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    Record record = winner_record(second, device);
    record.device.name = "Another CPU";
    record.measurement = {.median_us = 1, .low_us = 1, .high_us = 1, .samples_us = {1, 1}};
    REQUIRE(context->store().put(record, second.source(), std::get<Binary>(compiled), {}).stored);
  }
  const auto context = host_context(folder, Policy::kStored);
  const Plan& plan = context->plan(call(), {});
  CHECK_FALSE(plan.is_final);
  CHECK_THAT(plan.description, Catch::Matchers::ContainsSubstring("(tuned on Another CPU)"));
  CHECK(context->kernel_counters().compiled == 0);
  CHECK(context->rankings() == 0);
}

TEST_CASE("The kernel for an M that was not tuned is chosen by the times of another toolchain") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kStored);
  Device& device = context->device();
  const auto at = [](int m) { return HostCall(m, 17, 64).checked().problem; };
  const std::vector<Instance> ranked = ranked_candidates(at(8), device.limits());
  const Candidate& near = ranked.at(0).candidate;
  const Candidate& far = ranked.at(1).candidate;
  const auto timed = [](const Candidate& candidate, double median_us) {
    TrialRecord trial;
    trial.family = candidate.family->name();
    trial.config = candidate.config;
    trial.family_fingerprint = candidate.family->fingerprint();
    trial.measurement = {.median_us = median_us, .low_us = 1, .high_us = 1, .samples_us = {1}};
    return trial;
  };
  const auto store_winner = [&](int m, const Candidate& winner, double median_us,
                                const std::vector<TrialRecord>& trials) {
    const Instance instance = instantiate(at(m), winner, device.limits()).value();
    const auto compiled = device.compile(instance.source());
    if (!std::holds_alternative<Binary>(compiled)) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    Record record = winner_record(instance, device);
    record.toolchain.driver = "another";
    record.measurement.median_us = median_us;
    REQUIRE(
        context->store().put(record, instance.source(), std::get<Binary>(compiled), trials).stored);
  };
  // At M = 8, `near` is stored as the winner although `far` was measured faster. A call at M = 9
  // must run `far`.
  store_winner(8, near, 10, {timed(near, 10), timed(far, 1)});
  store_winner(64, far, 1000, {timed(far, 1000), timed(near, 10000)});
  const Plan& plan = context->plan(HostCall(9, 17, 64).checked(), {});
  CHECK(plan.candidate == far);
  CHECK_THAT(plan.description, Catch::Matchers::ContainsSubstring("served from M = "));
}

}  // namespace
}  // namespace tunedgemm::internal

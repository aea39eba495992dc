// The answers about a plan's kernel, on the host device with small budgets.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "tests/runtime/support/host_call.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/skip.h"
#include "tests/support/sql.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.hpp"
#include "tuner/m_ladder.h"

using Catch::Matchers::ContainsSubstring;

namespace tunedgemm::internal {
namespace {

const tunedgemm_plan* c_plan(const Plan& plan) {
  return reinterpret_cast<const tunedgemm_plan*>(&plan);
}

// With enough time to compile on a busy machine.
std::unique_ptr<Context> patient_context(const TemporaryFolder& folder, Policy policy) {
  ContextOptions options = host_context(folder, policy)->options();
  options.budget.seconds = 30;
  return Context::create(options);
}

PlanInfo info_of(const Plan& plan) {
  return tunedgemm::Plan(c_plan(plan)).info();
}

PlanInfo info_of(Context& context, const HostCall& call) {
  return info_of(context.plan(call.checked(), {}));
}

// Nothing is known about a tuning.
void check_untuned(const PlanInfo& info) {
  CHECK(info.candidates == 0);
  CHECK(info.median_us == 0);
  CHECK(info.low_us == 0);
  CHECK(info.high_us == 0);
  CHECK(info.default_us == 0);
  CHECK(info.naive_us == 0);
  CHECK(info.tuned_at == 0);
  CHECK(info.spent_seconds == 0);
  CHECK(std::string(info.tuned_with).empty());
  CHECK(info.vendor_us == 0);
  CHECK(std::string(info.vendor).empty());
}

// A stored winner of the call that a tuning on another device, or with another toolchain, could
// have left.
void put_winner(Context& context, const HostCall& call, const auto& change) {
  Device& device = context.device();
  if (!device.why_not_compile().empty()) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  const Instance instance = ranked_candidates(call.checked().problem, device.limits()).at(1);
  Record record = winner_record(instance, device);
  record.measurement = {.median_us = 7, .low_us = 6, .high_us = 9, .samples_us = {6, 7, 9}};
  change(record);
  const Binary binary = std::get<Binary>(device.compile(instance.source()));
  REQUIRE(context.store().put(record, instance.source(), binary, {}).stored);
}

TEST_CASE("The info of a tuned plan has the numbers of the view best, in every process") {
  const TemporaryFolder folder;
  const HostCall call(37, 53, 29);
  const auto tuning = patient_context(folder, Policy::kTune);
  if (!tuning->device().why_not_compile().empty()) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  const PlanInfo tuned = info_of(*tuning, call);
  const auto context = host_context(folder, Policy::kFail);
  const PlanInfo read = info_of(*context, call);
  const auto in_best = [&](const std::string& column) {
    return static_cast<double>(sql_number(folder.path() / "cache.db",
                                          "SELECT round(100 * (" + column + ")) FROM best")) /
           100;
  };
  for (const PlanInfo& info : {tuned, read}) {
    CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_TUNED);
    CHECK(info.median_us == Catch::Approx(in_best("median_us")).margin(0.011));
    CHECK(info.low_us == Catch::Approx(in_best("low_us")).margin(0.011));
    CHECK(info.high_us == Catch::Approx(in_best("high_us")).margin(0.011));
    CHECK(info.default_us / info.median_us ==
          Catch::Approx(in_best("coalesce(vs_default, 0)")).margin(0.011));
    CHECK(info.naive_us / info.median_us ==
          Catch::Approx(in_best("coalesce(vs_naive, 0)")).margin(0.011));
    CHECK(info.spent_seconds == Catch::Approx(in_best("seconds")).margin(0.06));
    CHECK(info.candidates == in_best("candidates"));
    CHECK(static_cast<double>(info.tuned_at) == in_best("unixepoch(tuned_at)"));
    CHECK(info.expected_loss == 0);
    CHECK(info.expected_us == 0);
    CHECK(info.tuned_m == 0);
    CHECK(info.workspace_bytes == 0);
    CHECK(info.tuned_with == context->device().toolchain().compiler);
    CHECK(info.vendor_us == 0);
    CHECK(std::string(info.vendor).empty());
  }
}

TEST_CASE("The info of a stale plan has the times of the tuning with the other driver") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kStored);
  const HostCall call(37, 53, 29);
  put_winner(*context, call, [](Record& record) {
    record.toolchain.driver = "another";
    record.default_us = 14;
    record.naive_us = 70;
    record.candidates_tried = 12;
    record.spent_seconds = 3.5;
    record.tuned_at = "2026-11-21 10:32:05";
    record.vendor_us = 8;
    record.vendor = "OpenBLAS 0.3.21, Haswell";
  });
  const Plan& plan = context->plan(call.checked(), {});
  const PlanInfo info = info_of(plan);
  CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_STALE);
  CHECK_THAT(context->description(plan), ContainsSubstring("(stale, 7.00 us"));
  CHECK(info.median_us == 7);
  CHECK(info.low_us == 6);
  CHECK(info.high_us == 9);
  CHECK(info.default_us == 14);
  CHECK(info.naive_us == 70);
  CHECK(info.candidates == 12);
  CHECK(info.spent_seconds == 3.5);
  using namespace std::chrono_literals;
  const std::chrono::sys_seconds tuned_at{std::chrono::seconds(info.tuned_at)};
  CHECK(tuned_at == std::chrono::sys_days(2026y / 11 / 21) + 10h + 32min + 5s);
  CHECK(info.tuned_with == context->device().toolchain().compiler);
  CHECK(info.vendor_us == 8);
  CHECK(info.vendor == std::string("OpenBLAS 0.3.21, Haswell"));
  CHECK(info.expected_loss == -1);
}

TEST_CASE("The info of a kernel of another M has the expected loss that the description tells") {
  const TemporaryFolder folder;
  {
    const auto tuning = patient_context(folder, Policy::kTune);
    tuning->plan(HostCall(8, 51, 31).checked(), {});
    tuning->plan(HostCall(64, 51, 31).checked(), {});
  }
  const auto context = host_context(folder, Policy::kStored);
  for (const int m : {1, 9, 40, 200}) {
    const Plan& plan = context->plan(HostCall(m, 51, 31).checked(), {});
    const PlanInfo info = info_of(plan);
    if (info.origin == TUNEDGEMM_PLAN_ORIGIN_LINKED_IN) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_OTHER_M);
    CHECK((info.tuned_m == 8 || info.tuned_m == 64));
    CHECK(info.expected_us > 0);
    CHECK(info.expected_loss >= 0);
    check_untuned(info);
    CHECK_THAT(context->description(plan),
               ContainsSubstring("served from M = " + std::to_string(info.tuned_m) + ", " +
                                 expected_within(info.expected_loss)));
    const std::int64_t rankings = context->rankings();
    CHECK(info_of(plan).expected_loss == info.expected_loss);
    CHECK(context->rankings() == rankings);
  }
}

TEST_CASE("The info tells each other origin apart, and knows neither times nor loss") {
  const TemporaryFolder folder;
  const HostCall call(41, 53, 29);
  SECTION("the most similar problem's kernel") {
    patient_context(folder, Policy::kTune)->plan(HostCall(41, 51, 31).checked(), {});
    const auto context = host_context(folder, Policy::kStored);
    const PlanInfo info = info_of(*context, call);
    if (!context->device().why_not_compile().empty()) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_NEAREST);
    CHECK(info.expected_loss == -1);
    check_untuned(info);
  }
  SECTION("another device's winner") {
    const auto context = host_context(folder, Policy::kStored);
    put_winner(*context, call, [](Record& record) { record.device.name = "Another CPU"; });
    const PlanInfo info = info_of(*context, call);
    CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_OTHER_DEVICE);
    CHECK(info.expected_loss == -1);
    check_untuned(info);
  }
  SECTION("the model's choice") {
    const auto context = host_context(folder, Policy::kCompile);
    if (!context->device().why_not_compile().empty()) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    const PlanInfo info = info_of(*context, call);
    CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_MODEL);
    CHECK(info.expected_loss == -1);
    check_untuned(info);
  }
  SECTION("the linked-in kernel") {
    const PlanInfo info = info_of(*host_context(folder, Policy::kStored), call);
    CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_LINKED_IN);
    CHECK(info.expected_loss == -1);
    check_untuned(info);
  }
  SECTION("no kernel") {
    const auto context = host_context(folder, Policy::kStored);
    const Plan& plan = context->plan(HostCall(0, 53, 29).checked(), {});
    const PlanInfo info = info_of(plan);
    CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_NOTHING);
    CHECK(context->description(plan) == "nothing to compute");
    CHECK(info.expected_loss == 0);
    check_untuned(info);
  }
}

TEST_CASE("The info of a plan is that of the winner once background tuning has found it") {
  const TemporaryFolder folder;
  const auto context = patient_context(folder, Policy::kTuneInBackground);
  const Plan& first = context->plan(HostCall(37, 53, 29).checked(), {});
  CHECK(info_of(first).origin == TUNEDGEMM_PLAN_ORIGIN_LINKED_IN);
  if (!context->device().why_not_compile().empty()) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  REQUIRE(comes_true([&] { return info_of(first).origin == TUNEDGEMM_PLAN_ORIGIN_TUNED; }));
  CHECK(info_of(first).median_us > 0);
  CHECK(info_of(first).workspace_bytes == tunedgemm_plan_workspace_bytes(c_plan(first)));
}

TEST_CASE("The info fills a struct of an earlier version, and refuses senseless sizes") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kStored);
  const Plan& plan = context->plan(HostCall(4, 5, 6).checked(), {});
  std::array<std::byte, sizeof(tunedgemm_plan_info)> poison;
  poison.fill(std::byte{0x5a});
  tunedgemm_plan_info info;
  const auto status_with = [&](std::size_t size) {
    std::memcpy(&info, poison.data(), sizeof info);
    info.struct_size = size;
    return tunedgemm_plan_get_info(c_plan(plan), &info);
  };
  const auto is_untouched_after = [&](std::size_t size) {
    return std::memcmp(reinterpret_cast<const std::byte*>(&info) + size, poison.data(),
                       sizeof info - size) == 0;
  };
  for (const std::size_t size :
       {offsetof(tunedgemm_plan_info, origin), offsetof(tunedgemm_plan_info, low_us)}) {
    CHECK(status_with(size) == TUNEDGEMM_STATUS_OK);
    CHECK(info.struct_size == size);
    CHECK(is_untouched_after(size));
  }
  CHECK(info.origin == TUNEDGEMM_PLAN_ORIGIN_LINKED_IN);
  CHECK(info.median_us == 0);
  for (const std::size_t size : {std::size_t{0}, offsetof(tunedgemm_plan_info, candidates),
                                 sizeof info - 1, sizeof info + 8}) {
    CHECK(status_with(size) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("tunedgemm_plan_info_init"));
    CHECK(is_untouched_after(sizeof info.struct_size));
  }
  CHECK(tunedgemm_plan_get_info(c_plan(plan), nullptr) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  tunedgemm_plan_info_init(&info);
  CHECK(std::string(info.tuned_with).empty());
  CHECK(tunedgemm_plan_get_info(nullptr, &info) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tunedgemm::internal

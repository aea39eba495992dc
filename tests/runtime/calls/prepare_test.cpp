// Plans made ahead of time, on the host device.

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

// Compiles nothing, so that the linked-in kernel serves every problem.
tunedgemm::Context quick_context() {
  return tunedgemm::Context({.backend = TUNEDGEMM_BACKEND_HOST,
                             .host_threads = 1,
                             .cache_path = "",
                             .policy = TUNEDGEMM_POLICY_STORED});
}

std::vector<tunedgemm_problem> problems_of_sizes(const std::vector<std::int64_t>& sizes) {
  std::vector<tunedgemm_problem> problems;
  problems.reserve(sizes.size());
  for (const std::int64_t m : sizes) {
    problems.push_back({.m = m, .n = 5, .k = 6});
  }
  return problems;
}

struct Report {
  std::size_t index, count;
  const tunedgemm_plan* plan;
  tunedgemm_status status;
  std::string message;
  double seconds;
};

struct Reports {
  std::vector<Report> all{};
  std::size_t stop_after = 100;
  static std::int32_t add(void* user_data, const tunedgemm_progress* progress) {
    auto& reports = *static_cast<Reports*>(user_data);
    CHECK(progress->struct_size == sizeof *progress);
    reports.all.push_back({progress->index, progress->count, progress->plan, progress->status,
                           progress->message, progress->seconds});
    return reports.all.size() == reports.stop_after ? 1 : 0;
  }
};

tunedgemm_status prepare(const tunedgemm::Context& context,
                         const std::vector<tunedgemm_problem>& problems, Reports& reports) {
  return tunedgemm_prepare(context.get(), problems.data(), problems.size(), nullptr, &Reports::add,
                           &reports);
}

}  // namespace

TEST_CASE("Prepared problems are reported in order, with the plans that later calls use") {
  const auto context = quick_context();
  const auto problems = problems_of_sizes({4, 7, 0});
  Reports reports;
  CHECK(prepare(context, problems, reports) == TUNEDGEMM_STATUS_OK);
  REQUIRE(reports.all.size() == 3);
  const tunedgemm::internal::HostCall call(4, 5, 6);
  const tunedgemm_buffers buffers = call.buffers();
  double seconds = 0;
  for (std::size_t index = 0; index < 3; ++index) {
    const Report& report = reports.all[index];
    CHECK(report.index == index);
    CHECK(report.count == 3);
    CHECK(report.status == TUNEDGEMM_STATUS_OK);
    CHECK(report.message.empty());
    CHECK(report.seconds >= seconds);
    seconds = report.seconds;
    const tunedgemm_plan* plan = nullptr;
    REQUIRE(tunedgemm_plan_create(context.get(), &problems[index], &buffers, nullptr, &plan) ==
            TUNEDGEMM_STATUS_OK);
    CHECK(report.plan == plan);
  }
  CHECK(tunedgemm_run(reports.all[0].plan, &buffers, nullptr) == TUNEDGEMM_STATUS_OK);
  CHECK(call.is_right());
  CHECK_THAT(context.report(), ContainsSubstring("plans      3:"));
}

TEST_CASE("A problem that fails does not stop the others, and the first failure is returned") {
  const auto context = quick_context();
  auto problems = problems_of_sizes({4, -1, 7, 8});
  problems[3].n = -2;
  Reports reports;
  CHECK(prepare(context, problems, reports) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(),
             StartsWith("problems[1]: ") && ContainsSubstring("-1") && !ContainsSubstring("-2"));
  REQUIRE(reports.all.size() == 4);
  CHECK(reports.all[1].plan == nullptr);
  CHECK(reports.all[1].status == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(reports.all[1].message, ContainsSubstring("-1"));
  CHECK(reports.all[2].plan != nullptr);
  CHECK(reports.all[2].message.empty());
  CHECK_THAT(reports.all[3].message, ContainsSubstring("-2"));

  CHECK(tunedgemm_prepare(context.get(), problems.data(), 4, nullptr, nullptr, nullptr) ==
        TUNEDGEMM_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("A preparation that is stopped makes no more plans, and is no failure") {
  const auto context = quick_context();
  Reports reports{.stop_after = 2};
  CHECK(prepare(context, problems_of_sizes({4, 7, -1}), reports) == TUNEDGEMM_STATUS_OK);
  CHECK(reports.all.size() == 2);
  CHECK_THAT(context.report(), ContainsSubstring("plans      2:"));
  Reports failed{.stop_after = 1};
  CHECK(prepare(context, problems_of_sizes({-1, 9}), failed) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK(failed.all.size() == 1);
}

TEST_CASE("A problem that occurs again has the same plan, and makes no other") {
  const auto context = quick_context();
  const auto problems = problems_of_sizes({4, 7, 4});
  const tunedgemm_plan_options options{.launch_regime = TUNEDGEMM_LAUNCH_REGIME_BACK_TO_BACK};
  Reports reports;
  CHECK(tunedgemm_prepare(context.get(), problems.data(), 3, &options, &Reports::add, &reports) ==
        TUNEDGEMM_STATUS_OK);
  REQUIRE(reports.all.size() == 3);
  CHECK(reports.all[2].plan == reports.all[0].plan);
  CHECK(reports.all[1].plan != reports.all[0].plan);
  CHECK_THAT(context.report(), ContainsSubstring("plans      2:"));
  CHECK(prepare(context, problems, reports) == TUNEDGEMM_STATUS_OK);
  CHECK(reports.all.back().plan != reports.all[0].plan);  // isolated
}

TEST_CASE("A problem that occurs again after its failure is not tried again") {
  const tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST,
                                    .host_threads = 1,
                                    .cache_path = "",
                                    .policy = TUNEDGEMM_POLICY_FAIL});
  const tunedgemm::Problem problem{.m = 4, .n = 5, .k = 6};
  const std::vector<tunedgemm::Problem> problems{problem, problem};
  std::vector<std::string> messages;
  const auto make_plan = [&](const tunedgemm::Progress& progress) {
    CHECK(progress.status == TUNEDGEMM_STATUS_NOT_TUNED);
    messages.emplace_back(progress.message);
    // Would let a second attempt succeed.
    context.plan(problem, {}, {.policy = TUNEDGEMM_POLICY_STORED});
  };
  CHECK_THROWS_AS(context.prepare(problems, {}, make_plan), tunedgemm::Error);
  REQUIRE(messages.size() == 2);
  CHECK_FALSE(messages[0].empty());
  CHECK(messages[0] == messages[1]);
}

TEST_CASE("An empty list is prepared at once") {
  const auto context = quick_context();
  Reports reports;
  CHECK(tunedgemm_prepare(context.get(), nullptr, 0, nullptr, &Reports::add, &reports) ==
        TUNEDGEMM_STATUS_OK);
  CHECK(reports.all.empty());
  CHECK_NOTHROW(context.prepare({}));
}

TEST_CASE("A preparation refuses wrong arguments, and takes the list of an earlier version") {
  const auto context = quick_context();
  Reports reports;
  CHECK(tunedgemm_prepare(context.get(), nullptr, 1, nullptr, &Reports::add, &reports) ==
        TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  auto problems = problems_of_sizes({4, 7, 8});
  const tunedgemm_plan_options options{.accepted_loss = -1};
  CHECK(tunedgemm_prepare(context.get(), problems.data(), 1, &options, &Reports::add, &reports) ==
        TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK(reports.all.empty());

  problems[1].struct_size -= 8;
  CHECK(prepare(context, problems, reports) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("struct_size"));
  REQUIRE(reports.all.size() == 3);
  CHECK(reports.all[2].status == TUNEDGEMM_STATUS_OK);

  constexpr std::size_t kShorter = offsetof(tunedgemm_problem, activation);
  std::vector<std::byte> list(3 * kShorter);
  for (std::size_t index = 0; index < 3; ++index) {
    problems[index].struct_size = kShorter;
    std::memcpy(list.data() + index * kShorter, &problems[index], kShorter);
  }
  Reports shorter;
  CHECK(tunedgemm_prepare(context.get(), reinterpret_cast<const tunedgemm_problem*>(list.data()), 3,
                          nullptr, &Reports::add, &shorter) == TUNEDGEMM_STATUS_OK);
  REQUIRE(shorter.all.size() == 3);
  CHECK(shorter.all[0].plan == reports.all[0].plan);
  CHECK(shorter.all[2].plan == reports.all[2].plan);
}

TEST_CASE("A C++ program prepares problems with a callable of its own") {
  const auto context = quick_context();
  std::vector<tunedgemm::Problem> problems{{.m = 4, .n = 5, .k = 6}, {.m = 7, .n = 5, .k = 6}};
  SECTION("that returns nothing") {
    std::size_t done = 0;
    context.prepare(problems, {}, [&](const tunedgemm::Progress& progress) {
      CHECK(progress.index == done++);
      CHECK(progress.count == 2);
      REQUIRE(progress.plan != nullptr);
      CHECK(tunedgemm::Plan(progress.plan).info().origin == TUNEDGEMM_PLAN_ORIGIN_LINKED_IN);
    });
    CHECK(done == 2);
  }
  SECTION("that stops") {
    int calls = 0;
    context.prepare(problems, {}, [&](const tunedgemm::Progress&) { return ++calls == 1; });
    CHECK(calls == 1);
  }
  SECTION("that throws, and the exception passes") {
    int calls = 0;
    const auto throws = [&](const tunedgemm::Progress&) {
      ++calls;
      throw std::out_of_range("the program's own");
    };
    CHECK_THROWS_WITH(context.prepare(problems, {}, throws), "the program's own");
    CHECK(calls == 1);
  }
  SECTION("and gets the first failure after the others") {
    problems[0].m = -1;
    std::vector<tunedgemm::Status> statuses;
    const auto collect = [&](const tunedgemm::Progress& progress) {
      statuses.push_back(progress.status);
      CHECK((progress.plan != nullptr) == (*progress.message == '\0'));
    };
    CHECK_THROWS_AS(context.prepare(problems, {}, collect), tunedgemm::Error);
    CHECK(statuses == std::vector{TUNEDGEMM_STATUS_INVALID_ARGUMENT, TUNEDGEMM_STATUS_OK});
  }
}

// The library through its C and C++ interfaces, on the host device with small budgets.

#include <sys/mman.h>

#include <barrier>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/environment_variable.h"
#include "tests/support/sql.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.hpp"

using Catch::Matchers::ContainsSubstring;
using Matrices = tunedgemm::internal::HostCall;
using tunedgemm::internal::EnvironmentVariable;
using tunedgemm::internal::sql_number;
using tunedgemm::internal::TemporaryFolder;

namespace {

struct Cache {
  TemporaryFolder folder;
  std::string path = (folder.path() / "cache.db").string();
};

tunedgemm::Context host_context(const char* path, tunedgemm_policy policy) {
  return tunedgemm::Context({.backend = TUNEDGEMM_BACKEND_HOST,
                             .host_threads = 2,
                             .cache_path = path,
                             .policy = policy,
                             .rigor = TUNEDGEMM_RIGOR_QUICK,
                             .tune_seconds = 30,
                             .tune_candidates = 2});
}

// Reserved addresses, which the CPU cannot access, like GPU memory.
struct NoAccess {
  static constexpr std::size_t kBytes = 4096;
  void* pages = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NoAccess() = default;
  ~NoAccess() { ::munmap(pages, kBytes); }
  NoAccess(const NoAccess&) = delete;
  NoAccess& operator=(const NoAccess&) = delete;
};

tunedgemm::Status status_of(auto body) {
  try {
    body();
  } catch (const tunedgemm::Error& error) {
    return error.status();
  }
  return TUNEDGEMM_STATUS_OK;
}

}  // namespace

TEST_CASE("A call tunes, and the next process uses the cache without compiling") {
  const Cache cache;
  const tunedgemm::Problem problem{.m = 37, .n = 53, .k = 29};
  Matrices matrices(37, 53, 29);
  {
    const auto context = host_context(cache.path.c_str(), TUNEDGEMM_POLICY_TUNE);
    tunedgemm::tuned_matmul(context, problem, matrices.buffers());
    CHECK(matrices.is_right());
  }
  const auto context = host_context(cache.path.c_str(), TUNEDGEMM_POLICY_FAIL);
  Matrices again(37, 53, 29);
  tunedgemm::tuned_matmul(context, problem, again.buffers());
  CHECK(again.is_right());
  CHECK_THAT(context.report(),
             ContainsSubstring("1 tuned, 0 stale") && ContainsSubstring("0 kernels compiled here"));
  CHECK_THAT(std::string(context.plan(problem, again.buffers()).description()),
             ContainsSubstring("(tuned, "));
}

TEST_CASE("A plan's name is among its problem's, if it is tuned now, was tuned, or is not tuned") {
  const Cache cache;
  Matrices matrices(37, 53, 29);
  const auto plan = [&](tunedgemm_policy policy, std::int64_t m, const char* name) {
    const auto context = host_context(cache.path.c_str(), policy);
    context.plan({.m = m, .n = 53, .k = 29}, matrices.buffers(), {.name = name});
    context.plan({.m = m, .n = 53, .k = 29}, matrices.buffers(), {.name = name});
  };
  const auto count = [&](const std::string& what) {
    return sql_number(cache.path, "select count(*) from " + what);
  };
  plan(TUNEDGEMM_POLICY_TUNE, 37, "tuned now");
  CHECK(count("best where name = \"tuned now\"") == 1);
  plan(TUNEDGEMM_POLICY_FAIL, 37, "tuned before");
  CHECK(count("best where name = \"tuned now, tuned before\"") == 1);
  CHECK(count("missing") == 0);
  plan(TUNEDGEMM_POLICY_COMPILE, 38, "not tuned");
  CHECK(count("missing where name = \"not tuned\"") == 1);
}

TEST_CASE("Policy fail refuses problems without a winner and names the remedy") {
  const Cache cache;
  const auto context = host_context(cache.path.c_str(), TUNEDGEMM_POLICY_FAIL);
  Matrices matrices(4, 5, 6);
  CHECK(status_of([&] {
          tunedgemm::tuned_matmul(context, {.m = 4, .n = 5, .k = 6}, matrices.buffers());
        }) == TUNEDGEMM_STATUS_NOT_TUNED);
  CHECK_THAT(tunedgemm_error_message(), ContainsSubstring(cache.path) &&
                                            ContainsSubstring("m=4 n=5 k=6") &&
                                            ContainsSubstring("tune-all"));
}

TEST_CASE("A cache that cannot be used does not fail a call") {
  Matrices matrices(8, 8, 8);
  const auto context = host_context("/proc/no-such-folder/cache.db", TUNEDGEMM_POLICY_COMPILE);
  tunedgemm::tuned_matmul(context, {.m = 8, .n = 8, .k = 8}, matrices.buffers());
  CHECK(matrices.is_right());
}

TEST_CASE("Empty problems give the results of BLAS") {
  const auto context = host_context("", TUNEDGEMM_POLICY_COMPILE);
  SECTION("no rows: nothing is touched, pointers may be null") {
    tunedgemm::tuned_matmul(context, {.m = 0, .n = 5, .k = 6}, {});
  }
  SECTION("no K, beta 0: D is zero, A and B may be null") {
    std::vector<float> d(6, std::nanf(""));
    tunedgemm::tuned_matmul(context, {.m = 2, .n = 3, .k = 0}, {.d = d.data()});
    CHECK(d == std::vector<float>(6, 0.0f));
  }
  SECTION("alpha 0: A and B are not read, D is beta C") {
    std::vector<float> nan(16, std::nanf(""));
    std::vector<float> d{1, 2, 3, 4};
    tunedgemm::tuned_matmul(
        context, {.m = 2, .n = 2, .k = 2},
        {.a = nan.data(), .b = nan.data(), .c = d.data(), .d = d.data(), .alpha = 0, .beta = 2});
    CHECK(d == std::vector<float>{2, 4, 6, 8});
  }
  SECTION("alpha or K is 0: the product is 0, even if its other factors are infinite") {
    const float infinite = INFINITY;
    std::vector<float> d{1, 2, 3, 4};
    tunedgemm::tuned_matmul(
        context, {.m = 2, .n = 2, .k = 2},
        {.c = d.data(), .d = d.data(), .scale_a = &infinite, .alpha = 0, .beta = 2});
    CHECK(d == std::vector<float>{2, 4, 6, 8});
    tunedgemm::tuned_matmul(context, {.m = 2, .n = 2, .k = 0},
                            {.d = d.data(), .scale_b = &infinite, .alpha = INFINITY});
    CHECK(d == std::vector<float>(4, 0.0f));
  }
}

TEST_CASE("The linked-in kernel reads neither A nor B of any batch index if alpha is 0") {
  const auto context = host_context("", TUNEDGEMM_POLICY_STORED);
  std::vector<float> d(12, std::nanf(""));
  tunedgemm::tuned_matmul(context, {.m = 2, .n = 2, .k = 2, .batch = 3},
                          {.d = d.data(), .alpha = 0});
  CHECK(d == std::vector<float>(12, 0.0f));
}

TEST_CASE("The linked-in kernel uses alpha and beta in the accumulator's type, as others do") {
  const auto linked_in = host_context("", TUNEDGEMM_POLICY_STORED);
  const auto compiled = host_context("", TUNEDGEMM_POLICY_COMPILE);
  const float one = 1, tiny = 1e-30f;
  for (const auto& [alpha, beta] :
       {std::pair(1e308, 1.0), std::pair(1e-300, 1.0), std::pair(1.0, 1e308)}) {
    float d[2] = {std::nanf(""), std::nanf("")};
    for (const auto* context : {&linked_in, &compiled}) {
      tunedgemm::tuned_matmul(*context, {.m = 1, .n = 1, .k = 1},
                              {.a = &tiny,
                               .b = &one,
                               .c = &tiny,
                               .d = &d[context == &compiled],
                               .alpha = alpha,
                               .beta = beta});
    }
    INFO("alpha " << alpha << ", beta " << beta);
    CHECK(d[0] == d[1]);
  }
}

TEST_CASE("A column-major D is its row-major transpose") {
  const auto context = host_context("", TUNEDGEMM_POLICY_COMPILE);
  Matrices matrices(5, 7, 9);
  Matrices transposed(5, 7, 9);
  tunedgemm::tuned_matmul(context, {.m = 5, .n = 7, .k = 9}, matrices.buffers());
  tunedgemm::tuned_matmul(context,
                          {.m = 5, .n = 7, .k = 9, .order_d = TUNEDGEMM_ORDER_COLUMN_MAJOR},
                          transposed.buffers());
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t column = 0; column < 7; ++column) {
      CHECK(transposed.d[column * 5 + row] == matrices.d[row * 7 + column]);
    }
  }
}

// problem_test.cpp and call_test.cpp test further refusals.
TEST_CASE("The error for a wrong call names the wrong value") {
  const auto context = host_context("", TUNEDGEMM_POLICY_COMPILE);
  const Matrices matrices(8, 8, 8);
  const auto refused = [&](const tunedgemm::Problem& problem, const tunedgemm::Buffers& buffers) {
    CHECK(status_of([&] { tunedgemm::tuned_matmul(context, problem, buffers); }) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    return std::string(tunedgemm_error_message());
  };
  CHECK_THAT(refused({.m = -8, .n = 8, .k = 8}, matrices.buffers()), ContainsSubstring("M is -8"));
  tunedgemm::Buffers on_a = matrices.buffers();
  on_a.d = const_cast<void*>(on_a.a);
  CHECK_THAT(refused({.m = 8, .n = 8, .k = 8}, on_a), ContainsSubstring("overlaps A"));
  tunedgemm::Buffers odd = matrices.buffers();
  odd.a = reinterpret_cast<const char*>(odd.a) + 1;
  CHECK_THAT(refused({.m = 8, .n = 8, .k = 8}, odd), ContainsSubstring("aligned to 1"));
}

TEST_CASE(
    "Memory that cannot be read is refused by the first launch, whatever was refused before") {
  const auto context = host_context("", TUNEDGEMM_POLICY_STORED);
  const Matrices matrices(4, 4, 4);
  const auto refused = [&](const tunedgemm::Buffers& buffers) {
    CHECK(status_of([&] { tunedgemm::tuned_matmul(context, {.m = 4, .n = 4, .k = 4}, buffers); }) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    return std::string(tunedgemm_error_message());
  };
  CHECK_THAT(refused({}), ContainsSubstring("null"));
  tunedgemm::Buffers unreadable = matrices.buffers();
  unreadable.a = reinterpret_cast<const void*>(std::uintptr_t{0x7ffffffff000});
  CHECK_THAT(refused(unreadable), ContainsSubstring("A at 0x7ffffffff000"));
}

TEST_CASE("A number outside its enumeration is refused, whatever was called before") {
  const auto context = host_context("", TUNEDGEMM_POLICY_COMPILE);
  Matrices matrices(8, 8, 8);
  const tunedgemm_buffers buffers = matrices.buffers();
  tunedgemm_problem problem = tunedgemm::Problem{.m = 8, .n = 8, .k = 8};
  const auto status = [&] { return tunedgemm_matmul(context.get(), &problem, &buffers, nullptr); };
  REQUIRE(status() == TUNEDGEMM_STATUS_OK);
  for (const std::int32_t number : {256, 0x10000, 0xff00, 127, -1}) {
    INFO(number);
    problem.activation = static_cast<tunedgemm_activation>(number);
    CHECK(status() == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(tunedgemm_error_message(),
               ContainsSubstring("activation of the problem is " + std::to_string(number) +
                                 "; use 0 (none), 1 (relu), "));
    problem.activation = TUNEDGEMM_ACTIVATION_NONE;
    problem.order_b = static_cast<tunedgemm_order>(number);
    CHECK(status() == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("use 0 (row) or 1 (col)"));
    problem.order_b = TUNEDGEMM_ORDER_ROW_MAJOR;
  }
  const std::int32_t low_half_of_default = 0xffff;
  problem.numerics = static_cast<tunedgemm_numerics>(low_half_of_default);
  CHECK(status() == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("A stream on the host is refused, before a tuning and after it") {
  auto context = host_context("", TUNEDGEMM_POLICY_TUNE);
  Matrices matrices(4, 4, 4);
  const tunedgemm_buffers buffers = matrices.buffers();
  const tunedgemm_problem problem = tunedgemm::Problem{.m = 4, .n = 4, .k = 4};
  int not_a_stream = 0;
  const auto refused = [&](tunedgemm_status status) {
    CHECK(status == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("the host has no streams"));
  };
  refused(tunedgemm_matmul(context.get(), &problem, &buffers, &not_a_stream));
  CHECK_THAT(context.report(), ContainsSubstring("plans      0:"));
  REQUIRE(tunedgemm_matmul(context.get(), &problem, &buffers, nullptr) == TUNEDGEMM_STATUS_OK);
  refused(tunedgemm_matmul(context.get(), &problem, &buffers, &not_a_stream));
  const tunedgemm_plan* plan = nullptr;
  REQUIRE(tunedgemm_plan_create(context.get(), &problem, &buffers, nullptr, &plan) ==
          TUNEDGEMM_STATUS_OK);
  refused(tunedgemm_run(plan, &buffers, &not_a_stream));
}

TEST_CASE("Structs of another size are extended or refused") {
  const auto context = host_context("", TUNEDGEMM_POLICY_COMPILE);
  Matrices matrices(4, 4, 4);
  tunedgemm_problem problem = tunedgemm::Problem{.m = 4, .n = 4, .k = 4};
  tunedgemm_buffers buffers = matrices.buffers();
  SECTION("an older caller's shorter struct") {
    problem.struct_size = offsetof(tunedgemm_problem, activation);
    buffers.struct_size = offsetof(tunedgemm_buffers, workspace);
    CHECK(tunedgemm_matmul(context.get(), &problem, &buffers, nullptr) == TUNEDGEMM_STATUS_OK);
    CHECK(matrices.is_right());
  }
  SECTION("a struct that was never initialised") {
    problem.struct_size = 0;
    CHECK(tunedgemm_matmul(context.get(), &problem, &buffers, nullptr) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("tunedgemm_problem_init"));
  }
  SECTION("a size that ends within a member") {
    for (std::size_t size = 1; size < sizeof problem + 16; ++size) {
      if (size % 8 != 0 || size > sizeof problem) {
        INFO(size);
        problem.struct_size = size;
        CHECK(tunedgemm_matmul(context.get(), &problem, &buffers, nullptr) ==
              TUNEDGEMM_STATUS_INVALID_ARGUMENT);
        CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("struct_size of the problem is"));
      }
    }
    problem.struct_size = sizeof problem;
    for (const std::size_t size : {offsetof(tunedgemm_buffers, d) + 4, sizeof buffers - 1}) {
      buffers.struct_size = size;
      CHECK(tunedgemm_matmul(context.get(), &problem, &buffers, nullptr) ==
            TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    }
  }
  SECTION("a newer caller's longer struct") {
    buffers.struct_size = sizeof buffers + 8;
    CHECK(tunedgemm_matmul(context.get(), &problem, &buffers, nullptr) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  }
  SECTION("null structs") {
    CHECK(tunedgemm_matmul(context.get(), nullptr, &buffers, nullptr) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK(tunedgemm_matmul(context.get(), &problem, nullptr, nullptr) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK(tunedgemm_plan_create(context.get(), &problem, &buffers, nullptr, nullptr) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK(tunedgemm_run(nullptr, &buffers, nullptr) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  }
}

TEST_CASE("Senseless options are refused") {
  const auto refused = [](const tunedgemm::ContextOptions& options) {
    CHECK(status_of([&] { tunedgemm::Context{options}; }) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    return std::string(tunedgemm_error_message());
  };
  CHECK_THAT(refused({.host_threads = -1}), ContainsSubstring("host_threads of the options is -1"));
  CHECK_THAT(refused({.ordinal = -2}), ContainsSubstring("ordinal of the options is -2"));
  CHECK_THAT(refused({.tune_candidates = -3}), ContainsSubstring("tune_candidates"));
  for (const double seconds : {-1.0, -0.0 / 0.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CHECK_THAT(refused({.tune_seconds = seconds}), ContainsSubstring("tune_seconds"));
  }
  CHECK_THAT(refused({.backend = static_cast<tunedgemm_backend>(3)}),
             ContainsSubstring("backend of the options is 3; use 0 (auto), 1 (host) or 2 (cuda)"));
  CHECK_THAT(
      refused({.policy = static_cast<tunedgemm_policy>(0x10001)}),
      ContainsSubstring(
          "use 0 (default), 1 (tune), 2 (tune_in_background), 3 (compile), 4 (stored) or 5"));
  CHECK_THAT(refused({.rigor = static_cast<tunedgemm_rigor>(4)}),
             ContainsSubstring("use 0 (default), 1 (quick), 2 (normal) or 3 (exhaustive)"));
  const EnvironmentVariable variable("TUNEDGEMM_POLICY", "sometimes");
  CHECK(status_of([] { tunedgemm::Context({.backend = TUNEDGEMM_BACKEND_HOST}); }) ==
        TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("\"sometimes\""));
}

TEST_CASE(
    "Memory that the CPU cannot read is refused before a launch, and the error names the remedy") {
  const NoAccess gpu_like;
  const auto wrong = static_cast<float*>(gpu_like.pages);
  auto context = host_context("", TUNEDGEMM_POLICY_TUNE);
  const tunedgemm::Problem problem{.m = 8, .n = 8, .k = 8};
  Matrices matrices(8, 8, 8);
  const auto refused = [&](const tunedgemm::Buffers& buffers) {
    CHECK(status_of([&] { tunedgemm::tuned_matmul(context, problem, buffers); }) ==
          TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    return std::string(tunedgemm_error_message());
  };
  tunedgemm::Buffers buffers = matrices.buffers();
  buffers.a = wrong;
  CHECK_THAT(refused(buffers), ContainsSubstring("A at 0x") &&
                                   ContainsSubstring("cannot be read by the CPU") &&
                                   ContainsSubstring("backend cuda"));
  CHECK_THAT(context.report(), ContainsSubstring("0 tuned and 0 kernels compiled here"));
  buffers = matrices.buffers();
  buffers.d = wrong;
  CHECK_THAT(refused(buffers), ContainsSubstring("D at 0x"));
  buffers = matrices.buffers();
  buffers.scale_a = wrong;
  CHECK_THAT(refused(buffers), ContainsSubstring("scale_a at 0x"));
  SECTION("unless it is not read") {
    tunedgemm::tuned_matmul(context, {.m = 8, .n = 8, .k = 0},
                            {.a = wrong, .b = wrong, .d = matrices.d.data()});
    tunedgemm::tuned_matmul(
        context, problem,
        {.a = wrong, .c = matrices.a.data(), .d = matrices.d.data(), .alpha = 0, .beta = 1});
  }
  SECTION("in the first launch of a plan created without pointers") {
    const tunedgemm::Plan plan = context.plan(problem, {});
    buffers = matrices.buffers();
    buffers.b = wrong;
    CHECK(status_of([&] { plan.run(buffers); }) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    plan.run(matrices.buffers());
    CHECK(matrices.is_right());
  }
}

TEST_CASE("Many threads can use one context") {
  const auto context = host_context("", TUNEDGEMM_POLICY_COMPILE);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int index = 0; index < 4; ++index) {
    threads.emplace_back([&, index] {
      for (int call = 0; call < 20; ++call) {
        const int m = 1 + (index + call) % 5;
        Matrices matrices(m, 9, 11);
        tunedgemm::tuned_matmul(context, {.m = m, .n = 9, .k = 11}, matrices.buffers());
        wrong += !matrices.is_right();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("Threads can run a plan while it switches to the winner tuned in the background") {
  const Cache cache;
  auto context = host_context(cache.path.c_str(), TUNEDGEMM_POLICY_TUNE_IN_BACKGROUND);
  const tunedgemm::Problem problem{.m = 37, .n = 53, .k = 29};
  const tunedgemm::Plan plan = context.plan(problem, Matrices(37, 53, 29).buffers());
  constexpr int kThreads = 3;
  std::atomic<int> wrong{0};
  std::barrier pause(kThreads);
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&] {
      Matrices matrices(37, 53, 29);
      // Bursts of calls, with pauses in which tuning can proceed.
      const bool ends = tunedgemm::internal::comes_true([&] {
        for (int run = 0; run < 20; ++run) {
          plan.run(matrices.buffers());
          wrong += !matrices.is_right();
          tunedgemm::tuned_matmul(context, problem, matrices.buffers());
          wrong += !matrices.is_right();
        }
        pause.arrive_and_wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return plan.description().find("(tuned, ") != std::string_view::npos;
      });
      pause.arrive_and_drop();
      wrong += !ends;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
  context.freeze();
}

TEST_CASE("A plan can have its own policy, and a const context makes it") {
  const Cache cache;
  const auto context = host_context(cache.path.c_str(), TUNEDGEMM_POLICY_STORED);
  const tunedgemm::Problem problem{.m = 37, .n = 53, .k = 29};
  Matrices matrices(37, 53, 29);
  const tunedgemm::Plan plan = context.plan(problem, matrices.buffers());
  CHECK_THAT(std::string(plan.description()), ContainsSubstring("linked in"));
  CHECK(status_of([&] {
          context.plan(problem, matrices.buffers(), {.policy = TUNEDGEMM_POLICY_FAIL});
        }) == TUNEDGEMM_STATUS_NOT_TUNED);
  context.plan(problem, matrices.buffers(), {.policy = TUNEDGEMM_POLICY_TUNE});
  CHECK_THAT(std::string(plan.description()), ContainsSubstring("(tuned, "));
  plan.run(matrices.buffers());
  CHECK(matrices.is_right());
  CHECK(status_of([&] {
          context.plan(problem, matrices.buffers(), {.policy = static_cast<tunedgemm_policy>(6)});
        }) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Back-to-back launches have their own plan, and unknown launch regimes are refused") {
  auto context = host_context("", TUNEDGEMM_POLICY_STORED);
  const Matrices matrices(5, 7, 9);
  const tunedgemm_problem problem = matrices.problem();
  const tunedgemm_buffers buffers = matrices.buffers();
  const auto status_with = [&](int launches, const tunedgemm_plan** plan) {
    tunedgemm_plan_options options;
    std::memcpy(&options.launch_regime, &launches, sizeof launches);
    return tunedgemm_plan_create(context.get(), &problem, &buffers, &options, plan);
  };
  const tunedgemm_plan *isolated = nullptr, *overlapping = nullptr, *none = nullptr;
  CHECK(status_with(TUNEDGEMM_LAUNCH_REGIME_ISOLATED, &isolated) == TUNEDGEMM_STATUS_OK);
  CHECK(status_with(TUNEDGEMM_LAUNCH_REGIME_BACK_TO_BACK, &overlapping) == TUNEDGEMM_STATUS_OK);
  CHECK(isolated != overlapping);
  CHECK(tunedgemm_run(overlapping, &buffers, nullptr) == TUNEDGEMM_STATUS_OK);
  CHECK(matrices.is_right());
  CHECK(status_with(2, &none) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("launch regime of the options is"));
}

TEST_CASE("A request counts launches without a winner and has the plan's name") {
  const Cache cache;
  const tunedgemm::Problem problem{.m = 5, .n = 7, .k = 9};
  {
    auto context = host_context(cache.path.c_str(), TUNEDGEMM_POLICY_STORED);
    context.plan({.m = 300, .n = 200, .k = 100}, Matrices(300, 200, 100).buffers());
    const tunedgemm::Plan plan =
        context.plan(problem, Matrices(5, 7, 9).buffers(), {.name = "attention"});
    std::vector<std::thread> threads;
    threads.reserve(2);
    for (int index = 0; index < 2; ++index) {
      threads.emplace_back([&] {
        const Matrices matrices(5, 7, 9);
        for (int run = 0; run < 50; ++run) {
          plan.run(matrices.buffers());
          tunedgemm::tuned_matmul(context, problem, matrices.buffers());
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    context.plan(problem, Matrices(5, 7, 9).buffers());
  }
  tunedgemm::internal::ContextOptions options;
  options.backend = &tunedgemm::internal::host_backend();
  options.device.host_threads = 2;
  options.store.path = cache.path;
  const auto reader = tunedgemm::internal::Context::create(options);
  const auto requests = reader->store().requests(reader->device().identity());
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].problem->m == 5);
  CHECK(requests[0].calls == 200);
  CHECK(requests[0].name == "attention");
  CHECK(requests[1].calls == 0);
  CHECK(requests[1].name.empty());
}

TEST_CASE("A plan runs with other buffers of the same alignment classes") {
  auto context = host_context("", TUNEDGEMM_POLICY_COMPILE);
  Matrices first(6, 6, 6);
  Matrices second(6, 6, 6);
  const tunedgemm::Plan plan = context.plan({.m = 6, .n = 6, .k = 6}, first.buffers());
  plan.run(second.buffers());
  CHECK(second.is_right());
  tunedgemm::Buffers with_c = second.buffers();
  with_c.c = first.a.data();
  with_c.beta = 1;
  CHECK(status_of([&] { plan.run(with_c); }) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Errors and reports are printable") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "\x1b[31m\xff" / "cache.db";
  tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST, .cache_path = path.c_str()});
  CHECK_THAT(context.report(), ContainsSubstring("\\u001b[31m\\xff"));
  const EnvironmentVariable variable("TUNEDGEMM_POLICY", "\x1b[31m");
  CHECK(status_of([] {
          tunedgemm::Context({.backend = TUNEDGEMM_BACKEND_HOST, .cache_path = ""});
        }) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(), ContainsSubstring("\\u001b[31m"));
}

// Tests the library in a child process after fork(), by the rules in tunedgemm.h.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernel_templates/base/log.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/sql.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.hpp"

namespace tunedgemm::internal {
namespace {

constexpr int kSize = 96;

struct Matrices {
  std::vector<float> a = std::vector<float>(kSize * kSize, 1);
  std::vector<float> b = std::vector<float>(kSize * kSize, 2);
  std::vector<float> d = std::vector<float>(kSize * kSize, std::nanf(""));
  Buffers buffers() { return {.a = a.data(), .b = b.data(), .d = d.data()}; }
  bool right() const { return d == std::vector<float>(kSize * kSize, 2 * kSize); }
};

// A context that compiles nothing, so that the linked-in kernel runs.
Context host_context(const std::string& cache, int threads = 2) {
  return Context({.backend = TUNEDGEMM_BACKEND_HOST,
                  .host_threads = threads,
                  .cache_path = cache.c_str(),
                  .policy = TUNEDGEMM_POLICY_STORED});
}

constexpr Problem kProblem{.m = kSize, .n = kSize, .k = kSize};

// The exit status of a child that runs `work`; -1 if a signal ended it, such as the alarm that ends
// a hung child.
int status_of(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    bool is_right = false;
    try {
      is_right = work();
    } catch (const std::exception&) {
      is_right = false;
    }
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Threads that use the library and its log until the destructor stops them.
class Busy {
 public:
  explicit Busy(const std::string& cache) : context_(host_context(cache)) {
    threads_.emplace_back([this] {
      Matrices own;
      while (!ends_) {
        tuned_matmul(context_, kProblem, own.buffers());
        all_right_ = all_right_ && own.right();
      }
    });
    threads_.emplace_back([this, cache] {
      while (!ends_) {
        const Context another = host_context(cache);  // opens the file, and reads and writes it
        Matrices own;
        tuned_matmul(another, kProblem, own.buffers());
      }
    });
    threads_.emplace_back([this] {
      while (!ends_) {
        log_info("busy");
      }
    });
  }
  ~Busy() {
    ends_ = true;
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  Context& context() { return context_; }
  bool all_right() const { return all_right_; }

 private:
  Context context_;
  std::atomic<bool> ends_{false}, all_right_{true};
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("A child creates and destroys contexts while the parent's threads are running") {
  if (!kCanForkBesideThreads) {
    TUNEDGEMM_SKIP(kWhyNoForkBesideThreads);
  }
  const TemporaryFolder folder;
  const std::string cache = folder.path() / "cache.db";
  Busy busy(cache);
  for (int child = 0; child < 8; ++child) {
    CHECK(status_of([&] {
            for (int round = 0; round < 8; ++round) {
              const Context own = host_context(cache);
              log_info("in the child");
              Matrices matrices;
              tuned_matmul(own, kProblem, matrices.buffers());
              if (!matrices.right()) {
                return false;
              }
            }
            return true;
          }) == 0);
  }
  CHECK(busy.all_right());
}

TEST_CASE("A context of the parent is refused in the child, and may be destroyed") {
  if (!kCanForkBesideThreads) {
    TUNEDGEMM_SKIP(kWhyNoForkBesideThreads);
  }
  const TemporaryFolder folder;
  const std::string cache = folder.path() / "cache.db";
  std::optional<Busy> busy(cache);
  Matrices matrices;
  Context& parents = busy->context();
  const Plan plan = parents.plan(kProblem, matrices.buffers());
  CHECK(status_of([&] {
          const std::function<void()> uses[] = {
              [&] { tuned_matmul(parents, kProblem, matrices.buffers()); },
              [&] { plan.run(matrices.buffers()); }, [&] { plan.info(); }};
          for (const auto& use : uses) {
            try {
              use();
              return false;
            } catch (const Error& error) {
              if (error.status() != TUNEDGEMM_STATUS_INVALID_ARGUMENT ||
                  std::string(error.what()).find("before fork()") == std::string::npos) {
                return false;
              }
            }
          }
          return true;
        }) == 0);
  std::optional<Context> idle(host_context(cache, 4));
  CHECK(status_of([&] {
          Context own =
              host_context(cache, 4);  // its threads may reuse the addresses of the parent's
          idle.reset();
          Matrices again;
          tuned_matmul(own, kProblem, again.buffers());
          return again.right();
        }) == 0);
  // The parent's context still works.
  tuned_matmul(*idle, kProblem, matrices.buffers());
  CHECK(matrices.right());
}

TEST_CASE("A process can exit with a context that it has not destroyed") {
  const TemporaryFolder folder;
  const std::string cache = folder.path() / "cache.db";
  CHECK(status_of([&] {
          // Static and volatile: a leak checker finds the pointer, whatever the compiler optimizes.
          static const Context* volatile leaked = nullptr;
          leaked = new Context({.backend = TUNEDGEMM_BACKEND_HOST,
                                .cache_path = cache.c_str(),
                                .policy = TUNEDGEMM_POLICY_TUNE_IN_BACKGROUND});
          Matrices matrices;
          tuned_matmul(*leaked, kProblem, matrices.buffers());
          std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it tunes
          std::exit(matrices.right() ? 0 : 1);
          return false;
        }) == 0);
  CHECK(sql_number(cache, "SELECT count(*) FROM lease") == 0);
}

TEST_CASE("A process that asks for it logs a summary of its calls when it exits") {
  const TemporaryFolder folder;
  const std::string cache = folder.path() / "cache.db", errors = folder.path() / "stderr";
  const auto exit_after = [&](const std::function<void()>& work) {
    return status_of([&] {
      dup2(open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
      work();
      std::exit(0);
      return false;
    });
  };
  const auto text = [&] {
    std::ostringstream read;
    read << std::ifstream(errors).rdbuf();
    return read.str();
  };
  Matrices matrices;
  const Problem other{.m = 1, .n = kSize, .k = 2};
  const auto work = [&] {
    {
      const Context context = host_context(cache);
      tuned_matmul(context, kProblem, matrices.buffers());
      const Plan plan = context.plan(kProblem, matrices.buffers());
      plan.run(matrices.buffers());
      tuned_matmul(context, other, matrices.buffers());
      tuned_matmul(context, {.m = 0, .n = 3, .k = 3}, matrices.buffers());
    }
    static const Context* volatile kept = nullptr;
    kept = new Context(host_context(""));
    tuned_matmul(*kept, kProblem, matrices.buffers());
    if (kCanForkBesideThreads) {
      exit_after([&] { tuned_matmul(host_context("", 1), other, matrices.buffers()); });
      exit_after([] {});
    }
  };
  REQUIRE(exit_after(work) == 0);
  CHECK(text() == "");
  setenv("TUNEDGEMM_LOG", "summary", 1);
  REQUIRE(exit_after([] { host_context(""); }) == 0);
  CHECK(text() == "");
  REQUIRE(exit_after(work) == 0);
  unsetenv("TUNEDGEMM_LOG");
  const std::string line =
      " [info] 5 calls, 3 problems: 1 nothing, 2 linked_in; `tune-all "
      "--from-requests` would tune 2\n";
  CHECK_THAT(text(), Catch::Matchers::EndsWith(line));
  const std::string childs = " [info] 1 call, 1 problem: 1 linked_in\n";
  const std::string all = text();
  CHECK((all.find(childs) != std::string::npos) == kCanForkBesideThreads);
  CHECK(std::count(all.begin(), all.end(), '\n') == (kCanForkBesideThreads ? 2 : 1));
}

TEST_CASE("A call without a context works in a child, and in its child") {
  if (!kCanForkBesideThreads) {
    TUNEDGEMM_SKIP(kWhyNoForkBesideThreads);
  }
  const TemporaryFolder folder;
  const auto multiply = [] {
    Matrices matrices;
    const tunedgemm_plan_options options{.policy = TUNEDGEMM_POLICY_STORED};
    const tunedgemm_plan* plan = nullptr;
    const Buffers buffers = matrices.buffers();
    return tunedgemm_plan_create(nullptr, &kProblem, &buffers, &options, &plan) ==
               TUNEDGEMM_STATUS_OK &&
           tunedgemm_run(plan, &buffers, nullptr) == TUNEDGEMM_STATUS_OK && matrices.right();
  };
  setenv("TUNEDGEMM_CACHE", (folder.path() / "cache.db").c_str(), 1);
  CHECK(multiply());
  CHECK(status_of([&] { return multiply() && multiply() && status_of(multiply) == 0; }) == 0);
  CHECK(multiply());
  unsetenv("TUNEDGEMM_CACHE");
}

}  // namespace tunedgemm::internal

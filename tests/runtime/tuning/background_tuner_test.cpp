// Tests, with a fake tuning, when the background thread starts and stops.

#include "runtime/tuning/background_tuner.h"

#include <unistd.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/device.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"

namespace tunedgemm::internal {
namespace {

using namespace std::chrono_literals;
using Outcome = BackgroundTuner::Outcome;

CanonicalProblem cube(std::int64_t size) {
  Problem problem;
  problem.m = problem.n = problem.k = size;
  return canonical(problem);
}

// Thread-safe.
class Tuned {
 public:
  void add(const CanonicalProblem& problem) {
    const std::scoped_lock lock(mutex_);
    sizes_.push_back(problem->m);
  }
  std::vector<std::int64_t> sizes() const {
    const std::scoped_lock lock(mutex_);
    return sizes_;
  }
  bool are(const std::vector<std::int64_t>& sizes) const { return this->sizes() == sizes; }

 private:
  mutable std::mutex mutex_;
  std::vector<std::int64_t> sizes_;
};

TEST_CASE("Problems are tuned once each, in the order of their misses") {
  Tuned tuned;
  BackgroundTuner tuner(
      [&](const CanonicalProblem& problem, const BackgroundTuner::MustEnd&) {
        tuned.add(problem);
        return Outcome::kDone;
      },
      1ms);
  tuner.add(cube(3));
  tuner.add(cube(5));
  tuner.add(cube(3));
  tuner.add(cube(4));
  CHECK(comes_true([&] { return tuned.are({3, 5, 4}); }));
  tuner.add(cube(5));
  tuner.add(cube(6));
  CHECK(comes_true([&] { return tuned.are({3, 5, 4, 6}); }));
}

TEST_CASE("Nothing is tuned while the context is in use") {
  Tuned tuned;
  BackgroundTuner tuner(
      [&](const CanonicalProblem& problem, const BackgroundTuner::MustEnd&) {
        tuned.add(problem);
        return Outcome::kDone;
      },
      500ms);
  tuner.add(cube(3));
  const auto end = std::chrono::steady_clock::now() + 1200ms;
  while (std::chrono::steady_clock::now() < end) {
    tuner.note_call();
    std::this_thread::sleep_for(1ms);
  }
  CHECK(tuned.are({}));
  CHECK(comes_true([&] { return tuned.are({3}); }));
}

TEST_CASE("A tuning pauses between candidates while the context is in use, then continues") {
  std::atomic<int> candidates{0};
  std::atomic<bool> is_called{false};
  std::atomic<bool> was_called{false};
  BackgroundTuner tuner(
      [&](const Problem&, const BackgroundTuner::MustEnd& must_end) {
        ++candidates;
        if (!comes_true([&] { return was_called.load(); }) || must_end()) {
          return Outcome::kDone;
        }
        candidates += is_called ? 100 : 1;
        return Outcome::kDone;
      },
      500ms);
  tuner.add(cube(3));
  REQUIRE(comes_true([&] { return candidates == 1; }));
  is_called = true;
  const auto end = std::chrono::steady_clock::now() + 1200ms;
  while (std::chrono::steady_clock::now() < end) {
    tuner.note_call();
    was_called = true;
    std::this_thread::sleep_for(1ms);
  }
  is_called = false;
  CHECK(comes_true([&] { return candidates > 1; }));
  CHECK(candidates == 2);
}

TEST_CASE("Stopping ends the running tuning, and later problems are not tuned") {
  Tuned tuned;
  std::atomic<bool> is_at_work{false};
  BackgroundTuner tuner(
      [&](const CanonicalProblem& problem, const BackgroundTuner::MustEnd& must_end) {
        is_at_work = true;
        while (!must_end()) {
          std::this_thread::sleep_for(1ms);
        }
        tuned.add(problem);
        return Outcome::kAgain;
      },
      1ms);
  tuner.add(cube(3));
  tuner.add(cube(4));
  REQUIRE(comes_true([&] { return is_at_work.load(); }));
  std::thread other([&] { tuner.stop(); });
  tuner.stop();
  other.join();
  CHECK(tuned.are({3}));
  tuner.add(cube(5));
  std::this_thread::sleep_for(50ms);
  CHECK(tuned.are({3}));
}

TEST_CASE("Stopping does not wait for the context to be idle") {
  const auto begin = std::chrono::steady_clock::now();
  {
    BackgroundTuner tuner(
        [](const Problem&, const BackgroundTuner::MustEnd&) { return Outcome::kDone; }, 1h);
    tuner.add(cube(3));
  }
  CHECK(std::chrono::steady_clock::now() - begin < 10min);
}

TEST_CASE("A caller that tunes at once interrupts the background tuning, which is repeated") {
  Tuned tuned;
  std::atomic<int> begun{0};
  BackgroundTuner tuner(
      [&](const CanonicalProblem& problem, const BackgroundTuner::MustEnd& must_end) {
        ++begun;
        while (!must_end()) {
          if (begun > 1) {
            tuned.add(problem);
            return Outcome::kDone;
          }
          std::this_thread::sleep_for(1ms);
        }
        return Outcome::kAgain;
      },
      1ms);
  tuner.add(cube(3));
  REQUIRE(comes_true([&] { return begun == 1; }));
  { const BackgroundTuner::Interruption interruption(tuner); }
  {
    const BackgroundTuner::Interruption interruption(tuner);
    std::this_thread::sleep_for(1500ms);
    CHECK(tuned.are({}));
  }
  CHECK(comes_true([&] { return tuned.are({3}); }));
}

TEST_CASE("A failed tuning does not affect the others; a lost device ends them") {
  Tuned tuned;
  BackgroundTuner tuner(
      [&](const CanonicalProblem& problem, const BackgroundTuner::MustEnd&) -> Outcome {
        tuned.add(problem);
        if (problem->m == 3) {
          throw std::runtime_error("this one is unlucky");
        }
        if (problem->m == 4) {
          throw DeviceError(DeviceError::Kind::kOutOfMemory, "no room");
        }
        if (problem->m == 5) {
          throw DeviceError(DeviceError::Kind::kLost, "lost");
        }
        return Outcome::kDone;
      },
      1ms);
  for (const int size : {2, 3, 4, 5, 6}) {
    tuner.add(cube(size));
  }
  CHECK(comes_true([&] { return tuned.sizes().size() == 4; }));
  tuner.add(cube(7));
  std::this_thread::sleep_for(50ms);
  CHECK(tuned.are({2, 3, 4, 5}));
}

TEST_CASE("Any number of threads may add, call and stop concurrently") {
  std::atomic<int> tuned{0};
  BackgroundTuner tuner(
      [&](const Problem&, const BackgroundTuner::MustEnd& must_end) {
        ++tuned;
        return must_end() ? Outcome::kAgain : Outcome::kDone;
      },
      1ms);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int index = 0; index < 4; ++index) {
    threads.emplace_back([&, index] {
      for (int size = 1; size < 40; ++size) {
        tuner.add(cube(size + index));
        tuner.note_call();
        if (size == 20) {
          const BackgroundTuner::Interruption interruption(tuner);
          std::this_thread::sleep_for(1ms);
        }
      }
      comes_true([&] { return tuned > 0; });
      tuner.stop();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(tuned > 0);
}

}  // namespace
}  // namespace tunedgemm::internal

#pragma once

// CandidateCompiler: binaries for candidates, from the store, compiled before by this process or
// compiled now, by several threads while the caller goes on.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/binary_cache.h"

namespace tunedgemm::internal {

/// Used by one thread. Device, store and `binaries` must outlive it. Destroying it waits for the compilations
/// that have begun and drops the others.
class CandidateCompiler {
 public:
  /// What it compiles is kept in `binaries`, and looked for there, unless null.
  CandidateCompiler(Device& device, Store& store, BinaryCache* binaries);
  ~CandidateCompiler();
  CandidateCompiler(const CandidateCompiler&) = delete;
  CandidateCompiler& operator=(const CandidateCompiler&) = delete;

  using Clock = std::chrono::steady_clock;
  /// When a compilation that has not ended is given up, where the compiler can be stopped. Without
  /// a call: never.
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  /// Starts on them in this order. Returns at once, or, where compiling disturbs timing, when all
  /// are done. Where there is no thread to be had, binary() does the work.
  void start(std::span<const Instance> candidates);

  /// Waits for the binary if it was started, else makes it now. Without a compiler DeviceError is
  /// thrown.
  std::variant<Binary, Rejection> binary(const Instance& candidate);

 private:
  using Made = std::variant<Binary, Rejection>;
  struct Job;

  Made make(const Source& source);
  void work();

  Device& device_;
  Store& store_;
  BinaryCache* binaries_;
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;  ///< by the source's fingerprint
  std::vector<std::thread> workers_;
};

}  // namespace tunedgemm::internal

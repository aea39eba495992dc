#pragma once

// CandidateCompiler: binaries for candidates, from the store, compiled before by this process or
// compiled now, by several threads while the caller goes on.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "cache/record.h"
#include "cache/store.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// Machine code of candidates that this process has compiled, the most recently used. The source of
/// a candidate does not name M, N and K, so problems of the same types and layouts try many of the
/// same binaries, and only those that win are stored. Any number of threads may use it.
class BinaryCache {
 public:
  /// Drops what was not used for longest once the machine code takes more than so many bytes.
  explicit BinaryCache(std::size_t most_bytes = std::size_t{64} << 20) : most_bytes_(most_bytes) {}

  /// By the fingerprint of its source: one cache serves one compiler and one architecture.
  std::optional<Binary> find(const std::string& source_fingerprint);
  /// Not kept if it is larger than everything the cache may hold.
  void keep(const std::string& source_fingerprint, const Binary& binary);

 private:
  struct Entry {
    std::string source_fingerprint;
    Binary binary;
  };

  std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  ///< the most recently used first
  std::map<std::string, std::list<Entry>::iterator> by_source_;
};

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

#pragma once

// CandidateCompiler: provides the binaries of candidates. It takes them from the store or from
// earlier compilations of this process, or compiles them on several threads while the caller
// continues.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "cache/record.h"
#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/binary_cache.h"

namespace tunedgemm::internal {

/// Compiles the candidates of one problem after another. Used by one thread. Device, store and
/// `binaries` must outlive this object. The destructor waits for compilations in progress, and
/// drops those that have not started.
class CandidateCompiler {
 public:
  /// Uses `binaries` as a cache, unless it is null.
  CandidateCompiler(Device& device, Store& store, BinaryCache* binaries);
  ~CandidateCompiler();
  CandidateCompiler(const CandidateCompiler&) = delete;
  CandidateCompiler& operator=(const CandidateCompiler&) = delete;

  using Clock = std::chrono::steady_clock;
  /// The time at which a compilation is aborted, if the compiler can be stopped. The default is
  /// never.
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  /// Starts compiling the candidates in this order. Returns immediately, unless compiling disturbs
  /// timing; then returns when all are compiled. If no thread can be started, binary() compiles.
  void start(std::span<const Instance> candidates);
  /// Starts compiling candidates of the next problem when no candidate of this problem waits. Does
  /// nothing if compiling disturbs timing.
  void start_next(std::span<const Instance> candidates);
  /// Drops this problem's compilations that have not begun. The next problem uses the binaries of
  /// start_next().
  void end_problem();

  /// Whether binary() of a candidate of start() would not wait.
  bool is_compiled(const Instance& candidate);
  /// Drops the compilation of a candidate of start(), if no other candidate has the same source and
  /// it has not begun, or has failed for a reason that may have passed: binary() then compiles
  /// again.
  void forget(const Instance& candidate);

  /// Waits for the binary if its compilation was started, else obtains it now. Throws DeviceError
  /// if there is no compiler.
  std::variant<Binary, Rejection> binary(const Instance& candidate);

 private:
  using Made = std::variant<Binary, Rejection>;
  struct Job;

  using Queue = std::deque<std::shared_ptr<Job>>;

  Made make(const Source& source, Clock::time_point deadline);
  std::shared_ptr<Job> find(const Instance& candidate);
  bool add_workers(std::size_t candidates);
  std::pair<std::shared_ptr<Job>, bool> job_of(const Instance& candidate);
  void drop_unclaimed();
  static bool is_unavailable(const Job& job);
  void drop_unavailable(const Job& job, const Made& made);
  void work();

  Device& device_;
  Store& store_;
  BinaryCache* binaries_;
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool has_started_ = false;  ///< this problem's first candidates
  Queue waiting_, waiting_next_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;                ///< by the source's fingerprint
  std::map<std::string, std::shared_ptr<Job>> jobs_of_candidates_;  ///< by the candidate's text
  std::vector<std::thread> workers_;
};

}  // namespace tunedgemm::internal

#pragma once

// ThreadTeam: the threads of the host device. They live as long as the team, and spin briefly for
// the next launch before they sleep. The calling thread always has rank 0, so a team of one needs
// no other thread.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/host/common/team.h"

namespace tunedgemm::internal {

/// The scratch memory of a thread, from mmap(). It grows and never shrinks. Pages are allocated
/// when they are first touched, so a large reservation costs little. Used by one thread at a time.
class ScratchMemory {
 public:
  ScratchMemory() = default;
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;

  /// Provides at least `bytes` bytes with unspecified contents. False, and no change, if there is
  /// no memory.
  bool reserve(std::int64_t bytes) noexcept;

  /// Page-aligned; null before the first reserve() of more than 0 bytes.
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// The function that every thread of a team calls, and its first argument.
struct TeamWork {
  void (*call)(const void* kernel, const Arguments& arguments, const Team& team) = nullptr;
  const void* kernel = nullptr;
};

/// Thread-safe: concurrent calls of run() are serialized.
class ThreadTeam {
 public:
  /// A team of `threads` threads including the caller, or as many as the system provides. Reserves
  /// the caller's scratch of `scratch_bytes` before the other threads allocate their stacks.
  [[nodiscard]] explicit ThreadTeam(int threads, std::int64_t scratch_bytes = 0);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(members_.size()); }

  /// Provides at least `scratch_bytes` of scratch for every thread. False if there is no memory.
  bool reserve(std::int64_t scratch_bytes) noexcept;

  /// Runs the work on `threads` threads and returns when all have finished. Uses fewer threads if
  /// size() is smaller, or if not all threads get scratch. Returns 0, or ENOMEM if no thread gets
  /// scratch.
  int run(const TeamWork& work, const Arguments& arguments, int threads,
          std::int64_t scratch_bytes) noexcept;

 private:
  struct alignas(64) Member {
    std::atomic<std::uint32_t> launches{0};  // incremented to wake the thread
    ScratchMemory scratch;
    std::thread thread;
  };

  void serve(Member& member, int rank);
  void call(int rank) noexcept;
  /// Reserves scratch for the threads in the order of their ranks. Returns how many have it.
  int equip(std::int64_t scratch_bytes) noexcept;
  static void wait_at_barrier(void* team) noexcept;

  std::mutex run_mutex_;
  std::vector<std::unique_ptr<Member>> members_;

  // The launch in progress, written by the calling thread before it wakes the others.
  const TeamWork* work_ = nullptr;
  const Arguments* arguments_ = nullptr;
  int threads_ = 1;
  bool ends_ = false;

  alignas(64) std::atomic<std::int32_t> running_{0};
  alignas(64) std::atomic<std::int32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> barriers_{0};
};

}  // namespace tunedgemm::internal

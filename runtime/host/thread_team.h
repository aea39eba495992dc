#pragma once

// ThreadTeam: the threads of the host device. They live as long as the team, wait a moment for the
// next launch in a loop, then sleep; the calling thread is always one of them (rank 0), so that a
// team of one costs nothing.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/host/common/team.h"

namespace tunedgemm::internal {

/// Memory from the kernel itself, page by page: the scratch of a thread.
/// A block that grows and never shrinks. Its pages become real when they are first touched, so
/// asking for much costs little. Used by one thread at a time.
class ScratchMemory {
 public:
  ScratchMemory() = default;
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;

  /// At least so many bytes, whose contents are then arbitrary. False, with everything as before,
  /// if there is no memory.
  bool reserve(std::int64_t bytes) noexcept;

  /// Page-aligned; null before the first reserve of more than 0 bytes.
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// What every thread of a team calls. `kernel` is whatever `call` makes of it.
struct TeamWork {
  void (*call)(const void* kernel, const Arguments& arguments, const Team& team) = nullptr;
  const void* kernel = nullptr;
};

/// Any number of threads may call run: launches take turns.
class ThreadTeam {
 public:
  /// Of so many threads, or as many of them as the system has to give.
  /// The first one has so much scratch from the start, before the others take memory for their
  /// stacks.
  [[nodiscard]] explicit ThreadTeam(int threads, std::int64_t scratch_bytes = 0);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(members_.size()); }

  /// Gives every thread at least so many bytes of scratch. False if the memory is not there.
  bool reserve(std::int64_t scratch_bytes) noexcept;

  /// Runs the work on so many threads, at most size() and those for which there is scratch, and
  /// returns when all are done. 0, or ENOMEM where there is scratch for none.
  int run(const TeamWork& work, const Arguments& arguments, int threads,
          std::int64_t scratch_bytes) noexcept;

 private:
  struct alignas(64) Member {
    std::atomic<std::uint32_t> launches{0};  // rises by one to wake the thread
    ScratchMemory scratch;
    std::thread thread;
  };

  void serve(Member& member, int rank);
  void call(int rank) noexcept;
  /// How many of the first threads have so much scratch.
  int equip(std::int64_t scratch_bytes) noexcept;
  static void wait_at_barrier(void* team) noexcept;

  std::mutex turn_;
  std::vector<std::unique_ptr<Member>> members_;

  // The launch in progress: written by the caller before it wakes the others.
  const TeamWork* work_ = nullptr;
  const Arguments* arguments_ = nullptr;
  int threads_ = 1;
  bool ends_ = false;

  alignas(64) std::atomic<std::int32_t> running_{0};
  alignas(64) std::atomic<std::int32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> barriers_{0};
};

}  // namespace tunedgemm::internal

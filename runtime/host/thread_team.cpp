#include "runtime/host/thread_team.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/start_thread.h"

namespace tunedgemm::internal {
namespace {

// Some 30 microseconds. This is longer than the gaps between the calls of a busy program, and too
// short to matter in an idle program.
constexpr int kSpins = 1000;

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until the value differs from `old`.
template <class Value>
void wait_while(const std::atomic<Value>& value, Value old) noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) {
      return;
    }
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

// The calling thread's rounding and treatment of subnormal numbers, as bits of a control register.
#if defined(__x86_64__)
constexpr std::uint64_t kDefaultArithmetic = 0x1f80;  // MXCSR with all exceptions masked

std::uint64_t arithmetic() noexcept {
  constexpr std::uint64_t kExceptionFlags = 0x3f;  // the exceptions since they were last cleared
  return __builtin_ia32_stmxcsr() & ~kExceptionFlags;
}

void set_arithmetic(std::uint64_t bits) noexcept {
  __builtin_ia32_ldmxcsr(static_cast<unsigned>(bits));
}
#elif defined(__aarch64__)
constexpr std::uint64_t kDefaultArithmetic = 0;

std::uint64_t arithmetic() noexcept {
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
}

void set_arithmetic(std::uint64_t bits) noexcept {
  asm volatile("msr fpcr, %0" ::"r"(bits));
}
#else
constexpr std::uint64_t kDefaultArithmetic = 0;
std::uint64_t arithmetic() noexcept {
  return kDefaultArithmetic;
}
void set_arithmetic(std::uint64_t /*bits*/) noexcept {}
#endif

// While it lives, arithmetic rounds to nearest and keeps subnormal numbers, whatever the program
// has set for its thread. Threads inherit such settings from the thread that starts them.
class DefaultArithmetic {
 public:
  [[nodiscard]] DefaultArithmetic() noexcept {
    if (saved_ != kDefaultArithmetic) {
      set_arithmetic(kDefaultArithmetic);
    }
  }
  ~DefaultArithmetic() {
    if (saved_ != kDefaultArithmetic) {
      set_arithmetic(saved_);
    }
  }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

 private:
  std::uint64_t saved_ = arithmetic();
};

constexpr std::int64_t kHugePage = 2 << 20;

void* map(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

ScratchMemory::~ScratchMemory() {
  if (data_ != nullptr) {
    munmap(data_, static_cast<std::size_t>(bytes_));
  }
}

bool ScratchMemory::reserve(std::int64_t bytes) noexcept {
  if (bytes <= bytes_) {
    return true;
  }
  // Doubling the size avoids a new mapping for each of many growing requests.
  const std::int64_t rounded =
      (std::max(bytes, 2 * bytes_) + kHugePage - 1) / kHugePage * kHugePage;
  std::int64_t size = rounded;
  void* larger = map(static_cast<std::size_t>(size));
  if (larger == nullptr) {
    size = bytes;
    larger = map(static_cast<std::size_t>(size));
  }
  if (larger == nullptr) {
    return false;
  }
  // Packed blocks are read sequentially, so large pages save address translations. A failure does
  // not matter, because madvise only gives advice.
  madvise(larger, static_cast<std::size_t>(size), MADV_HUGEPAGE);
  if (data_ != nullptr) {
    munmap(data_, static_cast<std::size_t>(bytes_));
  }
  data_ = larger;
  bytes_ = size;
  return true;
}

ThreadTeam::ThreadTeam(int threads, std::int64_t scratch_bytes) {
  const auto wanted = static_cast<std::size_t>(std::max(threads, 1));
  members_.reserve(wanted);
  while (members_.size() < wanted) {
    members_.push_back(std::make_unique<Member>());
  }
  members_.front()->scratch.reserve(scratch_bytes);
  // Nothing may throw from here on, because the destructor, which ends the threads, would not run.
  for (std::size_t rank = 1; rank < wanted; ++rank) {
    Member& member = *members_[rank];
    auto started = start_thread([this, &member, rank] { serve(member, static_cast<int>(rank)); });
    if (!started) {
      members_.resize(rank);
      return;
    }
    member.thread = std::move(*started);
  }
}

ThreadTeam::~ThreadTeam() {
  ends_ = true;
  for (const auto& member : members_) {
    if (!member->thread.joinable()) {
      continue;
    }
    member->launches.fetch_add(1, std::memory_order_release);
    member->launches.notify_one();
    member->thread.join();
  }
}

void ThreadTeam::serve(Member& member, int rank) {
  std::uint32_t seen = 0;
  while (true) {
    wait_while(member.launches, seen);
    ++seen;
    if (ends_) {
      return;
    }
    call(rank);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      running_.notify_one();
    }
  }
}

void ThreadTeam::call(int rank) noexcept {
  const Team team{rank, threads_, &ThreadTeam::wait_at_barrier, this,
                  members_[static_cast<std::size_t>(rank)]->scratch.data()};
  const DefaultArithmetic arithmetic;
  work_->call(work_->kernel, *arguments_, team);
}

void ThreadTeam::wait_at_barrier(void* team) noexcept {
  auto& self = *static_cast<ThreadTeam*>(team);
  const std::uint32_t phase = self.barriers_.load(std::memory_order_acquire);
  if (self.arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == self.threads_) {
    self.arrived_.store(0, std::memory_order_relaxed);
    self.barriers_.fetch_add(1, std::memory_order_release);
    self.barriers_.notify_all();
    return;
  }
  wait_while(self.barriers_, phase);
}

bool ThreadTeam::reserve(std::int64_t scratch_bytes) noexcept {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  return equip(scratch_bytes) == size();
}

int ThreadTeam::equip(std::int64_t scratch_bytes) noexcept {
  const auto lacking = std::find_if_not(
      members_.begin(), members_.end(),
      [scratch_bytes](const auto& member) { return member->scratch.reserve(scratch_bytes); });
  return static_cast<int>(lacking - members_.begin());
}

int ThreadTeam::run(const TeamWork& work, const Arguments& arguments, int threads,
                    std::int64_t scratch_bytes) noexcept {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  const int equipped = equip(scratch_bytes);
  if (equipped == 0) {
    return ENOMEM;
  }
  work_ = &work;
  arguments_ = &arguments;
  threads_ = std::clamp(threads, 1, equipped);
  running_.store(threads_ - 1, std::memory_order_relaxed);
  for (int rank = 1; rank < threads_; ++rank) {
    std::atomic<std::uint32_t>& launches = members_[static_cast<std::size_t>(rank)]->launches;
    launches.fetch_add(1, std::memory_order_release);
    launches.notify_one();
  }
  call(0);
  for (std::int32_t left = running_.load(std::memory_order_acquire); left != 0;
       left = running_.load(std::memory_order_acquire)) {
    wait_while(running_, left);
  }
  return 0;
}

}  // namespace tunedgemm::internal

// Runs a CUDA kernel on the host: a fiber for each thread, on one thread of the host. A fiber runs
// until it must wait for others, so a kernel that leaves out a barrier reads what has not been
// written. The order of the fibers is random, and so is the time of asynchronous copies.
//
// The files in ptx/ take the place of those in kernel_templates/cuda/ptx, and cuda.h has what CUDA
// itself declares. They are compiled with the kernel; host code includes only launch.h.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "launch.h"

namespace emulation {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// Fibers that meet: at a barrier, or to execute an instruction together.
struct Meeting {
  unsigned arrived = 0, number = 0;  ///< number: of the meetings that have ended
  std::vector<void*> operands;       ///< by the rank of the fiber
};

/// A barrier in shared memory (mbarrier).
struct TransactionBarrier {
  int initial = 0, pending = 0;
  long long bytes = 0;
  unsigned phases = 0;  ///< that have completed
};

using Copies = std::vector<std::function<void()>>;

struct Cta {
  Index index;
  unsigned rank = 0;  ///< in the cluster
  unsigned live = 0;  ///< threads that have not returned
  std::vector<Meeting> warps, warpgroups, barriers = std::vector<Meeting>(16);
  std::map<unsigned, TransactionBarrier> transactions;  ///< by offset in shared memory
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Index index;
  Cta* cta = nullptr;
  bool has_returned = false;
  std::function<bool()> is_ready;            ///< empty: yes
  Copies started, stores, started_products;  ///< since the last group
  std::deque<Copies> groups, store_groups, product_groups;
};

constexpr unsigned kStackBytes = 256 << 10, kSharedBytes = 256 << 10, kRankShift = 24;

/// The cluster that a thread of the host executes.
struct Machine {
  ucontext_t scheduler;
  std::vector<Fiber> fibers;
  std::vector<Cta> ctas;
  std::vector<Copies::value_type> in_flight;                                ///< TMA
  std::unique_ptr<char, decltype(&std::free)> shared{nullptr, &std::free};  ///< of all CTAs
  unsigned shared_bytes = 0;                                                ///< of a CTA
  Meeting cluster_barrier;
  Fiber* current = nullptr;
  std::function<void()> body;  ///< of all fibers
  std::mt19937 random;
  std::string error;
};
inline thread_local Machine* machine = nullptr;

}  // namespace emulation

inline thread_local emulation::Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

inline Fiber& self() {
  return *machine->current;
}

inline void switch_to_scheduler() {
  swapcontext(&self().context, &machine->scheduler);
}

/// Returns when the condition holds. Others run meanwhile, even if it already does.
inline void wait_until(std::function<bool()> condition) {
  self().is_ready = std::move(condition);
  switch_to_scheduler();
  self().is_ready = nullptr;
}

/// Ends the kernel with this error. Does not return.
[[noreturn]] inline void fail(const std::string& error) {
  if (machine->error.empty()) {
    machine->error = error + " (CTA " + std::to_string(self().cta->index.x) + ", thread " +
                     std::to_string(self().index.x) + ")";
  }
  while (true) {
    switch_to_scheduler();
  }
}

/// Waits until `count` fibers have called this for the same meeting. The last one calls
/// compute(operands) with what all have passed, by their ranks.
template <class Operands, class Compute>
void meet(Meeting& meeting, unsigned rank, unsigned count, Operands& own, const Compute& compute) {
  meeting.operands.resize(count);
  meeting.operands[rank] = &own;
  if (++meeting.arrived == count) {
    compute(reinterpret_cast<Operands**>(meeting.operands.data()));
    meeting.arrived = 0;
    ++meeting.number;
    return;
  }
  const unsigned number = meeting.number;
  wait_until([&meeting, number] { return meeting.number != number; });
}

inline unsigned lane() {
  return threadIdx.x % 32;
}
/// All lanes of a warp execute an instruction together.
template <class Operands, class Compute>
void as_warp(Operands& own, const Compute& compute) {
  meet(self().cta->warps[threadIdx.x / 32], lane(), 32, own, compute);
}

inline void end_if_all_have_arrived(Meeting& barrier, unsigned threads) {
  if (barrier.arrived > 0 && barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.number;
  }
}
inline void arrive_at(Meeting& barrier, unsigned threads) {
  ++barrier.arrived;
  end_if_all_have_arrived(barrier, threads);
}
inline void wait_at(Meeting& barrier, unsigned threads) {
  const unsigned number = barrier.number;
  arrive_at(barrier, threads);
  wait_until([&barrier, number] { return barrier.number != number; });
}

/// Addresses in shared memory: the CTA's rank in the upper bits, and an offset.
inline char* pointer_to(unsigned address, unsigned bytes) {
  const unsigned rank = address >> kRankShift, offset = address & ((1u << kRankShift) - 1);
  if (rank >= machine->ctas.size() || offset + bytes > machine->shared_bytes) {
    fail("shared memory has " + std::to_string(machine->shared_bytes) + " bytes, not " +
         std::to_string(offset + bytes));
  }
  if (bytes != 0 && offset % (bytes & -bytes) != 0 && bytes <= 16) {
    fail("the address " + std::to_string(offset) + " in shared memory is not aligned to " +
         std::to_string(bytes) + " bytes");
  }
  return machine->shared.get() + static_cast<std::size_t>(rank) * kSharedBytes + offset;
}
inline unsigned address_of(const void* pointer) {
  const auto offset =
      static_cast<unsigned>(static_cast<const char*>(pointer) - machine->shared.get());
  return offset / kSharedBytes << kRankShift | offset % kSharedBytes;
}
inline char* dynamic_shared_memory() {
  return machine->shared.get() + static_cast<std::size_t>(self().cta->rank) * kSharedBytes;
}

inline TransactionBarrier& barrier_at(unsigned address) {
  return machine->ctas[address >> kRankShift].transactions[address & ((1u << kRankShift) - 1)];
}
inline void complete_phase_if_due(TransactionBarrier& barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    ++barrier.phases;
    barrier.pending = barrier.initial;
  }
}

inline void execute(Copies& copies) {
  for (const auto& copy : copies) {
    copy();
  }
  copies.clear();
}
/// Executes all but the latest `pending` groups.
inline void execute_groups(std::deque<Copies>& groups, int pending) {
  while (static_cast<int>(groups.size()) > pending) {
    execute(groups.front());
    groups.pop_front();
  }
}

inline void run_fiber() {
  machine->body();
  Fiber& fiber = self();
  if (!fiber.store_groups.empty() || !fiber.stores.empty()) {
    fail("a thread returns before TMA has read what it stores");
  }
  fiber.has_returned = true;
  --fiber.cta->live;
  end_if_all_have_arrived(fiber.cta->barriers[0], fiber.cta->live);
  while (true) {
    switch_to_scheduler();
  }
}

inline void prepare_cluster(Machine& machine, const LaunchConfig& config, unsigned first_cta) {
  const unsigned threads = config.block[0];
  std::memset(machine.shared.get(), 0xff, std::size_t{config.cluster} * kSharedBytes);
  machine.shared_bytes = config.shared_bytes;
  machine.cluster_barrier = {};
  machine.ctas.assign(config.cluster, Cta());
  for (unsigned rank = 0; rank < config.cluster; ++rank) {
    Cta& cta = machine.ctas[rank];
    cta.index.x = first_cta + rank;
    cta.rank = rank;
    cta.live = threads;
    cta.warps.resize(threads / 32);
    cta.warpgroups.resize(threads / 128 + 1);
    for (unsigned thread = 0; thread < threads; ++thread) {
      Fiber& fiber = machine.fibers[rank * threads + thread];
      fiber.index.x = thread;
      fiber.cta = &cta;
      fiber.has_returned = false;
      fiber.is_ready = nullptr;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, run_fiber, 0);
    }
  }
}

inline bool run_fibers_once(Machine& machine) {
  const auto count = static_cast<unsigned>(machine.fibers.size());
  const unsigned first = machine.random() % count;
  bool has_run = false;
  for (unsigned i = 0; i < count && machine.error.empty(); ++i) {
    Fiber& fiber = machine.fibers[(first + i) % count];
    if (fiber.has_returned || (fiber.is_ready && !fiber.is_ready())) {
      continue;
    }
    has_run = true;
    machine.current = &fiber;
    threadIdx = fiber.index;
    blockIdx = fiber.cta->index;
    swapcontext(&machine.scheduler, &fiber.context);
  }
  return has_run;
}

inline bool has_ended(const Machine& machine) {
  for (const Cta& cta : machine.ctas) {
    if (cta.live > 0) {
      return false;
    }
  }
  return true;
}

inline void run_cluster(Machine& machine) {
  while (machine.error.empty() && !has_ended(machine)) {
    bool has_run = run_fibers_once(machine);
    if (!machine.in_flight.empty() && (!has_run || machine.random() % 4 == 0)) {
      const std::size_t index = machine.random() % machine.in_flight.size();
      const auto copy = std::move(machine.in_flight[index]);
      machine.in_flight.erase(machine.in_flight.begin() + static_cast<long>(index));
      copy();
      has_run = true;
    }
    if (!has_run) {
      machine.error = "the threads of CTA " + std::to_string(machine.ctas[0].index.x) +
                      " wait for one another forever";
    }
  }
  if (machine.error.empty() && !machine.in_flight.empty()) {
    machine.error = "a CTA returns before its copies have arrived";
  }
}

/// Runs a kernel, given the addresses of its parameters. Returns the error; empty: none.
template <class... Parameters, std::size_t... kIndices>
std::string launch(void (*kernel)(Parameters...), const LaunchConfig& config,
                   const void* const* parameters, std::index_sequence<kIndices...>) {
  Machine own;
  machine = &own;
  own.random.seed(config.seed);
  own.shared.reset(
      static_cast<char*>(std::aligned_alloc(1024, std::size_t{config.cluster} * kSharedBytes)));
  own.fibers.resize(std::size_t{config.cluster} * config.block[0]);
  for (Fiber& fiber : own.fibers) {
    fiber.stack.reset(new char[kStackBytes]);
  }
  gridDim = {config.grid[0], config.grid[1], config.grid[2]};
  blockDim = {config.block[0], config.block[1], config.block[2]};
  own.body = [&] {
    kernel(*static_cast<const std::remove_cv_t<std::remove_reference_t<Parameters>>*>(
        parameters[kIndices])...);
  };
  std::vector<unsigned> firsts;
  for (unsigned cta = 0; cta < config.grid[0]; cta += config.cluster) {
    firsts.push_back(cta);
  }
  std::shuffle(firsts.begin(), firsts.end(), own.random);
  for (const unsigned first : firsts) {
    prepare_cluster(own, config, first);
    run_cluster(own);
    if (!own.error.empty()) {
      break;
    }
  }
  machine = nullptr;
  return own.error;
}

}  // namespace emulation

#pragma once

using Barrier = unsigned long long;
constexpr int kBarrierBytes = sizeof(Barrier);

inline void init_barrier(unsigned barrier, int arrivals) {
  emulation::pointer_to(barrier, kBarrierBytes);
  emulation::barrier_at(barrier) = {arrivals, arrivals, 0, 0};
}
inline void fence_barrier_init() {}

inline unsigned address_in_cta(unsigned address, int rank) {
  constexpr unsigned kOffset = (1u << emulation::kRankShift) - 1;
  return static_cast<unsigned>(rank) << emulation::kRankShift | (address & kOffset);
}
inline void arrive_remote(unsigned barrier) {
  emulation::TransactionBarrier& own = emulation::barrier_at(barrier);
  if (own.pending == 0) {
    emulation::fail("too many arrivals on a barrier");
  }
  --own.pending;
  emulation::complete_phase_if_due(own);
}
inline void arrive(unsigned barrier) {
  arrive_remote(barrier);
}
inline void arrive_expect_tx(unsigned barrier, int bytes) {
  emulation::barrier_at(barrier).bytes += bytes;
  arrive_remote(barrier);
}
inline void complete_tx(unsigned barrier, long long bytes) {
  emulation::TransactionBarrier& own = emulation::barrier_at(barrier);
  own.bytes -= bytes;
  emulation::complete_phase_if_due(own);
}
inline void arrive_after_copies(unsigned barrier) {
  emulation::Fiber& fiber = emulation::self();
  emulation::execute_groups(fiber.groups, 0);
  emulation::execute(fiber.started);
  arrive_remote(barrier);
}
inline void store_remote(unsigned remote, int value, unsigned barrier) {
  char* const to = emulation::pointer_to(remote, sizeof(value));
  emulation::machine->in_flight.push_back([=] {
    std::memcpy(to, &value, sizeof(value));
    complete_tx(barrier, sizeof(value));
  });
}

inline void wait(unsigned barrier, unsigned parity) {
  emulation::TransactionBarrier& own = emulation::barrier_at(barrier);
  if (own.phases % 2 == parity) {
    emulation::wait_until([&own, parity] { return own.phases % 2 != parity; });
  }
}

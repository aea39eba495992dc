// Barriers in shared memory for threads, asynchronous copies and the CTAs of a cluster (sm_90 and
// later).
//
// A barrier counts down what it waits for: arrivals, and bytes that copies bring (transactions).
// When nothing is left its phase completes, the count of arrivals starts anew, and the parity of
// the phase (0, 1, 0, ...) tells one phase from the next. wait(barrier, parity) returns once the
// phase of that parity has completed; so on a new barrier, the phase before the first, of parity 1,
// has completed already.
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". Barriers are given
// by their addresses in shared memory.
#pragma once

using Barrier = unsigned long long;
constexpr int kBarrierBytes = sizeof(Barrier);

// mbarrier.init: by one thread; then fence_barrier_init(), then a barrier of all threads.
__device__ __forceinline__ void init_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// mapa: the address at which another CTA of the cluster has what lies at `address` here.
__device__ __forceinline__ unsigned address_in_cta(unsigned address, int rank) {
  unsigned remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}
// mbarrier.arrive, in this CTA, or in any of the cluster.
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_remote(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// mbarrier.arrive.expect_tx: the phase does not complete before copies have brought so many bytes.
__device__ __forceinline__ void arrive_expect_tx(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// st.async ("Data Movement and Conversion Instructions"): a 32-bit value to an address of any CTA
// of the cluster; a barrier of the same CTA may wait for its 4 bytes.
__device__ __forceinline__ void store_remote(unsigned remote, int value, unsigned barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
          remote),
      "r"(value), "r"(barrier)
      : "memory");
}

// mbarrier.try_wait: sleeps for a while, and may return before the phase has completed.
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@ended bra.uni done;\n"
      "bra.uni again;\n"
      "done:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Barriers in shared memory for threads, asynchronous copies and the CTAs of a cluster (sm_90 and
// later).
//
// A barrier counts pending arrivals and the bytes of pending copies (transactions). When both
// counts reach zero, its phase completes, and the next phase begins with the initial count of
// arrivals. The parities of consecutive phases are 0, 1, 0, ... wait(barrier, parity) returns when
// the phase of that parity has completed. On a new barrier, wait(barrier, 1) returns at once.
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". A `barrier`
// argument is an address in shared memory.
#pragma once

using Barrier = unsigned long long;
constexpr int kBarrierBytes = sizeof(Barrier);

// mbarrier.init: one thread calls this, then fence_barrier_init(). A barrier of all threads must
// follow.
__device__ __forceinline__ void init_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// mapa: maps an address of this CTA to the same address in another CTA of the cluster.
__device__ __forceinline__ unsigned address_in_cta(unsigned address, int rank) {
  unsigned remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}
// mbarrier.arrive: arrive() in this CTA, arrive_remote() in any CTA of the cluster.
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_remote(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// mbarrier.arrive.expect_tx: arrives, and makes the phase wait until copies have written this many
// bytes.
__device__ __forceinline__ void arrive_expect_tx(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// cp.async.mbarrier.arrive: arrives when the copies that this thread has started with cp.async have
// been written.
__device__ __forceinline__ void arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// st.async ("Data Movement and Conversion Instructions"): stores a 32-bit value to any CTA of the
// cluster. The store counts as a copy of 4 bytes on `barrier`, a barrier of that CTA.
__device__ __forceinline__ void store_remote(unsigned remote, int value, unsigned barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
          remote),
      "r"(value), "r"(barrier)
      : "memory");
}

// mbarrier.try_wait suspends the thread, and may return before the phase has completed. It is
// therefore repeated.
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

// Barriers in shared memory on which threads, copies and blocks of a cluster meet (sm_90 and
// later).
//
// A barrier counts down what it waits for: arrivals, and bytes that copies bring. When nothing is
// left its phase ends, the count of arrivals starts anew, and the parity of the phase (0, 1, 0,
// ...) tells one phase from the next. wait(barrier, parity) returns once the phase of that parity
// has ended; so on a new barrier, the phase before the first, of parity 1, has ended already.
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". Barriers are given
// by their addresses in shared memory, 8 bytes each.
#pragma once

constexpr int kBarrierBytes = 8;

// mbarrier.init: by one thread; then publish_barriers(), then a barrier of all threads.
__device__ __forceinline__ void begin_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// mapa: where another block of the cluster has what lies at `address` here.
__device__ __forceinline__ unsigned address_in_block(unsigned address, int rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
// mbarrier.arrive, in this block, or in any of the cluster.
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_in_cluster(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// mbarrier.arrive.expect_tx: the phase does not end before copies have brought so many bytes, too.
__device__ __forceinline__ void arrive_expecting(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// ld.shared, st.shared: the word at an address of this block.
__device__ __forceinline__ unsigned load_word(unsigned from) {
  unsigned word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
  return word;
}
__device__ __forceinline__ void store_word(unsigned to, unsigned x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
// st.async ("Data Movement and Conversion Instructions"): a word to an address of any block of a
// cluster; a barrier of the same block may wait for its 4 bytes.
__device__ __forceinline__ void send_word(unsigned there, int word, unsigned barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(there),
      "r"(word), "r"(barrier)
      : "memory");
}

// mbarrier.try_wait: sleeps for a while, and may return before the phase has ended.
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

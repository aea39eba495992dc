// Barriers on which a part of a block's threads meet.
// PTX ISA, "Parallel Synchronization and Communication Instructions: bar".
#pragma once

// Barrier `id` (1 to 15; 0 is the one of __syncthreads) of `threads` threads, whole warps. Those
// that only signal do not wait.
__device__ __forceinline__ void meet(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void signal(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Named barriers: a part of a CTA's threads waits for each other. One instruction a function; the
// name in quotes is a section of the PTX ISA manual.
#pragma once

// "Parallel Synchronization and Communication Instructions: bar". Barrier `id` (1 to 15; 0 is the
// one of __syncthreads) of `threads` threads, whole warps, both those that wait and those that do
// not.
__device__ __forceinline__ void sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// The same without waiting for the others.
__device__ __forceinline__ void arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

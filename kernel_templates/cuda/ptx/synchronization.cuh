// Named barriers, which synchronise a part of a CTA's threads, and programmatic dependent launch
// (sm_90 and later; Launch::programmatic in host code). With programmatic dependent launch, a
// kernel can start while the previous kernel of the stream still runs. The early kernel first does
// work that does not depend on other kernels, and then waits for all previous kernels.
//
// Each function is one instruction. The names in quotes are sections of the PTX ISA manual.
#pragma once

// "Parallel Synchronization and Communication Instructions: bar". Waits at barrier `id` (0 to 15;
// __syncthreads uses 0, too). `threads` is the number of threads that wait or arrive, a multiple of
// 32.
__device__ __forceinline__ void sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// Arrives at the barrier without waiting.
__device__ __forceinline__ void arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// griddepcontrol.launch_dependents: the next kernel can start when every CTA of this kernel has
// called this or ended, and an SM has room for a CTA. This is safe at any time, since a kernel that
// starts early calls wait_for_previous_kernels().
__device__ __forceinline__ void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// griddepcontrol.wait: waits until all previous kernels have ended and their writes are visible.
// Until then a kernel must not read what they may still write, nor write what they may still use.
// It may prefetch to the L2 cache, since their writes go through it, too.
__device__ __forceinline__ void wait_for_previous_kernels() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

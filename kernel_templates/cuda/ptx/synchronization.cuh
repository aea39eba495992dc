// Named barriers, by which a part of a CTA's threads waits for each other; and programmatic
// dependent launch (sm_90 and later; Launch::programmatic on the host's side): a kernel may be
// started while the one before it in the stream still runs, prepares what depends on nobody, and
// waits.
//
// One instruction a function; the names in quotes are sections of the PTX ISA manual.
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

// griddepcontrol.launch_dependents: from now on the next kernel may be started, where there is
// room. That one waits until this one has ended, so this is safe at any time.
__device__ __forceinline__ void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// griddepcontrol.wait: until all kernels before this one have ended, and what they have written is
// visible. Before this nothing may be read from global memory or written to it (but see
// wgmma/claim_cluster_id.cuh).
__device__ __forceinline__ void wait_for_previous_kernels() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Kernels that follow each other in a stream, and overlap at their ends (sm_90 and later;
// Launch::dependent on the host's side): a kernel may be started while the one before it still
// runs, prepares what depends on nobody, and waits.
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: griddepcontrol".
#pragma once

// From now on the kernel after this one may be started, where there is room. That one waits until
// this one has ended, so this is safe at any time.
__device__ __forceinline__ void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Until all kernels before this one have ended, and what they have written is seen. Before this
// nothing may be read from global memory or written to it (but see take_share.cuh).
__device__ __forceinline__ void wait_for_kernels_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

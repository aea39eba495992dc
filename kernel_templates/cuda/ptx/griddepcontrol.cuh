// Programmatic dependent launch (sm_90 and later; Launch::programmatic on the host's side): a
// kernel may be started while the one before it in the stream still runs, prepares what depends on
// nobody, and waits.
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: griddepcontrol".
#pragma once

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

// Warpgroups (four neighbouring warps), clusters of CTAs, and elected threads (sm_90a).
#pragma once

constexpr int kWarpgroup = 128;  // threads

// "Miscellaneous Instructions: setmaxnreg". Sets the number of registers per thread. The warpgroup
// releases registers (dec), or waits for more (inc). The number is an immediate, so each number in
// use has its own case.
__device__ __forceinline__ void decrease_registers(int registers) {
  switch (registers) {
    case 40:
      asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
      break;
    case 56:
      asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
      break;
  }
}
__device__ __forceinline__ void increase_registers(int registers) {
  switch (registers) {
    case 152:
      asm volatile("setmaxnreg.inc.sync.aligned.u32 152;");
      break;
    case 224:
      asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
      break;
    case 232:
      asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
      break;
  }
}

// "barrier.cluster": a barrier of all threads of a cluster of `ctas` CTAs. No thread returns from
// cluster_wait() before all have called cluster_arrive_relaxed(). The other CTAs then see
// initialised barriers (fence_barrier_init()), but no other writes. If `ctas` is 1, cluster_wait()
// is __syncthreads().
__device__ __forceinline__ void cluster_arrive_relaxed(int ctas) {
  if (ctas > 1) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
}
__device__ __forceinline__ void cluster_wait(int ctas) {
  if (ctas > 1) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  } else {
    __syncthreads();
  }
}
__device__ __forceinline__ int cta_rank_in_cluster() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// elect.sync: true in one lane of the warp, always the same lane. Unlike lane == 0, it tells the
// compiler that a single lane executes the branch, so instructions that take uniform registers need
// no loop over the lanes.
__device__ __forceinline__ bool elect_one() {
  int elected;
  asm volatile(
      "{\n"
      ".reg .pred is;\n"
      "elect.sync _|is, 0xffffffff;\n"
      "selp.b32 %0, 1, 0, is;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

// The value of the first lane. The compiler knows that the result is the same in all lanes, and may
// keep it in a uniform register.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

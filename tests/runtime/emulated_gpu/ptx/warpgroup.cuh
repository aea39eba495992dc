#pragma once

constexpr int kWarpgroup = 128;

inline void decrease_registers(int) {}
inline void increase_registers(int) {}

inline void cluster_arrive_relaxed(int) {}
inline void cluster_wait(int ctas) {
  emulation::wait_at(emulation::machine->cluster_barrier, static_cast<unsigned>(ctas) * blockDim.x);
}
inline int cta_rank_in_cluster() {
  return static_cast<int>(emulation::self().cta->rank);
}

// Any lane may be elected.
inline bool elect_one() {
  __syncwarp();
  return emulation::lane() == 11;
}
inline int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// The threads that multiply together. Every one of them calls the kernel with its own Team.
#pragma once

struct Team {
  int rank;  // 0 ... size - 1
  int size;
  // Returns when every thread of the team has called it. What one wrote before, all see after.
  void (*barrier)(void* state);
  void* state;
  // Memory of this thread alone, 256-byte aligned, with as many bytes as the host half asked for
  // (Launch::shared_bytes). Holds anything at the start.
  void* scratch;
};

inline void wait_for_all(const Team& team) {
  team.barrier(team.state);
}

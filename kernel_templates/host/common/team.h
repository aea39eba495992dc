// The threads of one multiplication. Each of them calls the kernel with its own Team.
#pragma once

struct Team {
  int rank;  // 0 ... size - 1
  int size;
  // Returns when every thread of the team has called it. Writes before it are visible after it.
  void (*barrier)(void* state);
  void* state;
  // Memory of this thread alone, 256-byte aligned, Launch::shared_bytes long. Uninitialized.
  void* scratch;
};

inline void wait_for_all(const Team& team) {
  team.barrier(team.state);
}

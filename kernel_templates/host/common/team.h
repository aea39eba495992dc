// The threads of one launch. Each calls the kernel with its own Team.
#pragma once

struct Team {
  int rank;  // 0 ... size - 1
  int size;
  // Returns when every thread of the team has called it. All threads then see the writes that any
  // thread made before the call.
  void (*barrier)(void* state);
  void* state;
  // Uninitialized memory for this thread alone, aligned to 256 bytes and Launch::shared_bytes long.
  void* scratch;
};

inline void wait_for_all(const Team& team) {
  team.barrier(team.state);
}

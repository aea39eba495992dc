#pragma once

// The identity of a process that holds a lease. It lets other processes check whether the holder is
// alive.

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tunedgemm::internal {

/// Identifies a process among all processes of all machines. The pid alone is not enough, since
/// pids are reused and each container has its own pids.
struct ProcessIdentity {
  std::string host;  ///< the machine's name and its PID namespace
  std::string boot;  ///< the machine's boot id
  std::int64_t pid = 0;
  std::int64_t started = 0;  ///< clock ticks since boot

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

ProcessIdentity this_process();

enum class Liveness { kAlive, kDead, kUnknown };
/// Unknown if the process runs on another machine or in another PID namespace.
Liveness liveness(const ProcessIdentity& process);

}  // namespace tunedgemm::internal

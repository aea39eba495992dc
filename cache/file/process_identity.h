#pragma once

// Which process holds a lease, so that another one can tell whether it still lives.

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tunedgemm::internal {

/// A process of one start of one machine. A number of a process is used again after a while, and in
/// another container it means another process; the time of its start and the container tell them
/// apart.
struct ProcessIdentity {
  std::string host;  ///< the machine's name and the space in which process numbers are counted
  std::string boot;  ///< of this start of the machine
  std::int64_t pid = 0;
  std::int64_t started = 0;  ///< clock ticks after the start of the machine

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

ProcessIdentity this_process();

enum class Liveness { kAlive, kDead, kUnknown };
/// Unknown if it runs on another machine.
Liveness liveness(const ProcessIdentity& process);

}  // namespace tunedgemm::internal

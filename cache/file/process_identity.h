#pragma once

// The identity of the process that holds a lease, by which another process can tell whether it is
// alive.

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tunedgemm::internal {

/// A process during one boot of one machine. Process ids are reused, and the same id is another
/// process in another container; the start time and the container tell them apart.
struct ProcessIdentity {
  std::string host;  ///< the machine's name and its PID namespace
  std::string boot;  ///< the machine's boot id
  std::int64_t pid = 0;
  std::int64_t started = 0;  ///< clock ticks since boot

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

ProcessIdentity this_process();

enum class Liveness { kAlive, kDead, kUnknown };
/// Unknown if it runs on another machine.
Liveness liveness(const ProcessIdentity& process);

}  // namespace tunedgemm::internal

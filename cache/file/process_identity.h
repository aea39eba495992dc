#pragma once

// The identity of the process that holds a lease, so that another can tell whether it is alive.

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tunedgemm::internal {

/// A process during one boot of one machine. Process numbers are reused, and in another container
/// the same number is another process; start time and container tell them apart.
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

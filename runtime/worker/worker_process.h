#pragma once

// A worker: a process that tunes for tune-all. A candidate that crashes ends only the worker. The
// worker uses tune-all's cache file and opens the device itself. It takes the lease of its problem
// and stores the trials and the winner. A worker may be killed at any moment; the next worker then
// continues from the cache. tuning/worker_conversation.h has the protocol.

#include <span>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// Runs the worker until its input ends; returns the exit status for main. `arguments` are those
/// after kWorkerFlag. `compile_command`: see DeviceOptions.
int run_worker(std::span<const char* const> arguments,
               const std::vector<std::string>& compile_command);

}  // namespace tunedgemm::internal

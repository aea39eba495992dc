#pragma once

// A worker: a process that tunes for tune-all. A candidate that crashes ends only the worker. The
// worker uses tune-all's cache file and opens the device itself. It takes the lease of its problem
// and stores the trials and the winner. A worker may be killed at any moment; the next worker then
// continues from the cache. worker_conversation.h has the protocol.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tunedgemm::internal {

/// A program such as tune-all becomes a worker if this is its first argument.
inline constexpr std::string_view kWorkerFlag = "--tuning-worker";

/// What a worker opens.
struct WorkerPlace {
  std::string backend;
  int ordinal = 0;
  int host_threads = 0;
  int compile_threads = 0;
  std::string cache;            ///< a path
  std::string shared_binaries;  ///< ContextOptions::shared_binaries
};
/// The arguments after kWorkerFlag.
std::vector<std::string> to_arguments(const WorkerPlace& place);

/// Runs the worker until its input ends; returns the exit status for main. `arguments` are those
/// after kWorkerFlag. `compile_command`: see DeviceOptions.
int run_worker(std::span<const char* const> arguments,
               const std::vector<std::string>& compile_command);

}  // namespace tunedgemm::internal

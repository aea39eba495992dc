#pragma once

// A worker: a process that tunes for tune-all, which stays as it is whatever a candidate does. Both
// use the same cache file. The worker opens the device for itself, takes the lease of each problem
// that it is told, and stores trials and winner as every tuning does: its process can be killed at
// any moment, and another one goes on from the cache. worker_conversation.h has what they say.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tunedgemm::internal {

/// The first argument of a program that is to be a worker: tune-all is one.
inline constexpr std::string_view kWorkerFlag = "--tuning-worker";

/// What a worker opens.
struct WorkerPlace {
  std::string backend;
  int ordinal = 0;
  int host_threads = 0;
  std::string cache;  ///< the path of the file
};
/// The arguments behind kWorkerFlag.
std::vector<std::string> to_arguments(const WorkerPlace& place);

/// The worker, for main to return its exit status. `arguments` are those behind kWorkerFlag.
/// `compile_command`: see DeviceOptions.
int run_worker(std::span<const char* const> arguments,
               const std::vector<std::string>& compile_command);

}  // namespace tunedgemm::internal

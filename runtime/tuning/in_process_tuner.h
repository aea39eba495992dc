#pragma once

// InProcessTuner: tunes in this process. The problem's lease excludes other processes. A tuning
// uses its own stream and its own memory, and frees the memory at its end.

#include <filesystem>
#include <memory>
#include <mutex>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/candidate_compiler.h"
#include "runtime/tuning/device_probe.h"
#include "runtime/tuning/stored_winners.h"
#include "runtime/tuning/tuner.h"

namespace tunedgemm::internal {

/// What it is given must outlive it.
class InProcessTuner final : public Tuner {
 public:
  /// `shared_binaries`: see BinaryCache.
  InProcessTuner(Device& device, Store& store, StoredWinners& winners, DeviceProbe& probe,
                 const std::filesystem::path& shared_binaries);

  TuneResult tune(const CanonicalProblem& problem, const TuneOptions& options,
                  double lease_wait_seconds) override;
  void drop_next() override { exchange_compiler(nullptr); }

 private:
  TuneResult measure(const CanonicalProblem& problem, const TuneOptions& options);
  /// If the winner needs a workspace, also stores the fastest kernel that needs none. That kernel
  /// runs when there is no memory for a workspace.
  void keep_kernel_without_workspace(const Tuning& tuning);
  /// Returns the former compiler_.
  std::shared_ptr<CandidateCompiler> exchange_compiler(std::shared_ptr<CandidateCompiler> compiler);

  Device& device_;
  Store& store_;
  StoredWinners& winners_;
  DeviceProbe& probe_;
  BinaryCache binaries_;
  std::mutex compiler_mutex_;
  std::shared_ptr<CandidateCompiler> compiler_;  ///< compiles for TuneOptions::next, or null
};

}  // namespace tunedgemm::internal

#pragma once

// StoredWinners: the winners of a device's problems in a store, as calls and tunings look for them.

#include <optional>

#include "cache/store.h"
#include "runtime/device.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// Whether a tuning with these options would change nothing: the winner has the device's toolchain
/// and at least the rigor of the options. In addition, its tuning was complete, or spent at least
/// half the budget of the options, or had a higher rigor and tried at least as many candidates as
/// the options allow.
bool suffices(const Hit& hit, const TuneOptions& options);

/// Thread-safe. Device and store must outlive this object.
class StoredWinners {
 public:
  StoredWinners(Device& device, Store& store) : device_(device), store_(store) {}

  TuningKey key_of(const CanonicalProblem& problem) const;

  /// See Store::find. If the problem is invariant, also compares its class with the stored one. A
  /// change, by another version of the library, is logged as a warning and stored.
  std::optional<Hit> find(const CanonicalProblem& problem) const;

  /// The winner that makes a tuning with these options unnecessary (see suffices()). May compile
  /// one kernel (renewed()).
  std::optional<Record> find_tuned(const CanonicalProblem& problem, const TuneOptions& options);

  /// A winner whose kernel template has changed, if the new template compiles to the same machine
  /// code. Its row then moves to the new template. Compiles at most one kernel. Throws DeviceError.
  std::optional<Hit> renewed(const CanonicalProblem& problem);

 private:
  void note_class(const CanonicalProblem& problem) const;

  Device& device_;
  Store& store_;
};

}  // namespace tunedgemm::internal

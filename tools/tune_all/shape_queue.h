#pragma once

// ShapeQueue: hands out the shapes of a list to the devices that tune them.

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "tools/shared/named_problem.h"

namespace tunedgemm::internal {

/// The order in which shapes are tuned, as numbers in the list from 0. Those with the most
/// operations come first: several devices then end at about the same time, and the winners of
/// larger M are candidates for smaller M (tuner/LABBOOK.md). If the time is limited, the order is
/// the list's.
std::vector<std::size_t> tuning_order(std::span<const NamedProblem> shapes, bool time_is_limited);

/// Thread-safe.
class ShapeQueue {
 public:
  /// Hands out `order`, the numbers from 0 in any order. `is_tuned` says for each number whether
  /// that shape already has a winner; a missing element means no.
  ShapeQueue(std::vector<std::size_t> order, const std::vector<bool>& is_tuned,
             std::size_t devices);

  struct Turn {
    std::size_t shape = 0;
    /// The shape to tune that this device will probably get next, so that its compilers can begin.
    std::optional<std::size_t> next;
  };
  /// The device's next shape: the first one left, no shape twice. When only shapes are left that
  /// other devices expect, it gets one of those. Empty if none is left.
  std::optional<Turn> take(std::size_t device);

  /// The number of shapes that have no winner yet.
  std::size_t to_tune() const { return to_tune_; }

 private:
  enum class State { kWaits, kExpected, kTaken };

  std::optional<std::size_t> first_waiting();
  std::optional<std::size_t> expect_next();

  std::mutex mutex_;
  std::vector<std::size_t> order_;
  // All that follows is about places in order_.
  std::vector<State> states_;
  std::vector<bool> is_tuned_;
  std::vector<std::optional<std::size_t>> expected_;  ///< by each device
  std::size_t to_tune_ = 0;
  // No place before these waits, or waits to be tuned.
  std::size_t first_waiting_ = 0, first_to_tune_ = 0;
};

}  // namespace tunedgemm::internal

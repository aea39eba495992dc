#pragma once

// The winners that come nearest to a problem without one, and what keeps a call from using them.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cache/store.h"

namespace tunedgemm::internal {

/// A field in which a winner's problem differs. The values are as in the cache's table `problem`.
struct DifferingField {
  std::string field;  ///< "alignment_a", "m", "device"
  std::string tuned;
  std::string asked;

  friend bool operator==(const DifferingField&, const DifferingField&) = default;
};

struct MissedWinner {
  Record record;
  std::string state;                        ///< WinnerWithState::state
  std::vector<DifferingField> differences;  ///< empty: only its state keeps a call from using it
};

/// At most `count` winners, the nearest first. A winner with fewer differences in other fields than
/// extents is nearer, then one with closer extents. A packed matrix's leading dimension and batch
/// stride follow from its extents, and are no differences of their own. Another toolchain is no
/// difference either, since a call uses stale winners.
std::vector<MissedWinner> nearest_winners(const Problem& problem, const DeviceIdentity& device,
                                          std::span<const WinnerWithState> winners,
                                          std::size_t count);

/// "m is 512, not 500; alignment_a is 16, not 8", where the first of the two is the winner's.
std::string differences_text(const MissedWinner& winner);

}  // namespace tunedgemm::internal

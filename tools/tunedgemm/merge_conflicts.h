#pragma once

// The report on problems that were tuned more than once in the files of a merge.

#include <cstddef>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/store.h"

namespace tunedgemm::internal {

/// How far two tunings of a problem agree; the greater, the less.
enum class Agreement {
  kAgree,        ///< one kernel, or two in a tie, and times within kTieCeiling
  kOtherTime,    ///< the same, but the times differ by more
  kOtherKernel,  ///< kernels that neither tuning found to be in a tie
};
Agreement agreement(const MergeConflict& conflict);

/// Used by one thread. Keeps a few bytes for each problem, and the text of a few conflicts.
class MergeConflicts {
 public:
  /// `file` is the name of the file with `conflict.theirs`.
  void add(const std::string& file, const MergeConflict& conflict);
  /// A line for each conflict without agreement, up to 20, and a line with counts of problems. If a
  /// problem was tuned more than twice, the least agreement counts. Prints nothing if there is
  /// nothing to report.
  void print(std::ostream& stream) const;

 private:
  std::vector<std::string> lines_;
  std::size_t more_ = 0;  // conflicts without a line
  std::unordered_map<std::string, Agreement> of_problem_;
};

}  // namespace tunedgemm::internal

#pragma once

// LayerList: the layers of a model, as lists of shapes name them. A layer is a problem whose M
// differs from call to call, so the M of a line does not count, and a line needs none. If D is
// column-major, the same holds for N, since such a problem is computed as its transpose.

#include <iosfwd>
#include <string>
#include <vector>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// Used by one thread.
class LayerList {
 public:
  /// Reads the files, as read_list() does. No files: every problem is of the list.
  explicit LayerList(const std::vector<std::string>& files);

  /// Whether the problem is of the same class as a line (tuner/m_ladder.h). Notes the line.
  bool has(const CanonicalProblem& problem);
  /// A line for each layer for which has() was never true, with the remedy.
  void warn_of_missing(std::ostream& out) const;

  struct Line {
    std::string file;
    std::string text;
    std::string key;  ///< ladder_key() of the canonical problem
    bool found = false;
  };
  /// One for each layer.
  const std::vector<Line>& lines() const { return lines_; }

 private:
  std::vector<Line> lines_;
};

}  // namespace tunedgemm::internal

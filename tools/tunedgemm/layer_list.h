#pragma once

// LayerList: the layers of a model, as lists of shapes name them. A layer is a problem whose M
// differs from call to call, so the M of a line does not count.

#include <iosfwd>
#include <string>
#include <vector>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// Used by one thread.
class LayerList {
 public:
  /// Reads the files, as read_shape_list() does. No files: every problem is of the list.
  explicit LayerList(const std::vector<std::string>& files);

  /// Whether the problem, which is canonical, differs from a line in M alone, and in what may
  /// follow from M: strides and alignments. Notes the line.
  bool has(const Problem& problem);
  /// A line for each layer for which has() was never true, with the remedy.
  void warn_of_missing(std::ostream& out) const;

 private:
  struct Layer {
    std::string file;
    std::string text;
    Problem
        problem;  // D is row-major, or column-major if M and N of the canonical form are swapped
    bool is_swapped = false;
    bool found = false;
  };
  std::vector<Layer> layers_;
};

}  // namespace tunedgemm::internal

#pragma once

// The distinct shapes of a run of tune-all.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/store.h"
#include "tools/shared/named_problem.h"

namespace tunedgemm::internal {

/// The shapes named on the command line, as text.
struct WorkRequest {
  std::vector<std::string> lists;
  std::string m_ladder;  ///< values of M for each layer of the lists: a number list, or "auto"
  std::int64_t tensor_parallel = 1;  ///< devices that share each layer of the lists
  std::string m, n, k;               ///< number lists; all three or none
  /// Each type with each layout makes a shape of an m, n, k shape (default: f32 and nn) and of a
  /// list's line that leaves them out. Types or layouts that nothing uses are an error.
  std::vector<std::string> types, layouts;
  std::vector<Field> further_fields;
  bool from_requests = false;
};

/// A line of a list whose M may vary, or its N if D is column-major: that is computed as its
/// transpose.
struct Layer {
  std::vector<Field> fields;
  std::string varied;       ///< "m" or "n"
  std::int64_t most_m = 0;  ///< the greatest value of an automatic ladder
  NamedProblem at(std::int64_t m) const;
};

/// The values of M with which the automatic ladder up to `most_m` begins: powers of four.
std::vector<std::int64_t> first_rungs(std::int64_t most_m);

struct WorkList {
  std::vector<NamedProblem> shapes;  ///< no two with the same canonical problem
  std::size_t duplicates = 0;
  std::vector<Layer> layers;  ///< if the ladder is "auto": `shapes` has the first rungs of each
};

/// The shapes of the lists, then those of m, n, k, then those of `requests`. Throws
/// std::invalid_argument with a message.
///
/// With a ladder, the M of a line does not matter: the lines are layers, and each distinct layer is
/// tuned at each M of the ladder before the next layer, so that the kernels that it compiles are
/// used again. The ladder "auto" begins with powers of four up to 8192, "auto:M" with those up to
/// M. With tensor parallelism, a layer has the N or K that one device computes.
WorkList make_work_list(const WorkRequest& request, std::span<const Request> requests);

}  // namespace tunedgemm::internal

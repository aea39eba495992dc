#pragma once

// The shapes that a run of tune-all is about, each once.

#include <span>
#include <string>
#include <vector>

#include "cache/store.h"
#include "tools/shared/shape.h"

namespace tunedgemm::internal {

/// What the command line asks for, as text.
struct WorkRequest {
  std::vector<std::string> lists;
  std::string m, n, k;                ///< number lists; all three or none
  std::vector<std::string> types;     ///< with m, n, k
  std::vector<std::string> layouts;   ///< with m, n, k
  std::vector<Field> further_fields;  ///< of the shapes of m, n, k
  bool from_requests = false;
};

struct WorkList {
  std::vector<Shape> shapes;  ///< no two with the same canonical problem
  std::size_t duplicates = 0;
};

/// The shapes of the lists, then those of m, n, k, then those of the requests. Throws
/// std::invalid_argument with a sentence.
WorkList make_work_list(const WorkRequest& request, std::span<const Request> noted);

}  // namespace tunedgemm::internal

#include "tools/tune_all/work_list.h"

#include <iterator>
#include <set>
#include <stdexcept>

#include "tools/shared/shape.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

void append(std::vector<Shape>& shapes, std::vector<Shape> more) {
  shapes.insert(shapes.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

std::vector<Shape> shapes_of_ranges(const WorkRequest& request) {
  if (request.m.empty() || request.n.empty() || request.k.empty()) {
    throw std::invalid_argument("--m, --n and --k must be given together");
  }
  const auto numbers_m = parse_number_list(request.m, 1);
  const auto numbers_n = parse_number_list(request.n, 1);
  const auto numbers_k = parse_number_list(request.k, 0);
  double combinations = 1;
  for (const std::size_t count : {request.types.size(), request.layouts.size(), numbers_m.size(),
                                  numbers_n.size(), numbers_k.size()}) {
    combinations *= static_cast<double>(count);
  }
  if (combinations > static_cast<double>(kMostNumbers)) {
    throw std::invalid_argument("--m, --n and --k make " + rounded_text(combinations) +
                                " shapes with their types and layouts, more than a million; give "
                                "larger steps, or run tune-all for one range at a time");
  }
  std::vector<Shape> shapes;
  const auto add = [&](const std::string& types, const std::string& layout, std::int64_t m,
                       std::int64_t n, std::int64_t k) {
    std::vector<Field> fields{{"types", types},
                              {"layout", layout},
                              {"m", std::to_string(m)},
                              {"n", std::to_string(n)},
                              {"k", std::to_string(k)}};
    fields.insert(fields.end(), request.further_fields.begin(), request.further_fields.end());
    shapes.push_back(to_shape(fields));
  };
  for (const std::string& types : request.types) {
    for (const std::string& layout : request.layouts) {
      for (const std::int64_t m : numbers_m) {
        for (const std::int64_t n : numbers_n) {
          for (const std::int64_t k : numbers_k) {
            add(types, layout, m, n, k);
          }
        }
      }
    }
  }
  return shapes;
}

WorkList without_duplicates(std::vector<Shape> shapes) {
  WorkList work;
  std::set<std::string> seen;
  for (Shape& shape : shapes) {
    if (seen.insert(fingerprint(shape.problem)).second) {
      work.shapes.push_back(std::move(shape));
    } else {
      ++work.duplicates;
    }
  }
  return work;
}

}  // namespace

WorkList make_work_list(const WorkRequest& request, std::span<const Request> requests) {
  std::vector<Shape> shapes;
  for (const auto& list : request.lists) {
    append(shapes, read_shape_list(list));
  }
  if (!request.m.empty() || !request.n.empty() || !request.k.empty()) {
    append(shapes, shapes_of_ranges(request));
  }
  if (request.from_requests) {
    for (const Request& missed : requests) {
      shapes.push_back({"", missed.problem});
    }
  }
  return without_duplicates(std::move(shapes));
}

}  // namespace tunedgemm::internal

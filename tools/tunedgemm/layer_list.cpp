#include "tools/tunedgemm/layer_list.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "tools/shared/shape_list.h"
#include "tuner/m_ladder.h"

namespace tunedgemm::internal {

LayerList::LayerList(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    read_list(file, [&](std::vector<Field> fields) {
      if (!has_field(fields, "m")) {
        fields.push_back({"m", "1"});
      }
      const NamedProblem shape = to_named_problem(fields);
      const CanonicalProblem problem = canonical(shape.problem);
      Line line{.file = file,
                .text = shape_text(shape) + " " + types_text(problem) + " " + layout_text(problem) +
                        ", N = " + std::to_string(problem->n) +
                        ", K = " + std::to_string(problem->k),
                .key = ladder_key(problem)};
      if (std::ranges::find(lines_, line.key, &Line::key) == lines_.end()) {
        lines_.push_back(std::move(line));
      }
    });
  }
}

bool LayerList::has(const CanonicalProblem& problem) {
  bool found = lines_.empty();
  const std::string key = ladder_key(problem);
  for (Line& line : lines_) {
    if (line.key == key) {
      line.found = found = true;
    }
  }
  return found;
}

void LayerList::warn_of_missing(std::ostream& out) const {
  for (const Line& line : lines_) {
    if (!line.found) {
      out << "warning: no winner for " << line.text << " of " << line.file
          << ", with any M; tune it with tune-all " << line.file << '\n';
    }
  }
}

}  // namespace tunedgemm::internal

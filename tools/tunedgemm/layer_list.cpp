#include "tools/tunedgemm/layer_list.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "tools/shared/shape_list.h"
#include "tuner/m_ladder.h"

namespace tunedgemm::internal {

LayerList::LayerList(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    read_list(file, [&](std::vector<Field> line) {
      if (!has_field(line, "m")) {
        line.push_back({"m", "1"});
      }
      const NamedProblem shape = to_named_problem(line);
      const CanonicalProblem problem = canonical(shape.problem);
      Layer layer{.file = file,
                  .text = shape_text(shape) + " " + types_text(problem) + " " +
                          layout_text(problem) + ", N = " + std::to_string(problem->n) +
                          ", K = " + std::to_string(problem->k),
                  .key = ladder_key(problem)};
      if (std::ranges::find(layers_, layer.key, &Layer::key) == layers_.end()) {
        layers_.push_back(std::move(layer));
      }
    });
  }
}

bool LayerList::has(const CanonicalProblem& problem) {
  bool found = layers_.empty();
  const std::string key = ladder_key(problem);
  for (Layer& layer : layers_) {
    if (layer.key == key) {
      layer.found = found = true;
    }
  }
  return found;
}

void LayerList::warn_of_missing(std::ostream& out) const {
  for (const Layer& layer : layers_) {
    if (!layer.found) {
      out << "warning: no winner for " << layer.text << " of " << layer.file
          << ", with any M; tune it with tune-all " << layer.file << '\n';
    }
  }
}

}  // namespace tunedgemm::internal

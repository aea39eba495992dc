#include "tools/tunedgemm/layer_list.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "tools/shared/shape.h"
#include "tuner/any_m.h"

namespace tunedgemm::internal {

LayerList::LayerList(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const Shape& shape : read_shape_list(file)) {
      const Canonical line = canonical(shape.problem);
      Layer layer{
          .file = file,
          .text = shape_text(shape) + " " + types_text(shape.problem) + " " +
                  layout_text(shape.problem) + ", N = " + std::to_string(shape.problem.n) +
                  ", K = " + std::to_string(shape.problem.k),
          .problem = line.swapped ? transposed(line.problem) : line.problem,
          .is_swapped = line.swapped,
      };
      if (std::ranges::none_of(layers_, [&](const Layer& other) {
            return other.is_swapped == layer.is_swapped &&
                   differ_in_m_alone(other.problem, layer.problem);
          })) {
        layers_.push_back(std::move(layer));
      }
    }
  }
}

bool LayerList::has(const Problem& problem) {
  bool found = layers_.empty();
  for (Layer& layer : layers_) {
    if (differ_in_m_alone(layer.problem, layer.is_swapped ? transposed(problem) : problem)) {
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

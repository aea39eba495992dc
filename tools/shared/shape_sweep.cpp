#include "tools/shared/shape_sweep.h"

#include <algorithm>

#include "tools/shared/number_list.h"

namespace tunedgemm::internal {

std::vector<Shape> square_shapes(const ShapeChoice& choice, std::string_view sizes) {
  std::vector<Shape> shapes;
  for (const std::int64_t size : parse_number_list(sizes, 1)) {
    std::vector<Field> fields = choice.fields;
    if (std::none_of(fields.begin(), fields.end(),
                     [](const Field& field) { return field.name == "types"; })) {
      fields.push_back({"types", "f16", {}});
    }
    for (const char* extent : {"m", "n", "k"}) {
      fields.push_back({extent, std::to_string(size), {}});
    }
    shapes.push_back(to_shape(fields, {}));
  }
  return shapes;
}

}  // namespace tunedgemm::internal

#include "tools/shared/shape_options.h"

#include <algorithm>
#include <array>
#include <string>

#include "tools/shared/number_list.h"

namespace tunedgemm::internal {
namespace {

using namespace std::string_view_literals;
constexpr std::array kExtents{"m"sv, "n"sv, "k"sv};

void add_field(CLI::App& app, const std::string& option, const FieldDescription& field,
               std::vector<Field>& fields, bool required) {
  const auto keep = [&fields, name = std::string(field.name)](const std::string& value) {
    fields.push_back({name, value, {}});
  };
  app.add_option_function<std::string>(option, keep, std::string(field.meaning))
      ->required(required);
}

}  // namespace

void add_shape_options(CLI::App& app, std::span<const std::string_view> left_out,
                       std::vector<Field>& fields) {
  for (const FieldDescription& field : shape_fields()) {
    if (std::find(left_out.begin(), left_out.end(), field.name) == left_out.end()) {
      add_field(app, "--" + std::string(field.name), field, fields, false);
    }
  }
}

void add_shape_arguments(CLI::App& app, ShapeChoice& choice, Extents extents) {
  for (const FieldDescription& field : shape_fields()) {
    const bool is_extent =
        std::find(kExtents.begin(), kExtents.end(), field.name) != kExtents.end();
    add_field(app, (is_extent ? "" : "--") + std::string(field.name), field, choice.fields,
              is_extent && extents == Extents::kRequired);
  }
}

Shape to_shape(const ShapeChoice& choice) {
  std::vector<Field> fields = choice.fields;
  const auto is_types = [](const Field& field) { return field.name == "types"; };
  if (std::none_of(fields.begin(), fields.end(), is_types)) {
    fields.push_back({"types", "f32", {}});
  }
  return to_shape(fields, {});
}

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

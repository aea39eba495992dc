#pragma once

// ShapeDraft: what the fields of a shape have said so far, and the rules by which each field is
// read into it. A part of shape.cpp, on its own because it is a long table.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/shared/shape.h"

namespace tunedgemm::internal {

/// What was not said is empty or packed.
struct ShapeDraft {
  std::string name;
  std::optional<DataType> a, b, d;
  std::optional<Numerics> numerics;  ///< of the type "tf32"
  std::string layout = "nn";
  Order order_c = Order::kRowMajor, order_d = Order::kRowMajor;
  std::array<std::optional<std::int64_t>, 4> leading_dimensions, batch_strides;
  Problem problem;  ///< the extents, and the fields that are read as problem_fields() says
};

struct FieldRule {
  FieldDescription description;
  /// Returns "" or what it would have understood.
  std::function<std::string(std::string_view text, ShapeDraft& draft)> read;
};

/// Those that shapes say in their own way, and all others of problem_fields() that have a meaning.
/// In the order in which lists without a header have them.
std::span<const FieldRule> field_rules();

}  // namespace tunedgemm::internal

#include "kernel_templates/problem/data_type.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

const DataTypeTraits* find(DataType type) {
  const auto* const row =
      std::find_if(std::begin(kDataTypes), std::end(kDataTypes),
                   [&](const DataTypeTraits& each) { return each.type == type; });
  return row == std::end(kDataTypes) ? nullptr : row;
}

int exponent_bias(const ElementFormat& format) {
  return (1 << (format.exponent_bits - 1)) - 1;
}

}  // namespace

const DataTypeTraits& traits(DataType type) {
  const DataTypeTraits* row = find(type);
  return row == nullptr ? kDataTypes[0] : *row;
}

std::string_view name(DataType type) {
  const DataTypeTraits* row = find(type);
  return row == nullptr ? "unknown" : row->name;
}

std::optional<DataType> parse_data_type(std::string_view text) {
  constexpr std::string_view kModule = "torch.";
  text.remove_prefix(text.starts_with(kModule) ? kModule.size() : 0);
  for (const DataTypeTraits& row : kDataTypes) {
    const auto others = split(row.other_names, ' ');
    if (row.name == text || std::ranges::find(others, text) != others.end()) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::int64_t size_bytes(DataType type) {
  const DataTypeTraits* row = find(type);
  return row == nullptr ? 0 : row->format.bits / 8;
}

DataType accumulator(DataType a, DataType /*b*/) {
  return traits(a).accumulator;
}

bool is_fp8(DataType type) {
  return traits(type).is_fp8;
}

bool is_integer(DataType type) {
  return traits(type).format.exponent_bits == 0;
}

double unit_roundoff(DataType type) {
  return is_integer(type) ? 0 : std::ldexp(1.0, -traits(type).format.mantissa_bits - 1);
}

double smallest_step(DataType type) {
  const ElementFormat& format = traits(type).format;
  return is_integer(type) ? 1 : std::ldexp(1.0, 1 - exponent_bias(format) - format.mantissa_bits);
}

double largest(DataType type) {
  const ElementFormat& format = traits(type).format;
  if (is_integer(type)) {
    return std::ldexp(1.0, format.mantissa_bits) - 1;
  }
  // All mantissa bits set. Without infinities the exponent is one more and the mantissa one less,
  // since only all ones are NaN.
  const int exponent = exponent_bias(format) + (format.has_infinity ? 0 : 1);
  const int missing_steps = format.has_infinity ? 1 : 2;
  return std::ldexp(std::ldexp(2.0, format.mantissa_bits) - missing_steps,
                    exponent - format.mantissa_bits);
}

std::string why_not_types(DataType a, DataType b, DataType d) {
  constexpr NameList kAll = name_list(kDataTypes, ", ");
  constexpr NameList kInputs =
      name_list(kDataTypes, " and ", [](const DataTypeTraits& row) { return row.outputs != 0; });
  constexpr NameList kFp8 =
      name_list(kDataTypes, " and ", [](const DataTypeTraits& row) { return row.is_fp8; });
  const auto text = [](const NameList& list) { return std::string(list.text()); };
  if (find(a) == nullptr || find(b) == nullptr || find(d) == nullptr) {
    return "the element type is not one of " + text(kAll);
  }
  for (const DataType input : {a, b}) {
    if (traits(input).outputs == 0) {
      return std::string(name(input)) + " is an output type only; the inputs are " + text(kInputs);
    }
  }
  if (a != b && !(is_fp8(a) && is_fp8(b))) {
    return "A and B must have the same element type (only " + text(kFp8) + " may be mixed)";
  }
  if ((traits(a).outputs & types({d})) == 0) {
    const NameList outputs = name_list(kDataTypes, " or ", [&](const DataTypeTraits& row) {
      return (traits(a).outputs & types({row.type})) != 0;
    });
    return std::string(name(a)) + " inputs give an output of " + text(outputs);
  }
  return "";
}

}  // namespace tunedgemm::internal

// Parses lists of shapes, as CSV and as JSON, and lists and ranges of numbers. Each is accepted, or
// refused with a message that is safe to print to a terminal.

#include <stdexcept>
#include <string>

#include "tests/fuzz/input.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/text.h"

using namespace tunedgemm::internal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t kind = input.below(3);
  const std::string text(input.rest());
  try {
    if (kind == 0) {
      must_hold(!parse_number_list(text, 0).empty());
      return 0;
    }
    for (const NamedProblem& shape : kind == 1 ? parse_json_shapes(text) : parse_csv_shapes(text)) {
      must_hold(why_not(shape.problem).empty());
      must_hold(!shape_text(shape).empty());
    }
  } catch (const std::invalid_argument& error) {
    must_hold(*error.what() != '\0');
  }
  return 0;
}

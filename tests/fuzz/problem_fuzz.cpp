// Parses texts of problems, configs and candidates. If a text parses, writing and parsing
// its value again must give the same value.

#include <stdexcept>
#include <string>

#include "kernel_templates/base/text.h"
#include "kernel_templates/family.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem_grammar.h"
#include "tests/fuzz/input.h"

using namespace tunedgemm::internal;

namespace {

// Calls the functions that receive a problem from a file or a cache.
void use(const Problem& problem) {
  must_hold(parse_problem(to_text(problem)) == problem);
  if (!why_not(problem).empty()) {
    return;
  }
  const CanonicalProblem once = canonical(problem);
  must_hold(canonical(once) == once && fingerprint(once).size() == 32);
  must_hold(transposed(transposed(problem)) == problem);
  must_hold(minimum_bytes(problem) >= 0 && flops(problem) >= 0);
  must_hold(!types_text(problem).empty() && !layout_text(problem).empty());
  static_cast<void>(epilogue_text(problem));
}

// As callers write a problem.
void use_written(const std::string& text) {
  Problem written = default_problem();
  try {
    read_text(text, written);
  } catch (const std::invalid_argument& error) {
    must_hold(*error.what() != '\0' && written == default_problem());
    return;
  }
  if (why_not(completed(written)).empty()) {
    Problem again = default_problem();
    read_text(written_text(written), again);
    must_hold(again == written);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t kind = input.below(3);
  const std::string text(input.rest());
  if (kind == 0) {
    if (const auto config = parse_config(text)) {
      must_hold(parse_config(to_text(*config)) == config);
    }
    if (const auto candidate = parse_candidate(text)) {
      must_hold(parse_candidate(to_text(*candidate)) == candidate);
    }
  } else if (kind == 2) {
    use_written(text);
  } else if (const auto problem = parse_problem(text)) {
    use(*problem);
  }
  return 0;
}

#pragma once

// The grammar in which people and programs write problems: on command lines, in lists of shapes and
// through the C interface. For example:
//
//     types=bf16 layout=nt m=4096 n=6144 k=4096 activation=relu
//
// A text consists of fields name=value, separated by spaces, in any order, none of them twice. A
// field that is left out keeps its value. `types` also sets the types of C and D and the numerics
// to the defaults of these inputs, which the fields `output` and `numerics` replace.
// grammar_fields() has all fields and their meanings.
//
// A text describes a problem as written. This is a Problem in which some values stand for others:
//
//     leading dimension 0         packed
//     batch stride 0              packed
//     batch stride kBroadcast     one matrix for all batch indices; 0 in a text
//     numerics kDefaultNumerics   kFast for fp8 (kPromoted with scales of blocks), else kIeee
//
// Its alignments are those of the pointers alone. completed() replaces all these values.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernel_templates/problem/problem_fields.h"

namespace tunedgemm::internal {

inline constexpr std::int64_t kBroadcast = -1;
inline constexpr Numerics kDefaultNumerics{-1};

/// The problem as written from which texts start: f32, without extents.
inline Problem default_problem() {
  Problem written;
  written.numerics = kDefaultNumerics;
  return written;
}

/// The problem that a problem as written stands for. why_not() says whether it is well formed.
Problem completed(Problem written);

/// A text with these fields describes a whole problem.
inline constexpr std::string_view kRequiredFields[] = {"types", "m", "n", "k"};

/// The fields of a text, in the order of written_text(). They have no columns.
std::span<const ProblemField> grammar_fields();

struct Field {
  std::string name;
  std::string value;
};

/// Sets what the fields name. Throws std::invalid_argument with a sentence that names the field,
/// the text found and the text expected; `written` is then unchanged.
void read_fields(std::span<const Field> fields, Problem& written);
void read_text(std::string_view text, Problem& written);

/// The required fields, and the other fields that differ from default_problem(), from which
/// read_text() makes the same problem. Precondition: completed(written) is well formed.
std::string written_text(const Problem& written);

}  // namespace tunedgemm::internal

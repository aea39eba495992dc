#pragma once

// Lists of shapes in files.
//
//   CSV One shape per line. The first line may be a header naming the fields; without a header
//         they are types, layout, m, n, k and optionally batch. Empty cells take the default.
//         Empty lines and lines that begin with # are skipped; a cell with a comma needs double
//         quotes. Lines of PyTorch's TunableOp (tunable_op.h) are shapes, too.
//   JSON  An array of objects whose members are the fields, or a model's config (model_layers.h).
//         The name of the file ends in .json.
//   name  A list that is built in, if there is no file of this name: llama-3-8b.
//
// The CSV or JSON of `tunedgemm export` is a list, too. Fields about the winner are ignored, and
// the field "problem" has the whole shape, which the other fields must not contradict.
//
// All functions throw std::invalid_argument, naming the file and the CSV line or JSON entry.

#include <functional>

#include "tools/shared/named_problem.h"

namespace tunedgemm::internal {

/// Passes the fields of each line to `read`, and names the line if `read` throws. Lines that are
/// NotComputable are skipped, unless all are; standard error says how many, and why.
using ReadFields = std::function<void(const std::vector<Field>& fields)>;
void read_list(const std::string& path, const ReadFields& read);
std::vector<NamedProblem> parse_csv_shapes(std::string_view text);
std::vector<NamedProblem> parse_json_shapes(std::string_view text);
std::vector<NamedProblem> read_shape_list(const std::string& path);

}  // namespace tunedgemm::internal

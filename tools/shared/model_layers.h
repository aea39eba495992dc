#pragma once

// The matrix products of language models' layers, without M: lists that are built in
// (tools/shapes/models), and those of a model's config.json from Hugging Face.

#include <string>
#include <string_view>
#include <vector>

#include "tools/shared/named_problem.h"
#include "tools/shared/results.h"

namespace tunedgemm::internal {

/// The text of the built-in list, such as "llama-3-8b"; empty if there is none of this name.
std::string_view built_in_list(std::string_view name);
/// The names of all, joined by commas.
std::string built_in_lists();

/// Whether the document is a model's config.
bool is_model_config(const Json& document);
/// The fields of the model's layers, as a line of a list has them. Throws std::invalid_argument if
/// the model is of another kind, or a number is missing.
std::vector<std::vector<Field>> layers_of_model(const Json& document);

}  // namespace tunedgemm::internal

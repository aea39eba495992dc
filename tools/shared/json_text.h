#pragma once

// JSON as text. A text from elsewhere need not be UTF-8, which is no reason to print nothing.

#include <nlohmann/json.hpp>
#include <string>

namespace tunedgemm::internal {

/// On one line, or with so many spaces for each level. What is no UTF-8 becomes U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tunedgemm::internal

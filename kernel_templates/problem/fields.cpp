#include "kernel_templates/problem/fields.h"

namespace tunedgemm::internal {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::vector<std::pair<std::string_view, std::string_view>> split_fields(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) {
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool has_value = equals != std::string_view::npos;
    fields.emplace_back(word.substr(0, equals), has_value ? word.substr(equals + 1) : "");
  }
  return fields;
}

}  // namespace tunedgemm::internal

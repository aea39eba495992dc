#include "kernel_templates/problem/config.h"

#include <algorithm>
#include <stdexcept>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {

Config& Config::set(std::string_view knob, int value) {
  const auto old = std::find_if(knobs_.begin(), knobs_.end(),
                                [&](const auto& pair) { return pair.first == knob; });
  if (old != knobs_.end()) {
    old->second = value;
  } else {
    knobs_.emplace_back(knob, value);
  }
  return *this;
}

std::optional<int> Config::find(std::string_view knob) const {
  for (const auto& [name, value] : knobs_) {
    if (name == knob) {
      return value;
    }
  }
  return std::nullopt;
}

int Config::at(std::string_view knob) const {
  if (const auto value = find(knob)) {
    return *value;
  }
  throw std::out_of_range("the config \"" + to_text(*this) + "\" has no knob " + std::string(knob));
}

std::string to_text(const Config& config) {
  std::string text;
  for (const auto& [knob, value] : config.knobs()) {
    text += text.empty() ? "" : " ";
    text += knob + "=" + std::to_string(value);
  }
  return text;
}

std::optional<Config> parse_config(std::string_view text) {
  Config config;
  for (const auto& [knob, value] : split_fields(text)) {
    const std::optional<int> number = whole_number<int>(value);
    if (!number || knob.empty() || config.find(knob)) {
      return std::nullopt;
    }
    config.set(knob, *number);
  }
  return config;
}

}  // namespace tunedgemm::internal

#pragma once

// Config: one value for each knob, by name: "block_m=128 block_n=256 block_k=64 stages=4".

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tunedgemm::internal {

/// A plain value. Knobs keep the order in which they were set, and equality includes the order.
class Config {
 public:
  Config() = default;
  explicit Config(std::vector<std::pair<std::string, int>> knobs) : knobs_(std::move(knobs)) {}

  /// Adds the knob, or changes its value.
  Config& set(std::string_view knob, int value);
  /// The knob's value. Throws std::out_of_range with the knob's name if there is no such knob.
  int at(std::string_view knob) const;
  std::optional<int> find(std::string_view knob) const;

  const std::vector<std::pair<std::string, int>>& knobs() const { return knobs_; }

  friend bool operator==(const Config&, const Config&) = default;

 private:
  std::vector<std::pair<std::string, int>> knobs_;
};

std::string to_text(const Config& config);
/// Empty if a word is not knob=integer or a knob occurs twice.
std::optional<Config> parse_config(std::string_view text);

}  // namespace tunedgemm::internal

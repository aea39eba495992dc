#include "kernel_templates/family.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "kernel_templates/sha256.h"

namespace tunedgemm {
namespace {

std::string upper_case(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return upper;
}

std::string knobs_text(std::span<const Knob> knobs) {
  std::string text;
  for (const Knob& knob : knobs) {
    text += std::string(knob.name) + ":";
    for (const int value : knob.values) {
      text += " " + std::to_string(value);
    }
    text += "\n";
  }
  return text;
}

template <class Enum>
std::string number(Enum value) {
  return std::to_string(static_cast<int>(value));
}

}  // namespace

Family::Family(std::string_view name, Backend backend, std::string_view file,
               std::vector<Knob> knobs, int revision)
    : name_(name),
      backend_(backend),
      file_(embedded_file(file)),
      includes_(included_files(file_)),
      knobs_(std::move(knobs)),
      fingerprint_(sha256_hex(template_fingerprint(file_, includes_) + knobs_text(knobs_) +
                                  "revision " + std::to_string(revision),
                              32)) {}

std::string Family::why_not_knobs(const Config& config) const {
  for (const auto& [knob, value] : config.knobs()) {
    const std::string_view wanted = knob;
    const auto known = std::find_if(knobs_.begin(), knobs_.end(), [&](const Knob& candidate) {
      return candidate.name == wanted;
    });
    if (known == knobs_.end()) {
      return std::string(name_) + " has no knob " + knob;
    }
    if (std::find(known->values.begin(), known->values.end(), value) == known->values.end()) {
      return std::string(name_) + ": " + knob + "=" + std::to_string(value) +
             " is not one of its values";
    }
  }
  for (const Knob& knob : knobs_) {
    if (!config.find(knob.name)) {
      return std::string(name_) + ": the knob " + std::string(knob.name) + " has no value";
    }
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> Family::common_defines(
    const Problem& problem, const Config& config) const {
  std::vector<std::pair<std::string, std::string>> defines{
      {"TYPE_A", std::string(tunedgemm::name(problem.a.type))},
      {"TYPE_B", std::string(tunedgemm::name(problem.b.type))},
      {"TYPE_D", std::string(tunedgemm::name(problem.d.type))},
      {"ACCUMULATOR", std::string(tunedgemm::name(accumulator(problem.a.type, problem.b.type)))},
      {"ORDER_A", number(problem.a.order)},
      {"ORDER_B", number(problem.b.order)},
      {"ALIGN_A", std::to_string(problem.a.alignment_bytes)},
      {"ALIGN_B", std::to_string(problem.b.alignment_bytes)},
      {"ALIGN_C", std::to_string(problem.c.alignment_bytes)},
      {"ALIGN_D", std::to_string(problem.d.alignment_bytes)},
      {"READ_C", problem.beta == ScalarClass::kZero ? "0" : "1"},
      {"BIAS", number(problem.bias)},
      {"ACTIVATION", number(problem.activation)},
      {"NUMERICS", number(problem.numerics)},
  };
  for (const auto& [knob, value] : config.knobs()) {
    defines.emplace_back(upper_case(knob), std::to_string(value));
  }
  return defines;
}

Launch without_workspace(Launch launch) {
  launch.workspace_bytes = 0;
  launch.gpc_shares = {};
  return launch;
}

Source Family::source(const Problem& problem, const Config& config, const DeviceLimits&) const {
  return Source{.backend = backend_,
                .file = file_,
                .includes = includes_,
                .defines = common_defines(problem, config),
                .entry = "tunedgemm_" + std::string(name_)};
}

std::vector<Config> Family::candidates(const Problem& problem, const DeviceLimits& limits) const {
  std::vector<Config> legal;
  std::vector<std::size_t> position(knobs_.size(), 0);
  while (true) {
    Config config;
    for (std::size_t knob = 0; knob < knobs_.size(); ++knob) {
      config.set(knobs_[knob].name, knobs_[knob].values[position[knob]]);
    }
    if (why_not(problem, config, limits).empty()) {
      legal.push_back(std::move(config));
    }
    // The next combination, the last knob first, as an odometer counts.
    std::size_t knob = knobs_.size();
    while (knob > 0 && ++position[knob - 1] == knobs_[knob - 1].values.size()) {
      position[--knob] = 0;
    }
    if (knob == 0) {
      return legal;
    }
  }
}

std::string to_text(const Candidate& candidate) {
  const std::string knobs = to_text(candidate.config);
  return std::string(candidate.family->name()) + (knobs.empty() ? "" : " ") + knobs;
}

std::optional<Candidate> parse_candidate(std::string_view text) {
  const std::size_t name_end = std::min(text.find(' '), text.size());
  const Family* family = find_family(text.substr(0, name_end));
  const auto config = parse_config(text.substr(name_end));
  if (family == nullptr || !config) {
    return std::nullopt;
  }
  return Candidate{family, *config};
}

std::vector<RankedCandidate> ranked_candidates(const Problem& problem, const DeviceLimits& limits) {
  std::vector<RankedCandidate> ranked;
  for (const Family* family : families(limits.backend)) {
    for (Config& config : family->candidates(problem, limits)) {
      const double predicted_us = family->predicted_us(problem, config, limits);
      ranked.push_back({Candidate{family, std::move(config)}, predicted_us});
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedCandidate& left, const RankedCandidate& right) {
                     return left.predicted_us < right.predicted_us;
                   });
  return ranked;
}

Candidate default_candidate(const Problem& problem, const DeviceLimits& limits) {
  for (const RankedCandidate& ranked : ranked_candidates(problem, limits)) {
    const auto& [family, config] = ranked.candidate;
    // A GPU's workspace may have to be allocated, which is not always possible at the time of a
    // call.
    if (limits.backend == Backend::kHost ||
        !family->launch(problem, config, limits).needs_workspace()) {
      return ranked.candidate;
    }
  }
  throw std::logic_error("no family computes " + to_text(problem));
}

}  // namespace tunedgemm

#include "kernel_templates/family.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <stdexcept>

#include "kernel_templates/base/sha256.h"

namespace tunedgemm::internal {
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

// The part of the device that the problem may use.
DeviceLimits within_sm_limit(const Problem& problem, DeviceLimits limits) {
  if (problem.sm_limit > 0 && limits.is_gpu()) {
    limits.most_ctas = problem.sm_limit;
    limits.sm_count = static_cast<int>(std::min<std::int64_t>(limits.sm_count, problem.sm_limit));
    limits.gpc_of_sm.clear();  // which SMs the other kernels leave free is unknown
  }
  return limits;
}

std::string why_not_class(const Candidate& candidate, const Problem& problem,
                          const DeviceLimits& limits) {
  if (problem.invariant == 0) {
    return "";
  }
  const AccumulationClass wanted = accumulation_class(problem, limits);
  const AccumulationClass given = accumulation_class(candidate, problem, limits);
  return given == wanted && wanted != AccumulationClass::kNone
             ? ""
             : "invariant=1 needs a kernel of the accumulation class " + std::string(name(wanted)) +
                   ", and this one is of " + std::string(name(given));
}

std::string why_not_grid(const Launch& launch, const DeviceLimits& limits) {
  if (limits.most_ctas == 0) {
    return "";
  }
  const std::int64_t ctas = std::max<std::int64_t>(
      std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2], launch.prologue.grid);
  return ctas <= limits.most_ctas
             ? ""
             : "sm_limit=" + std::to_string(limits.most_ctas) + " is less than the " +
                   std::to_string(ctas) + " CTAs that this config launches at once";
}

}  // namespace

std::string_view name(AccumulationClass accumulation_class) {
  constexpr std::string_view kNames[] = {"none", "in_order", "mma", "wgmma"};
  const auto number = static_cast<std::size_t>(accumulation_class);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

Family::Family(std::string_view name, std::string_view backend, std::string_view file,
               std::vector<Knob> knobs)
    : name_(name), backend_(backend), file_(embedded_file(file)), knobs_(std::move(knobs)) {}

const Family::Text& Family::text() const {
  std::call_once(text_is_known_, [this] {
    text_.includes = included_files(file_);
    text_.template_fingerprint = template_fingerprint(file_, text_.includes);
    text_.fingerprint = sha256_hex(text_.template_fingerprint + knobs_text(knobs_), 32);
  });
  return text_;
}

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
      {"TYPE_A", std::string(internal::name(problem.a.type))},
      {"TYPE_B", std::string(internal::name(problem.b.type))},
      {"TYPE_D", std::string(internal::name(problem.d.type))},
      {"ACCUMULATOR", std::string(internal::name(accumulator(problem.a.type, problem.b.type)))},
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
      {"SCALING_A", number(problem.scaling_a)},
      {"SCALING_B", number(problem.scaling_b)},
      {"GROUP_KIND", number(problem.group_kind)},
  };
  const auto is_of_launch = [this](std::string_view name) {
    return std::any_of(knobs_.begin(), knobs_.end(), [name](const Knob& knob) {
      return knob.name == name && knob.role == Knob::kLaunch;
    });
  };
  for (const auto& [knob, value] : config.knobs()) {
    if (!is_of_launch(knob)) {
      defines.emplace_back(upper_case(knob), std::to_string(value));
    }
  }
  return defines;
}

std::vector<std::pair<std::string, std::string>> Family::launch_defines(const Config&,
                                                                        const Launch&) const {
  return {};
}

Instance Family::begin_instance(const Problem& problem, const Config& config) const {
  Instance instance;
  instance.problem = problem;
  instance.candidate = {this, config};
  instance.tile_key = name_;
  for (const Knob& knob : knobs_) {
    if (knob.role == Knob::kTile) {
      instance.tile_key += ' ';
      instance.tile_key += std::to_string(config.at(knob.name));
    }
  }
  return instance;
}

Arguments arguments_of(const Problem& problem) {
  const bool row_major_c = problem.c.order == Order::kRowMajor;
  Arguments arguments{};
  arguments.m = problem.m;
  arguments.n = problem.n;
  arguments.k = problem.k;
  arguments.batch = problem.batch;
  arguments.lda = problem.a.leading_dimension;
  arguments.ldb = problem.b.leading_dimension;
  arguments.ldd = problem.d.leading_dimension;
  arguments.c_stride_m = row_major_c ? problem.c.leading_dimension : 1;
  arguments.c_stride_n = row_major_c ? 1 : problem.c.leading_dimension;
  arguments.batch_stride_a = problem.a.batch_stride;
  arguments.batch_stride_b = problem.b.batch_stride;
  arguments.batch_stride_c = problem.c.batch_stride;
  arguments.batch_stride_d = problem.d.batch_stride;
  arguments.batch_stride_bias = bias_batch_stride(problem);
  arguments.alpha = 1;
  return arguments;
}

Launch without_workspace(Launch launch) {
  launch.workspace_bytes = 0;
  launch.parameters = launch.parameters.zeroed();
  return launch;
}

std::vector<Instance> launch_variants(const Instance& instance, const DeviceLimits& limits) {
  const Family& family = *instance.candidate.family;
  std::vector<Instance> variants{instance};
  for (const Knob& knob : family.knobs()) {
    if (knob.role != Knob::kLaunch) {
      continue;
    }
    const std::size_t before = variants.size();
    for (std::size_t index = 0; index < before; ++index) {
      Config config = variants[index].candidate.config;
      for (const int value : knob.values) {
        if (value == instance.candidate.config.at(knob.name)) {
          continue;
        }
        config.set(knob.name, value);
        if (Instantiation made = family.instantiate(instance.problem, config, limits)) {
          variants.push_back(std::move(made).value());
        }
      }
    }
  }
  return variants;
}

const Instance& Instantiation::value() const& {
  if (!*this) {
    throw std::invalid_argument(why_not());
  }
  return **this;
}

Instance Instantiation::value() && {
  if (!*this) {
    throw std::invalid_argument(why_not());
  }
  return std::get<0>(std::move(made_));
}

Source Instance::source() const {
  const auto& [family, config] = candidate;
  const Family::Text& text = family->text();
  Source source{.backend = std::string(family->backend_),
                .file = family->file_,
                .includes = text.includes,
                .defines = family->common_defines(
                    launch.swaps_operands ? transposed(problem) : problem, config),
                .entry = "tunedgemm_" + std::string(family->name_),
                .needs_exact_architecture = needs_exact_architecture,
                .template_fingerprint = text.template_fingerprint};
  for (auto& define : family->launch_defines(config, launch)) {
    source.defines.push_back(std::move(define));
  }
  for (const auto& [macro, value] : defines) {
    const auto known =
        std::find_if(source.defines.begin(), source.defines.end(),
                     [name = macro](const auto& define) { return define.first == name; });
    if (known == source.defines.end()) {
      source.defines.emplace_back(macro, value);
    } else {
      known->second = value;
    }
  }
  return source;
}

std::vector<Config> Family::search_space(const Problem&, const DeviceLimits&) const {
  std::vector<Config> all;
  std::vector<std::size_t> position(knobs_.size(), 0);
  while (true) {
    Config config;
    for (std::size_t knob = 0; knob < knobs_.size(); ++knob) {
      config.set(knobs_[knob].name, knobs_[knob].values[position[knob]]);
    }
    all.push_back(std::move(config));
    // Advance like an odometer, the last knob first.
    std::size_t knob = knobs_.size();
    while (knob > 0 && ++position[knob - 1] == knobs_[knob - 1].values.size()) {
      position[--knob] = 0;
    }
    if (knob == 0) {
      return all;
    }
  }
}

Instantiation Family::instantiate(const Problem& problem, const Config& config,
                                  const DeviceLimits& limits) const {
  if (problem.sm_limit > 0 && limits.is_gpu() && limits.most_ctas != problem.sm_limit) {
    return instantiate(problem, config, within_sm_limit(problem, limits));
  }
  if (problem.group_kind != GroupKind::kNone && !computes_groups()) {
    return std::string(name_) + " computes no grouped products";
  }
  Instantiation made = make_instance(problem, config, limits);
  if (!made) {
    return made;
  }
  if (std::string why = why_not_class(made->candidate, problem, limits); !why.empty()) {
    return why;
  }
  if (std::string why = why_not_grid(made->launch, limits); !why.empty()) {
    return why;
  }
  return made;
}

AccumulationClass Family::accumulation_class(const Problem&, const DeviceLimits&) const {
  return AccumulationClass::kNone;
}

std::vector<Instance> Family::candidates(const Problem& problem,
                                         const DeviceLimits& device_limits) const {
  const DeviceLimits limits = within_sm_limit(problem, device_limits);
  const std::vector<Config> space = search_space(problem, limits);
  std::vector<Instance> legal;
  legal.reserve(space.size());
  for (const Config& config : space) {
    if (Instantiation made = instantiate(problem, config, limits)) {
      legal.push_back(std::move(made).value());
    }
  }
  return legal;
}

std::string Family::why_no_candidate(const Problem& problem,
                                     const DeviceLimits& device_limits) const {
  const DeviceLimits limits = within_sm_limit(problem, device_limits);
  std::string first;
  for (const Config& config : search_space(problem, limits)) {
    const Instantiation made = instantiate(problem, config, limits);
    if (made) {
      return "";
    }
    first = first.empty() ? made.why_not() : first;
  }
  return first.empty() ? "it has no config for this problem" : first;
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

Instantiation instantiate(const Problem& problem, const Candidate& candidate,
                          const DeviceLimits& limits) {
  if (candidate.family == nullptr || candidate.family->backend() != limits.backend) {
    return "no such family on this device";
  }
  return candidate.family->instantiate(problem, candidate.config, limits);
}

AccumulationClass accumulation_class(const Problem& problem, const DeviceLimits& limits) {
  AccumulationClass last = AccumulationClass::kNone;
  for (const Family* family : families(limits.backend)) {
    last = std::max(last, family->accumulation_class(problem, limits));
  }
  return last;
}

AccumulationClass accumulation_class(const Candidate& candidate, const Problem& problem,
                                     const DeviceLimits& limits) {
  // Sums of integers have the same bits in any order.
  const bool splits = candidate.config.find("split_k").value_or(1) > 1 &&
                      accumulator(problem.a.type, problem.b.type) != DataType::kS32;
  return splits ? AccumulationClass::kNone : candidate.family->accumulation_class(problem, limits);
}

std::string why_no_candidate(const Problem& problem, const DeviceLimits& limits) {
  std::string last = "there is no family for " + limits.backend;
  for (const Family* family : families(limits.backend)) {
    const std::string why = family->why_no_candidate(problem, limits);
    if (why.empty()) {
      return "";
    }
    last = std::string(family->name()) + ": " + why;
  }
  return "no kernel computes " + to_text(problem) + ". " + last;
}

std::vector<Instance> ranked_candidates(const Problem& problem, const DeviceLimits& limits) {
  std::vector<Instance> ranked;
  for (const Family* family : families(limits.backend)) {
    std::vector<Instance> candidates = family->candidates(problem, limits);
    ranked.insert(ranked.end(), std::make_move_iterator(candidates.begin()),
                  std::make_move_iterator(candidates.end()));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Instance& left, const Instance& right) {
    return left.predicted_us < right.predicted_us;
  });
  return ranked;
}

Instance default_candidate(const Problem& problem, const DeviceLimits& limits) {
  std::vector<Instance> ranked = ranked_candidates(problem, limits);
  if (ranked.empty()) {
    throw std::invalid_argument(why_no_candidate(problem, limits));
  }
  return std::move(ranked.front());
}

}  // namespace tunedgemm::internal

#include "tests/tuner/support/simulated_device.h"

#include <algorithm>

namespace tunedgemm::internal {

class SimulatedDevice::SimulatedTrial final : public Trial {
 public:
  SimulatedTrial(SimulatedDevice& device, std::string candidate, const Behaviour& behaviour)
      : device_(device), candidate_(std::move(candidate)), behaviour_(behaviour) {
    binary_.entry = "tunedgemm_fake";
    binary_.registers = 128;
    binary_.spill_bytes = behaviour.spill_bytes;
    binary_.compile_ms = 1e3 * behaviour.compile_seconds;
  }

  const Binary& binary() const override { return binary_; }

  std::variant<double, Rejection> check() override {
    device_.now += 2e-6 * behaviour_.us;
    device_.checked.push_back(candidate_);
    if (behaviour_.when_checked) {
      return *behaviour_.when_checked;
    }
    return behaviour_.error;
  }

  std::variant<double, Rejection> sample(int launches) override {
    device_.sampled.push_back(candidate_);
    if (behaviour_.when_sampled && samples_++ >= behaviour_.good_samples) {
      return *behaviour_.when_sampled;
    }
    std::normal_distribution<double> normal(1.0, device_.noise);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    double us = behaviour_.us * normal(device_.random_) / device_.ratio();
    if (uniform(device_.random_) < device_.outlier_probability) {
      us *= 1.2 + 1.8 * uniform(device_.random_);
    }
    device_.now += 1e-6 * us * (launches + 1);
    return us;
  }

 private:
  SimulatedDevice& device_;
  std::string candidate_;
  Behaviour behaviour_;
  Binary binary_;
  int samples_ = 0;
};

void SimulatedDevice::compile_ahead(std::span<const Instance> candidates) {
  announced.push_back(candidates.size());
  prepared_when_announced.push_back(prepared.size());
  compile_until(now);
  free_at_.resize(static_cast<std::size_t>(compilers));
  for (double& free_at : free_at_) {
    free_at = std::max(free_at, now);
  }
  for (const Instance& candidate : candidates) {
    to_compile_.push_back(to_text(candidate.candidate));
  }
}

// Begins every compilation for which a compiler is free by that time.
void SimulatedDevice::compile_until(double time) {
  while (compilers > 0 && !to_compile_.empty()) {
    double& free_at = *std::min_element(free_at_.begin(), free_at_.end());
    if (free_at > time) {
      return;
    }
    free_at += behaviours_.at(to_compile_.front()).compile_seconds;
    compiled_at_[to_compile_.front()] = free_at;
    to_compile_.pop_front();
  }
}

void SimulatedDevice::compile_next(std::span<const Instance> candidates) {
  for (const Instance& candidate : candidates) {
    of_next.push_back(to_text(candidate.candidate));
  }
}

bool SimulatedDevice::is_compiled(const Instance& candidate) {
  compile_until(now);
  const auto compiled = compiled_at_.find(to_text(candidate.candidate));
  return compilers == 0 || (compiled != compiled_at_.end() && compiled->second <= now);
}

void SimulatedDevice::forget(const Instance& candidate) {
  compile_until(now);
  forgotten.push_back(to_text(candidate.candidate));
  std::erase(to_compile_, forgotten.back());
}

Prepared SimulatedDevice::prepare(const Instance& instance) {
  const std::string text = to_text(instance.candidate);
  prepared.push_back(text);
  const Behaviour& behaviour = behaviours_.at(text);
  while (compilers > 0 && !compiled_at_.contains(text)) {
    compile_until(*std::min_element(free_at_.begin(), free_at_.end()));
  }
  if (stops_compilers && now + behaviour.compile_seconds > deadline_) {
    now = std::max(now, deadline_);
    return Rejection{Reason::kUnavailable, "the compiler was stopped"};
  }
  now = compilers > 0 ? std::max(now, compiled_at_[text]) : now + behaviour.compile_seconds;
  if (behaviour.when_prepared) {
    return *behaviour.when_prepared;
  }
  return std::make_unique<SimulatedTrial>(*this, text, behaviour);
}

void SimulatedDevice::warm_up() {
  ++warm_ups;
  now += 0.02;
}

Evaluator::Clock SimulatedDevice::clock() {
  return {static_cast<int>(1980 * ratio()), ratio() < 0.8};
}

}  // namespace tunedgemm::internal

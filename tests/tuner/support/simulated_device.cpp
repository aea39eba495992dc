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
}

Prepared SimulatedDevice::prepare(const Instance& instance) {
  const std::string text = to_text(instance.candidate);
  prepared.push_back(text);
  const Behaviour& behaviour = behaviours_.at(text);
  now += behaviour.compile_seconds;
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

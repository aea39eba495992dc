#pragma once

// PlainBackend: a kind of device whose devices are PlainDevices.

#include <memory>
#include <string>
#include <string_view>

#include "runtime/backend.h"
#include "runtime/evaluation/verifier.h"
#include "tests/runtime/support/plain_device.h"

namespace tunedgemm::internal {

class PlainBackend : public Backend {
 public:
  std::string_view name() const override { return "host"; }
  int device_count(std::string*) const override { return 1; }
  int current_ordinal() const override { return 0; }
  std::string device_name(int) const override { return "plain"; }
  std::unique_ptr<Device> open(int, int) const override {
    return std::make_unique<PlainDevice>(Problem{}, Flaw::kNone);
  }
  std::string compiler_file() const override { return ""; }
  std::unique_ptr<Verifier> make_verifier(Device&, Store&) const override { return nullptr; }
  double roofline_us(const Problem&, const DeviceLimits&) const override { return 0; }
  double peak_operations_per_cycle(const Problem&, const DeviceLimits&) const override { return 0; }
  std::int64_t cold_bytes(const DeviceLimits&) const override { return 0; }
  bool cools_by_overwriting() const override { return false; }
  double cool_down_seconds() const override { return 0; }
  double usual_seconds_per_candidate() const override { return 1; }
};

}  // namespace tunedgemm::internal

#pragma once

#include "cache/record.h"
#include "kernel_templates/family.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// As if this candidate had won on the device. Without a measurement, and as cursory as can be.
inline Record winner_record(const Instance& instance, Device& device) {
  Record record;
  record.problem = instance.problem;
  record.device = device.identity();
  record.toolchain = device.toolchain();
  record.family = instance.candidate.family->name();
  record.config = instance.candidate.config;
  record.family_fingerprint = instance.candidate.family->fingerprint();
  return record;
}

}  // namespace tunedgemm::internal

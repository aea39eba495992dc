#pragma once

#include <variant>

#include "cache/store.h"
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

/// Puts it into the store with its binary, as a usual tuning leaves it.
inline Record store_winner(Store& store, const Instance& instance, Device& device) {
  Record record = winner_record(instance, device);
  record.rigor = Rigor::kNormal;
  const Source source = instance.source();
  store.put(record, source, std::get<Binary>(device.compile(source)), {});
  return record;
}

}  // namespace tunedgemm::internal

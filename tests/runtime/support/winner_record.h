#pragma once

#include <variant>

#include "cache/store.h"
#include "kernel_templates/family.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// The record of this candidate as the device's winner, with the lowest rigor and no measurement.
inline Record winner_record(const Instance& instance, Device& device) {
  Record record;
  record.problem = canonical(instance.problem);
  record.device = device.identity();
  record.toolchain = device.toolchain();
  record.family = instance.candidate.family->name();
  record.config = instance.candidate.config;
  record.family_fingerprint = instance.candidate.family->fingerprint();
  return record;
}

/// Stores the winner with its binary, as a normal tuning does.
inline Record store_winner(Store& store, const Instance& instance, Device& device) {
  Record record = winner_record(instance, device);
  record.rigor = Rigor::kNormal;
  const Source source = instance.source();
  store.put(record, source, std::get<Binary>(device.compile(source)), {});
  return record;
}

}  // namespace tunedgemm::internal

#pragma once

// What the members of Store share. Private to this folder.

#include <exception>
#include <string>

#include "cache/archive.h"

namespace tunedgemm {

/// Runs the body of a member of Store, which lets nothing through: see the contract in store.h.
template <class Result, class Body>
Result guarded(Archive& archive, Result otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    archive.remark_failure(error.what());
  }
  return otherwise;
}

template <class Body>
void guarded(Archive& archive, Body&& body) noexcept {
  guarded(archive, false, [&] {
    body();
    return true;
  });
}

/// Judges winners by the families of the archive's options.
IsCurrent judge_of(const Archive& archive);
const Family* family_of(const Archive& archive, std::string_view name);

TuningKey tuning_key(const Problem& problem, const DeviceIdentity& device,
                     const Toolchain& toolchain);

}  // namespace tunedgemm

#pragma once

// What the members of Store share. Private to cache.

#include <exception>
#include <string>

#include "cache/archive/archive.h"

namespace tunedgemm::internal {

/// Runs the body of a member of Store, which lets nothing through: see the contract in store.h.
template <class Result, class Body>
Result no_throw(Archive& archive, Result otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    archive.warn_of_failure(error.what());
  }
  return otherwise;
}

template <class Body>
void no_throw(Archive& archive, Body&& body) noexcept {
  no_throw(archive, false, [&] {
    body();
    return true;
  });
}

/// Whether a winner counts still, by the families of the archive's options.
IsCurrent is_current_in(const Archive& archive);

TuningKey tuning_key(const Problem& problem, const DeviceIdentity& device,
                     const Toolchain& toolchain);

}  // namespace tunedgemm::internal

#pragma once

inline uint4 load_global_once(const void* from) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0) {
    emulation::fail("a load of 16 bytes is not aligned");
  }
  return *static_cast<const uint4*>(from);
}

// A copy reads and writes when its thread waits for it.
#pragma once

#include "data_movement.cuh"

inline void copy_later(char* to, const void* from, int bytes, int present) {
  if (reinterpret_cast<std::uintptr_t>(from) % static_cast<unsigned>(bytes) != 0 && present > 0) {
    emulation::fail("cp.async of " + std::to_string(bytes) + " bytes is not aligned");
  }
  emulation::self().started.push_back([=] {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
    std::memcpy(to, from, static_cast<std::size_t>(present));
  });
}
inline char* destination(const void* to, int bytes) {
  return emulation::pointer_to(shared_address(to), static_cast<unsigned>(bytes));
}
inline void copy_4_bytes(void* to, const void* from, int present) {
  copy_later(destination(to, 4), from, 4, present);
}
inline void copy_8_bytes(void* to, const void* from, int present) {
  copy_later(destination(to, 8), from, 8, present);
}
inline void copy_16_bytes(void* to, const void* from, int present) {
  copy_later(destination(to, 16), from, 16, present);
}
inline void copy_4_bytes(unsigned to, const void* from) {
  copy_later(emulation::pointer_to(to, 4), from, 4, 4);
}
inline void copy_16_bytes(unsigned to, const void* from) {
  copy_later(emulation::pointer_to(to, 16), from, 16, 16);
}

inline void end_copy_group() {
  emulation::Fiber& fiber = emulation::self();
  fiber.groups.push_back(std::move(fiber.started));
  fiber.started.clear();
}
inline void wait_for_copies(int pending) {
  emulation::execute_groups(emulation::self().groups, pending);
}

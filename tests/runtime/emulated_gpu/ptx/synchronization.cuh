#pragma once

inline void sync(int id, int threads) {
  emulation::wait_at(emulation::self().cta->barriers[static_cast<std::size_t>(id)],
                     static_cast<unsigned>(threads));
}
inline void arrive(int id, int threads) {
  emulation::arrive_at(emulation::self().cta->barriers[static_cast<std::size_t>(id)],
                       static_cast<unsigned>(threads));
}
inline void launch_dependents() {}
inline void wait_for_previous_kernels() {}

#pragma once

// The tests' control of the fake NVML.

namespace tunedgemm::internal::fake_cuda {

/// Another process on the GPU.
struct Neighbour {
  unsigned pid = 1;
  unsigned sm_percent = 0;
  unsigned long long age_us = 0;  ///< of the newest sample
  bool shows_this_process = true;
};

/// The symbol of `void (const Neighbour*)`, which sets the neighbour.
inline constexpr const char* kSetNeighbourSymbol = "tunedgemm_fake_nvml_set";
using SetNeighbour = void (*)(const Neighbour*);

}  // namespace tunedgemm::internal::fake_cuda

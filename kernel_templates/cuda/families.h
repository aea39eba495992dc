#pragma once

// The families of CUDA devices by name, which families.cpp lists; what they share: what they
// refuse, values of knobs, and the cost of the naive ones.

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

const Family& naive_1d_family();
const Family& naive_2d_family();
const Family& row_per_block_family();
const Family& row_shared_family();
const Family& tiled_shared_family();
const Family& simt_family();
const Family& mma_family();
const Family& wgmma_family();

/// A family whose kernels are CUDA sources.
class CudaFamily : public Family {
 public:
  CudaFamily(std::string_view name, std::string_view file, std::vector<Knob> knobs);

 protected:
  /// Refuses knobs, other devices, and those of an architecture below `least_arch`.
  std::string why_not_device(const Config& config, const DeviceLimits& limits,
                             int least_arch = 0) const;
  std::vector<std::pair<std::string, std::string>> launch_defines(
      const Config& config, const Launch& launch) const override;
};

/// Values of a knob: least, least + step ... up to `most`.
std::vector<int> in_steps(int least, int most, int step = 1);

/// How a kernel without register tiles spends its time.
struct NaiveCost {
  double multiply_adds_per_cycle = 1;  ///< of an SM with enough threads to do
  double cycles_per_step = 1;          ///< of K, for a thread that has the SM to itself
};
/// The longer of the two: all the work, or one thread's `steps_of_a_thread`, plus the launch.
double naive_us(const Problem& problem, const NaiveCost& cost, double steps_of_a_thread,
                const DeviceLimits& limits);

/// 1 where the threads of a warp, which are neighbours along N, read neighbours in memory or share
/// an element; more where each of them touches another line. Loading the whole B this way costs
/// that many times more.
double scatter_of_b(const Problem& problem);

}  // namespace tunedgemm::internal

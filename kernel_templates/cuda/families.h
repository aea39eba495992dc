#pragma once

// The families of CUDA devices by name, in the order of families.cpp, and their common code:
// checks, knob values, and the cost model of the naive families.

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

const Family& naive_1d_family();
const Family& naive_2d_family();
const Family& row_per_block_family();
const Family& row_shared_family();
const Family& tiled_shared_family();
const Family& simt_family();
const Family& mma_family();
const Family& skinny_family();
const Family& wgmma_family();

/// A family whose kernels are CUDA sources.
class CudaFamily : public Family {
 public:
  CudaFamily(std::string_view name, std::string_view file, std::vector<Knob> knobs);

  /// kInOrder, that of kernels without tensor cores.
  AccumulationClass accumulation_class(const Problem& problem,
                                       const DeviceLimits& limits) const override;

 protected:
  /// Refuses wrong knobs, other backends, and devices below the architecture `least_arch`.
  std::string why_not_device(const Config& config, const DeviceLimits& limits,
                             int least_arch = 0) const;
  std::vector<std::pair<std::string, std::string>> launch_defines(
      const Config& config, const Launch& launch) const override;
};

/// Knob values: least, least + step ... up to `most`.
std::vector<int> in_steps(int least, int most, int step = 1);

/// The throughput and the latency of a kernel without register tiles.
struct NaiveCost {
  double multiply_adds_per_cycle = 1;  ///< of an SM full of threads
  double cycles_per_step = 1;          ///< per step of K, for a thread alone on its SM
};
/// The latency of a load from memory in cycles (naive/LABBOOK.md).
constexpr double kMemoryLatency = 550;
/// The cycles that a thread waits for the elements of A and B, or only of B, in a step of K.
double load_cycles_of_a_and_b(const Problem& problem);
double load_cycles_of_b(const Problem& problem);
/// The time of an empty launch plus the longest of three times: all multiply-adds at the full rate,
/// the start and `steps_of_a_thread` steps of a thread alone on its SM, and the memory traffic.
double naive_us(const Problem& problem, const NaiveCost& cost, double steps_of_a_thread,
                const DeviceLimits& limits);

/// Whether the epilogue computes a transcendental activation in f64. Its loop is not unrolled,
/// since the copies would make up most of a kernel.
bool has_long_activation(const Problem& problem);

/// The cycles in which a thread's epilogue waits for C and the bias of an element of D, and
/// computes a transcendental activation. Kernels that load an element only if it is inside D wait
/// for one element after the other. Other kernels wait for `loads_in_flight` elements together.
double epilogue_cycles_of_element(const Problem& problem, int loads_in_flight = 1);

/// The part of a tile of D, of these rows and columns, that is inside D if D is smaller.
double part_inside(const Problem& problem, int rows, int columns);

/// An estimate of the elements of B that a warp loads for each element that it uses. The warp's
/// threads are neighbours along N. If B is row-major, they load neighbouring elements: the ratio is
/// 1. If B is column-major, each thread touches a different cache line: the ratio is larger.
double scatter_of_b(const Problem& problem);

}  // namespace tunedgemm::internal

#pragma once

// GpuFacts: what is known of NVIDIA's GPUs beyond what a driver tells: how much one SM computes in
// a cycle, by element type, and what to assume where a driver tells nothing. The cost models, the
// rooflines and the reading of a device's properties all take their numbers from here.

#include <cstdint>
#include <string_view>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// Compute capabilities tell product lines apart: 8.0 is the A100, 8.6 a GeForce or RTX card whose
/// f64 is 1/64 of its f32.
enum class ProductLine { kDataCenter, kGraphics, kEmbedded };

/// A plain value. Rates are multiply-adds in a cycle of one SM, with dense matrices.
struct GpuFacts {
  int arch = 0;  ///< as DeviceLimits::arch; 0: not a known GPU
  ProductLine line = ProductLine::kGraphics;
  std::string_view products;

  /// Of CUDA cores; s32 is the multiply-add of 32-bit integers.
  double cuda_f64 = 0, cuda_f32 = 0, cuda_s32 = 0;
  /// Of tensor cores by their fastest instruction (mma.sync, wgmma or tcgen05); bf16 as f16. Types
  /// that they do not multiply have the rate of those that stand in for them.
  double tensor_f64 = 0, tensor_f16 = 0, tensor_fp8 = 0, tensor_s8 = 0;
  /// Of mma.sync alone; tf32 is half of f16, 8 bits are twice that.
  double mma_sync_f64 = 0, mma_sync_f16 = 0;

  /// Of a common product of the line, where the driver tells nothing.
  double clock_ghz = 0, memory_gb_per_s = 0;
  std::int64_t l2_bytes = 0, shared_bytes_per_block = 0, shared_bytes_per_sm = 0;
  int registers_per_sm = 65536;

  bool is_known() const { return arch != 0; }
};

/// The facts of a compute capability. For one that is not known those of a graphics card, which
/// promise least of f64 and of tensor cores.
const GpuFacts& gpu_facts(int arch);

/// The greatest of all known rates, for bounds that an unknown GPU must not be able to exceed.
const GpuFacts& greatest_gpu_facts();

/// The multiply-adds in a cycle of one SM of the fastest unit for the problem's types and numerics;
/// of `emulated` those of the tf32 or bf16 products that it is made of.
double peak_multiply_adds(const Problem& problem, const GpuFacts& facts);

/// The limits with what the driver reports as 0 filled in. The host's are left as they are.
DeviceLimits with_usual_values(DeviceLimits limits);

}  // namespace tunedgemm::internal

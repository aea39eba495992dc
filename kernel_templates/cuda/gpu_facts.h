#pragma once

// GpuFacts: the arithmetic throughput of an SM for each element type, which the driver does not
// report, and usual values for properties that some drivers report as 0. The cost models, the
// rooflines and the device properties all take these numbers from here.

#include <cstdint>
#include <string_view>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The compute capability determines the product line. For example, 8.0 is for data centers (A100,
/// A30), and 8.6 is a graphics card, whose f64 rate is 1/64 of its f32 rate.
enum class ProductLine { kDataCenter, kGraphics, kEmbedded };

/// A plain value. Rates are dense multiply-adds per cycle of one SM.
struct GpuFacts {
  int arch = 0;  ///< as DeviceLimits::arch; 0: unknown GPU
  ProductLine line = ProductLine::kGraphics;
  std::string_view products;

  /// CUDA cores; s32 is the multiply-add of 32-bit integers.
  double cuda_f64 = 0, cuda_f32 = 0, cuda_s32 = 0;
  /// Tensor cores, with their fastest instruction (mma.sync, wgmma or tcgen05); bf16 has the rate
  /// of f16. Types without tensor core instructions have the rate of the type to which they are
  /// converted, or for f64 the rate of the CUDA cores.
  double tensor_f64 = 0, tensor_f16 = 0, tensor_fp8 = 0, tensor_s8 = 0;
  /// Tensor cores with mma.sync; tf32 has half the rate of f16, and 8-bit types that are not
  /// converted have twice the rate of f16.
  double mma_sync_f64 = 0, mma_sync_f16 = 0;

  /// Usual values, of a common product, for properties that some drivers report as 0.
  double clock_ghz = 0, memory_gb_per_s = 0;
  std::int64_t l2_bytes = 0, shared_bytes_per_block = 0, shared_bytes_per_sm = 0;
  int registers_per_sm = 65536;

  bool is_known() const { return arch != 0; }
};

/// The facts of a compute capability. An unknown compute capability gets those of a graphics card,
/// which has the lowest rates of f64 and of f16 on tensor cores.
const GpuFacts& gpu_facts(int arch);

/// The highest known rates: upper bounds for unknown GPUs.
const GpuFacts& greatest_gpu_facts();

/// Multiply-adds per cycle of one SM on the fastest unit for the types and numerics of the problem.
/// For `emulated` this is the rate of tf32.
double peak_multiply_adds(const Problem& problem, const GpuFacts& facts);

/// The limits with usual values in place of zeros. Limits of the host are returned unchanged.
DeviceLimits with_usual_values(DeviceLimits limits);

}  // namespace tunedgemm::internal

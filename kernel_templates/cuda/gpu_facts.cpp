#include "kernel_templates/cuda/gpu_facts.h"

#include <algorithm>
#include <array>

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20;

// The sources of all rows, checked 2026-11:
// - CUDA cores: "CUDA C++ Best Practices Guide" 13.0, table "Throughput of Native Arithmetic
//   Instructions" (before 13: "CUDA C++ Programming Guide"): 64-bit and 32-bit floating-point and
//   32-bit integer multiply-add. The columns 7.x and 8.x have footnotes for 7.5 and 8.6. The table
//   does not list 8.7 and 11.0, which are assumed to be like the graphics cards of their
//   generation.
// - Shared memory and registers: "CUDA Programming Guide" 13, "Compute Capabilities", table "Memory
//   Information per Compute Capability".
// - Other columns: the document named above the row, for the row's first product. Tensor core rates
//   are the dense peak / (2 * boost clock * SMs), rounded to a power of two. The f16 rate is that
//   of professional cards with f32 accumulators; GeForce cards of 8.6, 8.9 and 12.0 have half that
//   rate.
// - mma.sync: the only tensor core instruction before 9.0 and from 12.0 on; on 9.0 about 5/8 of the
//   wgmma rate. Nothing is published for 10.0, 10.3 and 11.0: 10.0 and 10.3 are assumed to be like
//   9.0, and 11.0 like 12.0.
// Before 8.9 fp8 is multiplied as f16, and so is s8 on 7.0.
// Columns: arch, line, products; CUDA cores' f64, f32, s32; tensor cores' f64, f16, fp8, s8;
// mma.sync's f64, f16; GHz, GB/s, L2, shared memory of a CTA and of an SM.
// clang-format off
constexpr std::array kFacts{
    // "NVIDIA Tesla V100 GPU Architecture": 125 TFLOP/s of f16 with 80 SMs.
    GpuFacts{70, ProductLine::kDataCenter, "V100",
             32, 64, 64, 32, 512, 512, 512, 32, 512,
             1.53, 900, 6 * kMiB, 96 * kKiB, 96 * kKiB},
    // "NVIDIA Turing GPU Architecture"; "NVIDIA T4" data sheet: 65 TFLOP/s of f16, 130 of s8 with
    // 40 SMs.
    GpuFacts{75, ProductLine::kGraphics, "T4, GeForce RTX 20",
             2, 64, 64, 2, 512, 512, 1024, 2, 512,
             1.59, 320, 4 * kMiB, 64 * kKiB, 64 * kKiB},
    // "NVIDIA A100 Tensor Core GPU Architecture": 312 TFLOP/s of f16, 19.5 of f64 with 108 SMs.
    GpuFacts{80, ProductLine::kDataCenter, "A100, A30",
             32, 64, 64, 64, 1024, 1024, 2048, 64, 1024,
             1.41, 1555, 40 * kMiB, 163 * kKiB, 164 * kKiB},
    // "NVIDIA Ampere GA102 GPU Architecture"; "NVIDIA A10" data sheet: 125 TFLOP/s of f16 with
    // 72 SMs.
    GpuFacts{86, ProductLine::kGraphics, "A10, A40, RTX A6000, GeForce RTX 30",
             2, 128, 64, 2, 512, 512, 1024, 2, 512,
             1.70, 600, 6 * kMiB, 99 * kKiB, 100 * kKiB},
    // "NVIDIA Jetson AGX Orin Series Technical Brief": 85 dense TOP/s of s8 with 16 SMs.
    GpuFacts{87, ProductLine::kEmbedded, "Jetson Orin",
             2, 128, 64, 2, 1024, 1024, 2048, 2, 1024,
             1.30, 205, 4 * kMiB, 163 * kKiB, 164 * kKiB},
    // "NVIDIA Ada GPU Architecture"; "NVIDIA L4" data sheet: 121 TFLOP/s of f16, 242 of fp8 with
    // 58 SMs.
    GpuFacts{89, ProductLine::kGraphics, "L4, L40, RTX 6000 Ada, GeForce RTX 40",
             2, 128, 64, 2, 512, 1024, 1024, 2, 512,
             2.04, 300, 48 * kMiB, 99 * kKiB, 100 * kKiB},
    // "NVIDIA H100 Tensor Core GPU Architecture": 989 TFLOP/s of f16, 67 of f64 with 132 SMs.
    GpuFacts{90, ProductLine::kDataCenter, "H100, H200, GH200",
             64, 128, 64, 128, 2048, 4096, 4096, 128, 1280,
             1.98, 3350, 50 * kMiB, 227 * kKiB, 228 * kKiB},
    // "NVIDIA Blackwell Architecture Technical Brief", table of HGX B200: 2250 TFLOP/s of f16, 4500
    // of fp8 and of s8, 37 to 40 of f64 with 148 SMs.
    GpuFacts{100, ProductLine::kDataCenter, "B200, GB200",
             64, 128, 64, 64, 4096, 8192, 8192, 64, 1280,
             1.96, 8000, 126 * kMiB, 227 * kKiB, 228 * kKiB},
    // "NVIDIA Blackwell Architecture Technical Brief", table of HGX B300, and "NVIDIA GB300 NVL72"
    // data sheet: f16 and fp8 as B200, but 1.25 TFLOP/s of f64 and 150 to 165 TOP/s of s8.
    GpuFacts{103, ProductLine::kDataCenter, "B300, GB300",
             2, 128, 64, 2, 4096, 8192, 256, 2, 1280,
             1.92, 8000, 126 * kMiB, 227 * kKiB, 228 * kKiB},
    // "NVIDIA Jetson Thor Series Modules" data sheet: 2070 TFLOP/s of sparse fp4 with 20 SMs; dense
    // f16 is an eighth of that, and s8 is assumed to equal fp8.
    GpuFacts{110, ProductLine::kEmbedded, "Jetson Thor",
             2, 128, 64, 2, 4096, 8192, 8192, 2, 512,
             1.57, 273, 32 * kMiB, 227 * kKiB, 228 * kKiB},
    // "NVIDIA RTX Blackwell GPU Architecture" and "NVIDIA RTX PRO Blackwell GPU Architecture": 125
    // TFLOP/s of f32 with 188 SMs.
    GpuFacts{120, ProductLine::kGraphics, "RTX PRO 6000 Blackwell, GeForce RTX 50",
             2, 128, 64, 2, 512, 1024, 1024, 2, 512,
             2.62, 1792, 128 * kMiB, 99 * kKiB, 100 * kKiB},
    // "NVIDIA DGX Spark" data sheet: 1000 TFLOP/s of sparse fp4 with 48 SMs; dense f16 is an eighth
    // of that.
    GpuFacts{121, ProductLine::kEmbedded, "GB10",
             2, 128, 64, 2, 512, 1024, 1024, 2, 512,
             2.42, 273, 24 * kMiB, 99 * kKiB, 100 * kKiB},
};

// The clock and the memory bandwidth are moderate, so that neither dominates every prediction.
constexpr GpuFacts kUnknown{0, ProductLine::kGraphics, "unknown",
                            2, 128, 64, 2, 512, 1024, 1024, 2, 512,
                            1.50, 500, 6 * kMiB, 48 * kKiB, 64 * kKiB};
// clang-format on

}  // namespace

const GpuFacts& gpu_facts(int arch) {
  const auto found = std::find_if(kFacts.begin(), kFacts.end(),
                                  [&](const GpuFacts& facts) { return facts.arch == arch; });
  return found == kFacts.end() ? kUnknown : *found;
}

const GpuFacts& greatest_gpu_facts() {
  static const GpuFacts greatest = [] {
    GpuFacts all = kUnknown;
    for (const GpuFacts& facts : kFacts) {
      for (double GpuFacts::*rate :
           {&GpuFacts::cuda_f64, &GpuFacts::cuda_f32, &GpuFacts::cuda_s32, &GpuFacts::tensor_f64,
            &GpuFacts::tensor_f16, &GpuFacts::tensor_fp8, &GpuFacts::tensor_s8}) {
        all.*rate = std::max(all.*rate, facts.*rate);
      }
    }
    return all;
  }();
  return greatest;
}

double peak_multiply_adds(const Problem& problem, const GpuFacts& facts) {
  const DataType type = problem.a.type;
  if (type == DataType::kF64) {
    return std::max(facts.cuda_f64, facts.tensor_f64);
  }
  if (type == DataType::kF32) {
    return problem.numerics == Numerics::kIeee ? facts.cuda_f32 : facts.tensor_f16 / 2;
  }
  return is_fp8(type) ? facts.tensor_fp8 : is_integer(type) ? facts.tensor_s8 : facts.tensor_f16;
}

DeviceLimits with_usual_values(DeviceLimits limits) {
  if (limits.backend != "cuda") {
    return limits;
  }
  const GpuFacts& facts = gpu_facts(limits.arch);
  const auto fill = [](auto& value, auto usual) { value = value > 0 ? value : usual; };
  fill(limits.clock_ghz, facts.clock_ghz);
  fill(limits.memory_gb_per_s, facts.memory_gb_per_s);
  fill(limits.l2_bytes, facts.l2_bytes);
  fill(limits.shared_bytes_per_block, facts.shared_bytes_per_block);
  fill(limits.shared_bytes_per_sm, facts.shared_bytes_per_sm);
  fill(limits.registers_per_sm, facts.registers_per_sm);
  return limits;
}

}  // namespace tunedgemm::internal

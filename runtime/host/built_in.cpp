// The algorithm of kernel_templates/host/blocked/kernel.cc with fixed block sizes. Packing widens
// the elements of A and B to the accumulator's type. Tiles are multiplied in registers.
// Accumulators stay in scratch between blocks of K. Only conversions depend on run-time types. The
// conversion of A and B is selected once per line, the conversion of C, the bias and D once per
// element.

#include "runtime/host/built_in.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "kernel_templates/cuda/reference/activation.cuh"
#include "kernel_templates/host/common/number.h"

namespace tunedgemm::internal {
namespace {

constexpr int kTileM = 6;
constexpr int kTileBytes = 64;  // the bytes of a row of a tile
constexpr long long kBlockM = 16LL * kTileM;
constexpr long long kBlockN = 512;
constexpr long long kBlockK = 256;

struct Line {
  const void* first;
  long long stride;  // in elements
  int count;
};

template <class Type, class Accumulator>
void widen_as(const Line& line, Accumulator* out, long long out_stride) {
  const auto* source = static_cast<const Type*>(line.first);
  for (int i = 0; i < line.count; ++i) {
    out[i * out_stride] = static_cast<Accumulator>(widen(source[i * line.stride]));
  }
}

template <class Accumulator>
void widen_line(DataType type, const Line& line, Accumulator* out, long long out_stride) {
  switch (type) {
    case DataType::kF64:
      return widen_as<f64>(line, out, out_stride);
    case DataType::kF32:
      return widen_as<f32>(line, out, out_stride);
    case DataType::kF16:
      return widen_as<f16>(line, out, out_stride);
    case DataType::kBF16:
      return widen_as<bf16>(line, out, out_stride);
    case DataType::kE4M3:
      return widen_as<e4m3>(line, out, out_stride);
    case DataType::kE5M2:
      return widen_as<e5m2>(line, out, out_stride);
    case DataType::kS8:
      return widen_as<s8>(line, out, out_stride);
    case DataType::kS32:
      return widen_as<s32>(line, out, out_stride);
  }
}

const void* element(DataType type, const void* matrix, long long index) {
  return static_cast<const std::byte*>(matrix) + index * size_bytes(type);
}

// The scales of the blocks of an operand; null if it has none.
struct BlockScales {
  const float* first;  // of the batch index
  long long lines;     // with the same scale
  long long stride, k_stride;

  float at(long long line, long long k) const {
    return first[line / lines * stride + k / kScaledDepth * k_stride];
  }
};

// A or B of one batch index, which begins at element `offset`. pack() packs `width` lines of
// `depth` elements side by side, each multiplied by the scale of its block. `matrix` is null if no
// element is read.
struct Operand {
  DataType type;
  const void* matrix;
  long long offset;
  long long line_stride, k_stride;
  long long lines;
  BlockScales scales;

  template <class Accumulator>
  void pack(Accumulator* out, int width, long long first_line, long long first_k,
            long long depth) const {
    const int valid = static_cast<int>(std::min<long long>(width, lines - first_line));
    if (valid < width) {
      std::fill_n(out, width * depth, Accumulator(0));
    }
    const void* corner =
        element(type, matrix, offset + first_line * line_stride + first_k * k_stride);
    if (line_stride == 1) {
      for (long long k = 0; k < depth; ++k) {
        widen_line(type, {element(type, corner, k * k_stride), 1, valid}, out + k * width, 1);
      }
    } else {
      for (int line = 0; line < valid; ++line) {
        const Line along_k{element(type, corner, line * line_stride), k_stride,
                           static_cast<int>(depth)};
        widen_line(type, along_k, out + line, width);
      }
    }
    for (int line = 0; scales.first != nullptr && line < valid; ++line) {
      for (long long k = 0; k < depth; ++k) {
        out[k * width + line] *=
            static_cast<Accumulator>(scales.at(first_line + line, first_k + k));
      }
    }
  }
};

// accumulators += a * b, with kTileM values of a and one row of b for each k. s32 accumulators have
// an unsigned type, because they wrap modulo 2^32.
template <class Accumulator>
[[gnu::always_inline]] inline void multiply(Accumulator* accumulators, const Accumulator* a,
                                            const Accumulator* b, long long depth) {
  using Vector [[gnu::vector_size(kTileBytes / 2)]] = Accumulator;
  constexpr int kHalf = kTileBytes / 2 / static_cast<int>(sizeof(Accumulator));
  Vector registers[kTileM][2];
  std::memcpy(&registers, accumulators, sizeof(registers));
  for (long long k = 0; k < depth; ++k) {
    Vector left, right;
    std::memcpy(&left, b + k * 2 * kHalf, sizeof(left));
    std::memcpy(&right, b + k * 2 * kHalf + kHalf, sizeof(right));
#pragma GCC unroll 8
    for (int m = 0; m < kTileM; ++m) {
      const Accumulator factor = a[k * kTileM + m];
      registers[m][0] += factor * left;
      registers[m][1] += factor * right;
    }
  }
  std::memcpy(accumulators, &registers, sizeof(registers));
}

template <class Accumulator>
using Multiply = void (*)(Accumulator* accumulators, const Accumulator* a, const Accumulator* b,
                          long long depth);

template <class Accumulator>
void multiply_anywhere(Accumulator* accumulators, const Accumulator* a, const Accumulator* b,
                       long long depth) {
  multiply(accumulators, a, b, depth);
}

#if defined(__x86_64__)
template <class Accumulator>
[[gnu::target("avx2,fma")]] void multiply_avx2(Accumulator* accumulators, const Accumulator* a,
                                               const Accumulator* b, long long depth) {
  multiply(accumulators, a, b, depth);
}

template <class Accumulator>
Multiply<Accumulator> best_multiply() {
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return wide ? &multiply_avx2<Accumulator> : &multiply_anywhere<Accumulator>;
}
#else
template <class Accumulator>
Multiply<Accumulator> best_multiply() {
  return &multiply_anywhere<Accumulator>;
}
#endif

double load(DataType type, const void* matrix, long long index) {
  double value = 0;
  widen_line(type, {element(type, matrix, index), 1, 1}, &value, 1);
  return value;
}

void store(DataType type, void* matrix, long long index, double value) {
  const auto put = [&](auto element) { static_cast<decltype(element)*>(matrix)[index] = element; };
  switch (type) {
    case DataType::kF64:
      return put(value);
    case DataType::kF16:
      return put(narrow(static_cast<f32>(value), f16{}));
    case DataType::kBF16:
      return put(narrow(static_cast<f32>(value), bf16{}));
    case DataType::kS32:
      return put(narrow(value, s32{}));
    default:
      return put(static_cast<f32>(value));
  }
}

template <class Accumulator>
struct Epilogue {
  // The type of alpha and beta in all kernels; the rest of this epilogue is f64.
  using Scalar = std::conditional_t<std::is_same_v<Accumulator, float>, float, double>;

  const ProblemClass& problem;
  const Arguments& arguments;
  double factor;  // alpha, and the scales of whole matrices
  double beta;
  bool stores_accumulators;

  Epilogue(const ProblemClass& problem_class, const Arguments& given)
      : problem(problem_class),
        arguments(given),
        factor(static_cast<Scalar>(given.alpha * scale(problem.scaling_a, given.scale_a) *
                                   scale(problem.scaling_b, given.scale_b))),
        beta(static_cast<Scalar>(given.beta)),
        stores_accumulators(problem.d == DataType::kS32 && given.alpha == 1 && !problem.read_c &&
                            problem.bias == Bias::kNone &&
                            problem.activation == Activation::kNone && given.scale_a == nullptr &&
                            given.scale_b == nullptr) {}

  static double scale(Scaling scaling, const float* one) {
    return scaling == Scaling::kTensor && one != nullptr ? double{*one} : 1.0;
  }

  void operator()(long long batch, long long m, long long n, Accumulator accumulator) const {
    const long long index = batch * arguments.batch_stride_d + m * arguments.ldd + n;
    if (stores_accumulators) {
      static_cast<s32*>(arguments.d)[index] = static_cast<s32>(accumulator);
      return;
    }
    using Signed = std::conditional_t<std::is_integral_v<Accumulator>, s32, Accumulator>;
    double x = factor * static_cast<double>(static_cast<Signed>(accumulator));
    if (problem.scaling_a == Scaling::kRow) {
      x *= static_cast<double>(
          arguments.scale_a[batch * arguments.scale_batch_stride_a + m * arguments.scale_stride_a]);
    }
    if (problem.scaling_b == Scaling::kRow) {
      x *= static_cast<double>(
          arguments.scale_b[batch * arguments.scale_batch_stride_b + n * arguments.scale_stride_b]);
    }
    if (problem.read_c) {
      x += beta * load(problem.d, arguments.c,
                       batch * arguments.batch_stride_c + m * arguments.c_stride_m +
                           n * arguments.c_stride_n);
    }
    if (problem.bias != Bias::kNone) {
      x += load(problem.d, arguments.bias,
                batch * arguments.batch_stride_bias + (problem.bias == Bias::kPerRow ? m : n));
    }
    x = reference::activated(problem.activation, x, static_cast<double>(arguments.slope));
    store(problem.d, arguments.d, index, x);
  }
};

long long blocks(long long extent, long long block) {
  return (extent + block - 1) / block;
}

template <class Accumulator>
void run(const void* kernel, const Arguments& arguments, const Team& team) {
  constexpr int kTileN = kTileBytes / static_cast<int>(sizeof(Accumulator));
  const auto& problem = *static_cast<const ProblemClass*>(kernel);
  const Epilogue<Accumulator> epilogue(problem, arguments);
  const Multiply<Accumulator> multiply_tile = best_multiply<Accumulator>();
  auto* packed_a = static_cast<Accumulator*>(team.scratch);
  Accumulator* packed_b = packed_a + kBlockM * kBlockK;
  Accumulator* accumulators = packed_b + kTileN * kBlockK;

  const long long jobs_m = blocks(arguments.m, kBlockM);
  const long long jobs_n = blocks(arguments.n, kBlockN);
  const long long jobs = arguments.batch * jobs_m * jobs_n;
  for (long long job = team.rank; job < jobs; job += team.size) {
    const long long batch = job / (jobs_m * jobs_n);
    const GroupRange rows = rows_of_group(problem.group_kind, arguments.groups, batch, arguments.m);
    const GroupRange depth_range =
        depth_of_group(problem.group_kind, arguments.groups, batch, arguments.k);
    const long long m0 = rows.begin + job / jobs_n % jobs_m * kBlockM;
    if (m0 >= rows.end) {
      continue;
    }
    const long long n0 = job % jobs_n * kBlockN;
    const bool rows_a = problem.order_a == Order::kRowMajor;
    const bool rows_b = problem.order_b == Order::kRowMajor;
    const Operand a{
        problem.a,
        arguments.a,
        batch * arguments.batch_stride_a,
        rows_a ? arguments.lda : 1,
        rows_a ? 1 : arguments.lda,
        rows.end,
        {is_of_blocks(problem.scaling_a)
             ? arguments.scale_a + batch * arguments.scale_batch_stride_a
             : nullptr,
         rows_of_scale(problem.scaling_a), arguments.scale_stride_a, arguments.scale_k_stride_a}};
    const Operand b{
        problem.b,
        arguments.b,
        batch * arguments.batch_stride_b,
        rows_b ? 1 : arguments.ldb,
        rows_b ? arguments.ldb : 1,
        arguments.n,
        {is_of_blocks(problem.scaling_b)
             ? arguments.scale_b + batch * arguments.scale_batch_stride_b
             : nullptr,
         rows_of_scale(problem.scaling_b), arguments.scale_stride_b, arguments.scale_k_stride_b}};
    const long long tiles_m = blocks(std::min(rows.end - m0, kBlockM), kTileM);
    const long long tiles_n = blocks(std::min(arguments.n - n0, kBlockN), kTileN);

    std::fill_n(accumulators, tiles_m * kTileM * tiles_n * kTileN, Accumulator(0));
    for (long long k0 = depth_range.begin; k0 < depth_range.end; k0 += kBlockK) {
      const long long depth = std::min(depth_range.end - k0, kBlockK);
      for (long long tile = 0; tile < tiles_m; ++tile) {
        a.pack(packed_a + tile * kTileM * depth, kTileM, m0 + tile * kTileM, k0, depth);
      }
      for (long long panel = 0; panel < tiles_n; ++panel) {
        b.pack(packed_b, kTileN, n0 + panel * kTileN, k0, depth);
        for (long long tile = 0; tile < tiles_m; ++tile) {
          multiply_tile(accumulators + (panel * tiles_m + tile) * kTileM * kTileN,
                        packed_a + tile * kTileM * depth, packed_b, depth);
        }
      }
    }
    for (long long m = 0; m < std::min(rows.end - m0, kBlockM); ++m) {
      for (long long n = 0; n < std::min(arguments.n - n0, kBlockN); ++n) {
        const long long tile = n / kTileN * tiles_m + m / kTileM;
        epilogue(batch, m0 + m, n0 + n,
                 accumulators[(tile * kTileM + m % kTileM) * kTileN + n % kTileN]);
      }
    }
  }
}

}  // namespace

ProblemClass problem_class(const Problem& problem) {
  return {.a = problem.a.type,
          .b = problem.b.type,
          .d = problem.d.type,
          .order_a = problem.a.order,
          .order_b = problem.b.order,
          .read_c = problem.beta != ScalarClass::kZero,
          .bias = problem.bias,
          .activation = problem.activation,
          .scaling_a = problem.scaling_a,
          .scaling_b = problem.scaling_b,
          .group_kind = problem.group_kind};
}

std::int64_t built_in_scratch_bytes() {
  constexpr long long kWidest = sizeof(f64);
  constexpr long long kMostTiles = (kBlockN + kTileBytes - 1) * kBlockM;
  return kWidest * (kBlockM * kBlockK + kTileBytes * kBlockK + kMostTiles);
}

TeamWork built_in_work(const ProblemClass& problem_class) {
  switch (accumulator(problem_class.a, problem_class.b)) {
    case DataType::kF64:
      return {&run<f64>, &problem_class};
    case DataType::kS32:
      return {&run<std::uint32_t>, &problem_class};
    default:
      return {&run<f32>, &problem_class};
  }
}

}  // namespace tunedgemm::internal

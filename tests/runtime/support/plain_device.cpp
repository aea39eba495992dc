#include "tests/runtime/support/plain_device.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

#include "kernel_templates/cuda/reference/element.cuh"

namespace tunedgemm::internal {
namespace {

class PlainMemory final : public DeviceMemory {
 public:
  explicit PlainMemory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes) + kAlignment) {}
  void* data() const override {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  std::int64_t size_bytes() const override {
    return static_cast<std::int64_t>(bytes_.size() - kAlignment);
  }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::vector<std::byte> bytes_;
};

double element(const void* base, const Matrix& matrix, std::int64_t entry, std::int64_t row,
               std::int64_t column) {
  const bool row_major = matrix.order == Order::kRowMajor;
  const std::int64_t offset = entry * matrix.batch_stride +
                              (row_major ? row : column) * matrix.leading_dimension +
                              (row_major ? column : row);
  return reference::load(traits(matrix.type).format, base, offset);
}

double with_ten_bits(double value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(value));
  return static_cast<double>(__builtin_bit_cast(float, bits & 0xffffe000U));
}

double scale(const float* scales, Scaling scaling, std::int64_t first, std::int64_t row,
             std::int64_t k, std::int64_t stride, std::int64_t k_stride) {
  if (scales == nullptr) {
    return 1;
  }
  const std::int64_t offset = first + row / rows_of_scale(scaling) * stride +
                              (is_of_blocks(scaling) ? k / kScaledDepth * k_stride : 0);
  return static_cast<double>(scales[scaling == Scaling::kTensor ? 0 : offset]);
}

}  // namespace

double LoopKernel::sum(const Arguments& arguments, std::int64_t entry, std::int64_t m,
                       std::int64_t n) const {
  const std::int64_t k_end =
      flaw_ == Flaw::kLeavesOutKTile ? std::max<std::int64_t>(problem_.k - 16, 0) : problem_.k;
  const bool is_wide = problem_.a.type == DataType::kF64 || problem_.a.type == DataType::kS8;
  double wide = 0;
  float narrow = 0;
  for (std::int64_t k = 0; k < k_end; ++k) {
    double a = element(arguments.a, problem_.a, entry, m, k);
    double b = element(arguments.b, problem_.b, entry, k, n);
    const std::int64_t scaled_m = flaw_ == Flaw::kTakesNextScale ? (m + 1) % problem_.m : m;
    std::int64_t stride_a = arguments.scale_stride_a, k_stride_a = arguments.scale_k_stride_a;
    if (flaw_ == Flaw::kExchangesStrides) {
      std::swap(stride_a, k_stride_a);
    }
    a *= scale(arguments.scale_a, problem_.scaling_a, entry * arguments.scale_batch_stride_a,
               scaled_m, k, stride_a, k_stride_a);
    b *= scale(arguments.scale_b, problem_.scaling_b, entry * arguments.scale_batch_stride_b, n,
               flaw_ == Flaw::kKeepsFirstScale ? 0 : k, arguments.scale_stride_b,
               arguments.scale_k_stride_b);
    if (flaw_ == Flaw::kRoundsInputs) {
      a = with_ten_bits(a);
      b = with_ten_bits(b);
    }
    wide += a * b;
    narrow += static_cast<float>(a) * static_cast<float>(b);
  }
  if (flaw_ == Flaw::kReadsPadding) {
    narrow += static_cast<float>(element(arguments.a, problem_.a, entry, m, problem_.k)) * 0;
  }
  return is_wide ? wide : static_cast<double>(narrow);
}

int LoopKernel::run(const Launch& launch, const Arguments& arguments,
                    StreamHandle /*stream*/) const noexcept {
  if (flaw_ == Flaw::kFailsToLaunch) {
    return 7;
  }
  const ElementFormat& type = traits(problem_.d.type).format;
  const double alpha = flaw_ == Flaw::kForgetsAlpha ? 1 : arguments.alpha;
  for (std::int64_t entry = 0; entry < problem_.batch; ++entry) {
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      for (std::int64_t n = 0; n < problem_.n; ++n) {
        const bool is_last = row == problem_.m - 1 && n == problem_.n - 1;
        if (flaw_ == Flaw::kLeavesElementOut && is_last) {
          continue;
        }
        const std::int64_t m = flaw_ == Flaw::kExchangesRows && row < 2 ? 1 - row : row;
        double x = alpha * sum(arguments, entry, m, n);
        if (problem_.beta != ScalarClass::kZero) {
          x += arguments.beta * element(arguments.c, problem_.c, entry, row, n);
        }
        if (problem_.bias != Bias::kNone && flaw_ != Flaw::kForgetsBias) {
          x += reference::load(type, arguments.bias, problem_.bias == Bias::kPerRow ? row : n);
        }
        if (flaw_ == Flaw::kGivesNan && is_last) {
          x = reference::not_a_number();
        }
        const std::int64_t offset =
            entry * problem_.d.batch_stride + row * problem_.d.leading_dimension + n;
        reference::store(type, arguments.d, offset, x);
      }
    }
  }
  if (flaw_ == Flaw::kWritesBehindD) {
    reference::store(type, arguments.d, problem_.m * problem_.d.leading_dimension, 1);
  }
  if (flaw_ == Flaw::kWritesBetweenRows) {
    reference::store(type, arguments.d, problem_.n, 1);
  }
  if (flaw_ == Flaw::kSpoilsCounter && launch.workspace_bytes > 0) {
    *static_cast<char*>(arguments.workspace) = 1;
  }
  return 0;
}

PlainDevice::PlainDevice(const Problem& problem, Flaw flaw) : problem_(problem), flaw_(flaw) {
  identity_.name = "plain";
  limits_.l2_bytes = 1 << 12;
  limits_.l3_bytes = 1 << 14;
  limits_.threads = 2;
}

std::variant<Binary, CompileFailure> PlainDevice::compile_within(const Source& source, double) {
  ++compilations_;
  if (flaw_ == Flaw::kDoesNotCompile) {
    return CompileFailure{"line 1: nothing but mistakes"};
  }
  Binary binary;
  binary.entry = source.entry;
  binary.code.assign(16, std::byte{1});
  return binary;
}

std::variant<std::unique_ptr<CompiledKernel>, Rejection> PlainDevice::load(const Binary&,
                                                                           const Launch&) {
  return std::make_unique<LoopKernel>(problem_, flaw_);
}

std::unique_ptr<DeviceMemory> PlainDevice::allocate(std::int64_t bytes) {
  if (bytes > free_memory_bytes()) {
    throw DeviceError(DeviceError::Kind::kOutOfMemory,
                      "there is no room for " + std::to_string(bytes) + " bytes");
  }
  return std::make_unique<PlainMemory>(bytes);
}

void PlainDevice::copy_to_device(void* destination, const void* source, std::int64_t bytes) {
  std::memcpy(destination, source, static_cast<std::size_t>(bytes));
}

void PlainDevice::copy_to_host(void* destination, const void* source, std::int64_t bytes) {
  std::memcpy(destination, source, static_cast<std::size_t>(bytes));
}

void PlainDevice::set_bytes(void* destination, int value, std::int64_t bytes) {
  std::memset(destination, value, static_cast<std::size_t>(bytes));
}

int PlainDevice::set_bytes_async(void* destination, int value, std::int64_t bytes,
                                 StreamHandle) noexcept {
  std::memset(destination, value, static_cast<std::size_t>(bytes));
  return 0;
}

std::variant<double, Rejection> PlainDevice::time(const TimedLaunch& timed, int launches) {
  const auto start = std::chrono::steady_clock::now();
  for (int index = 0; index < launches; ++index) {
    timed.kernel->run(timed.launch,
                      timed.rotation[static_cast<std::size_t>(index) % timed.rotation.size()],
                      nullptr);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace tunedgemm::internal

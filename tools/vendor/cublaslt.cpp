#include "tools/vendor/cublaslt.h"

#include <utility>

namespace tunedgemm {
namespace {

using namespace cublaslt;

// As much as the vendor's own framework bindings give it on this class of device.
constexpr std::int64_t kWorkspaceBytes = 64 << 20;

enum DataTypeNumber {
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kR32I = 10,
  kR16BF = 14,
  kRE4M3 = 28,
  kRE5M2 = 29
};
enum ComputeNumber { kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kComputeTf32 = 77 };
enum OperationAttribute {
  kTransposeA = 3,
  kTransposeB = 4,
  kScaleOfA = 17,
  kScaleOfB = 18,
  kFastAccumulation = 25
};
enum LayoutAttribute { kBatchCount = 5, kBatchStride = 6 };
enum PreferenceAttribute { kMaxWorkspaceBytes = 1 };

int vendor_type(DataType type) {
  switch (type) {
    case DataType::kF64:
      return kR64F;
    case DataType::kF32:
      return kR32F;
    case DataType::kF16:
      return kR16F;
    case DataType::kBF16:
      return kR16BF;
    case DataType::kE4M3:
      return kRE4M3;
    case DataType::kE5M2:
      return kRE5M2;
    case DataType::kS8:
      return kR8I;
    case DataType::kS32:
      return kR32I;
  }
  return kR32F;
}

int vendor_compute(const Problem& problem) {
  switch (accumulator(problem.a.type, problem.b.type)) {
    case DataType::kF64:
      return kCompute64F;
    case DataType::kS32:
      return kCompute32I;
    default:
      return problem.numerics == Numerics::kTf32 ? kComputeTf32 : kCompute32F;
  }
}

bool computes(const Problem& problem) {
  const bool plain = problem.activation == Activation::kNone && problem.bias == Bias::kNone &&
                     problem.c.order == Order::kRowMajor;
  const bool has_numerics =
      problem.numerics != Numerics::kEmulated && problem.numerics != Numerics::kPromoted;
  return plain && has_numerics && problem.m > 0 && problem.n > 0 && problem.k > 0;
}

// A pointer with the function that releases it.
using Owned = std::unique_ptr<void, Status (*)(void*)>;

// What all proposals for a problem share. The vendor's matrices are column-major: a row-major D is
// its transpose, computed from the transposes of B and A, in this order.
struct Call {
  const CublasLtLibrary& library;
  Owned operation, first, second, d;
  bool in_f64 = false, in_s32 = false;
  bool has_scales = false;  // fp8 inputs: the others have none
  void* workspace = nullptr;
};

class Proposal final : public CompiledKernel {
 public:
  Proposal(std::shared_ptr<const Call> call, const Algorithm& algorithm)
      : call_(std::move(call)), algorithm_(algorithm) {}

  int run(const Launch&, const Arguments& arguments, StreamHandle stream) const noexcept override {
    const auto alpha = scalar(arguments.alpha);
    const auto beta = scalar(arguments.beta);
    const void* c = arguments.beta == 0 ? arguments.d : arguments.c;
    if (call_->has_scales) {
      set_scale(kScaleOfA, arguments.scale_b);
      set_scale(kScaleOfB, arguments.scale_a);
    }
    return call_->library.cublasLtMatmul(
        call_->library.handle, call_->operation.get(), &alpha, arguments.b, call_->first.get(),
        arguments.a, call_->second.get(), &beta, c, call_->d.get(), arguments.d, call_->d.get(),
        &algorithm_, call_->workspace, kWorkspaceBytes, stream);
  }

 private:
  void set_scale(int which, const float* scale) const noexcept {
    call_->library.cublasLtMatmulDescSetAttribute(call_->operation.get(), which, &scale,
                                                  sizeof scale);
  }

  union Scalar {
    double f64;
    float f32;
    std::int32_t s32;
  };
  Scalar scalar(double value) const noexcept {
    Scalar result{};
    if (call_->in_f64) {
      result.f64 = value;
    } else if (call_->in_s32) {
      result.s32 = static_cast<std::int32_t>(value);
    } else {
      result.f32 = static_cast<float>(value);
    }
    return result;
  }

  std::shared_ptr<const Call> call_;
  Algorithm algorithm_;
};

// A row-major matrix is a column-major one with rows and columns exchanged: no transposition needed
// then.
Owned layout_of(const CublasLtLibrary& library, const Matrix& matrix, std::int64_t rows,
                std::int64_t columns, std::int64_t batch) {
  const bool row_major = matrix.order == Order::kRowMajor;
  Layout layout = nullptr;
  library.cublasLtMatrixLayoutCreate(
      &layout, vendor_type(matrix.type), static_cast<std::uint64_t>(row_major ? columns : rows),
      static_cast<std::uint64_t>(row_major ? rows : columns), matrix.leading_dimension);
  Owned owned(layout, library.cublasLtMatrixLayoutDestroy);
  if (layout != nullptr && batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    library.cublasLtMatrixLayoutSetAttribute(layout, kBatchCount, &count, sizeof count);
    library.cublasLtMatrixLayoutSetAttribute(layout, kBatchStride, &matrix.batch_stride,
                                             sizeof matrix.batch_stride);
  }
  return owned;
}

Owned operation_of(const CublasLtLibrary& library, const Problem& problem, int scale_type) {
  Operation operation = nullptr;
  library.cublasLtMatmulDescCreate(&operation, vendor_compute(problem), scale_type);
  Owned owned(operation, library.cublasLtMatmulDescDestroy);
  if (operation != nullptr) {
    const std::int32_t transpose_first = problem.b.order == Order::kColumnMajor;
    const std::int32_t transpose_second = problem.a.order == Order::kColumnMajor;
    const std::int8_t fast = problem.numerics == Numerics::kFast;
    library.cublasLtMatmulDescSetAttribute(operation, kTransposeA, &transpose_first,
                                           sizeof transpose_first);
    library.cublasLtMatmulDescSetAttribute(operation, kTransposeB, &transpose_second,
                                           sizeof transpose_second);
    library.cublasLtMatmulDescSetAttribute(operation, kFastAccumulation, &fast, sizeof fast);
  }
  return owned;
}

}  // namespace

CublasLt::CublasLt(std::unique_ptr<CublasLtLibrary> library,
                   std::unique_ptr<DeviceMemory> workspace)
    : library_(std::move(library)), workspace_(std::move(workspace)) {}

CublasLt::~CublasLt() = default;

std::unique_ptr<CublasLt> CublasLt::open(Device& device, std::string* why_not) {
  auto library = CublasLtLibrary::open(why_not);
  return library == nullptr ? nullptr
                            : std::unique_ptr<CublasLt>(new CublasLt(
                                  std::move(library), device.allocate(kWorkspaceBytes)));
}

std::string CublasLt::version() const {
  const std::size_t number = library_->cublasLtGetVersion();
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

std::vector<std::unique_ptr<CompiledKernel>> CublasLt::proposals(const Problem& problem,
                                                                 int count) {
  std::vector<std::unique_ptr<CompiledKernel>> proposals;
  if (!computes(problem)) {
    return proposals;
  }
  const CublasLtLibrary& library = *library_;
  const DataType sums = accumulator(problem.a.type, problem.b.type);
  auto call = std::make_shared<Call>(
      Call{.library = library,
           .operation = operation_of(library, problem, vendor_type(sums)),
           .first = layout_of(library, problem.b, problem.k, problem.n, problem.batch),
           .second = layout_of(library, problem.a, problem.m, problem.k, problem.batch),
           .d = layout_of(library, problem.d, problem.m, problem.n, problem.batch),
           .in_f64 = sums == DataType::kF64,
           .in_s32 = sums == DataType::kS32,
           .has_scales = is_fp8(problem.a.type),
           .workspace = workspace_->data()});
  if (call->has_scales) {
    // Which proposals there are depends on whether there are scales, not on where they are.
    const void* some_scale = workspace_->data();
    for (const int which : {kScaleOfA, kScaleOfB}) {
      library.cublasLtMatmulDescSetAttribute(call->operation.get(), which, &some_scale,
                                             sizeof some_scale);
    }
  }
  Preference preference = nullptr;
  library.cublasLtMatmulPreferenceCreate(&preference);
  const Owned owned_preference(preference, library.cublasLtMatmulPreferenceDestroy);
  if (!call->operation || !call->first || !call->second || !call->d || !owned_preference) {
    return proposals;
  }
  const auto workspace_bytes = static_cast<std::uint64_t>(kWorkspaceBytes);
  library.cublasLtMatmulPreferenceSetAttribute(preference, kMaxWorkspaceBytes, &workspace_bytes,
                                               sizeof workspace_bytes);
  std::vector<HeuristicResult> results(static_cast<std::size_t>(count));
  int given = 0;
  const Status status = library.cublasLtMatmulAlgoGetHeuristic(
      library.handle, call->operation.get(), call->first.get(), call->second.get(), call->d.get(),
      call->d.get(), preference, count, results.data(), &given);
  for (int index = 0; status == 0 && index < given; ++index) {
    const HeuristicResult& result = results[static_cast<std::size_t>(index)];
    if (result.state == 0) {
      proposals.push_back(std::make_unique<Proposal>(call, result.algorithm));
    }
  }
  return proposals;
}

}  // namespace tunedgemm

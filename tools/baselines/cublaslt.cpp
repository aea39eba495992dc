// cuBLASLt as a baseline.

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel_templates/base/division.h"
#include "kernel_templates/base/environment.h"
#include "runtime/evaluation/verifier.h"
#include "tools/baselines/baseline.h"
#include "tools/baselines/cublaslt_library.h"

namespace tunedgemm::internal {
namespace {

using namespace cublas;

// The most workspace that a proposal may use.
constexpr std::int64_t kWorkspaceBytes = 64 << 20;

constexpr std::uint32_t kNoEpilogue = 0;

int cublaslt_type(DataType type) {
  const auto* const found = std::ranges::find(kNumbersOfTypes, type, &NumberOfType::type);
  return found == std::end(kNumbersOfTypes) ? kNoDataType : found->number;
}

int cublaslt_compute(const Problem& problem) {
  switch (accumulator(problem.a.type, problem.b.type)) {
    case DataType::kF64:
      return kCompute64F;
    case DataType::kS32:
      return kCompute32I;
    default:
      return problem.numerics == Numerics::kTf32 ? kComputeTf32 : kCompute32F;
  }
}

// Without a value if it has no such epilogue. Its bias per row is that of our columns.
std::optional<std::uint32_t> cublaslt_epilogue(const Problem& problem) {
  const std::uint32_t bias = problem.bias == Bias::kNone ? kNoEpilogue : std::uint32_t{kBias};
  if (problem.bias == Bias::kPerRow) {
    return std::nullopt;
  }
  switch (problem.activation) {
    case Activation::kNone:
      return bias;
    case Activation::kRelu:
      return bias | kRelu;
    case Activation::kGeluTanh:
      return bias | kGeluTanh;
    default:
      return std::nullopt;
  }
}

// Empty if cuBLASLt can take part in a race for the problem.
std::string why_not_cublaslt(const Problem& problem) {
  if (problem.group_kind != GroupKind::kNone) {
    return "its grouped products are not raced";
  }
  const bool both_are_of_blocks =
      is_of_blocks(problem.scaling_a) && is_of_blocks(problem.scaling_b);
  if (problem.scaling_a != problem.scaling_b && !both_are_of_blocks) {
    return "it has no such pair of scales";
  }
  if (problem.scaling_a != Scaling::kTensor && problem.batch > 1) {
    return "its scales of a batch are not raced";
  }
  for (const DataType type : {problem.a.type, problem.b.type, problem.d.type}) {
    if (cublaslt_type(type) == kNoDataType) {
      return "it has no " + std::string(name(type));
    }
  }
  if (!cublaslt_epilogue(problem)) {
    return "its fused activations and biases are relu, gelu_tanh and a bias per column";
  }
  if (problem.beta != ScalarClass::kZero && problem.c.order != Order::kRowMajor) {
    return "its C must have the order of D";
  }
  if (problem.numerics == Numerics::kEmulated) {
    return "its emulation of f32 is not raced";
  }
  if (problem.d.type == DataType::kS32 && problem.beta != ScalarClass::kZero) {
    return "its scalars for s8 inputs are integers";
  }
  return problem.m > 0 && problem.n > 0 && problem.k > 0 ? "" : "the problem is empty";
}

// A pointer with the function that releases it.
using Owned = std::unique_ptr<void, Status (*)(void*)>;

// The data that all proposals for a problem share. cuBLASLt's matrices are column-major, so a
// row-major D is computed as its transpose: the transpose of B times the transpose of A.
struct Call {
  const CublasLtLibrary& library;
  Owned operation, first, second, c, d;
  std::unique_ptr<DeviceMemory> bias;
  std::unique_ptr<DeviceMemory> first_scales, second_scales;  // of rows or blocks
  DataType scalars = DataType::kF32;
  // The product of the scales of whole inputs, which is multiplied into alpha. With pointers to
  // them, version 13.1 proposes no kernel (H200, 2026-11-21); kernels without are not slower.
  double scale = 1;
  void* workspace = nullptr;

  bool is_complete() const {
    return operation != nullptr && first != nullptr && second != nullptr && c != nullptr &&
           d != nullptr;
  }
};

// A scalar of the type in which the library adds up.
union Scalar {
  double f64;
  float f32;
  std::int32_t s32;
};
Scalar to_scalar(DataType type, double value) {
  Scalar result{};
  if (type == DataType::kF64) {
    result.f64 = value;
  } else if (type == DataType::kS32) {
    result.s32 = static_cast<std::int32_t>(value);
  } else {
    result.f32 = static_cast<float>(value);
  }
  return result;
}

class LtProduct final : public CompiledKernel {
 public:
  LtProduct(std::shared_ptr<const Call> call, const Algorithm& algorithm)
      : call_(std::move(call)), algorithm_(algorithm) {}

  int run(const Launch&, const Arguments& arguments, StreamHandle stream) const noexcept override {
    const Scalar alpha = to_scalar(call_->scalars, arguments.alpha * call_->scale);
    const Scalar beta = to_scalar(call_->scalars, arguments.beta);
    const void* c = arguments.beta == 0 ? arguments.d : arguments.c;
    return call_->library.cublasLtMatmul(
        call_->library.handle, call_->operation.get(), &alpha, arguments.b, call_->first.get(),
        arguments.a, call_->second.get(), &beta, c, call_->c.get(), arguments.d, call_->d.get(),
        &algorithm_, call_->workspace, kWorkspaceBytes, stream);
  }

 private:
  std::shared_ptr<const Call> call_;
  Algorithm algorithm_;
};

// The call of libcublas, which chooses the kernel itself. As in Call, B is its first matrix.
class CublasProduct final : public CompiledKernel {
 public:
  CublasProduct(const CublasLtLibrary& library, const Problem& problem, void* workspace)
      : library_(library), problem_(problem), workspace_(workspace) {}

  static bool supports(const Problem& problem) {
    return cublaslt_epilogue(problem) == kNoEpilogue && !is_fp8(problem.a.type) &&
           !is_fp8(problem.b.type) && (problem.beta == ScalarClass::kZero || problem.c_is_d);
  }

  int run(const Launch&, const Arguments& arguments, StreamHandle stream) const noexcept override {
    const Matrix &a = problem_.a, &b = problem_.b, &d = problem_.d;
    const DataType sums = accumulator(a.type, b.type);
    const Scalar alpha = to_scalar(sums, arguments.alpha);
    const Scalar beta = to_scalar(sums, arguments.beta);
    const int transpose_a = a.order == Order::kColumnMajor;
    const int transpose_b = b.order == Order::kColumnMajor;
    const int type_a = cublaslt_type(a.type), type_b = cublaslt_type(b.type);
    const int type_d = cublaslt_type(d.type), compute = cublaslt_compute(problem_);
    library_.cublasSetStream_v2(library_.cublas, stream);  // resets the workspace
    library_.cublasSetWorkspace_v2(library_.cublas, workspace_, kWorkspaceBytes);
    if (problem_.batch == 1) {
      return library_.cublasGemmEx_64(
          library_.cublas, transpose_b, transpose_a, problem_.n, problem_.m, problem_.k, &alpha,
          arguments.b, type_b, b.leading_dimension, arguments.a, type_a, a.leading_dimension, &beta,
          arguments.d, type_d, d.leading_dimension, compute, kDefaultAlgorithm);
    }
    return library_.cublasGemmStridedBatchedEx_64(
        library_.cublas, transpose_b, transpose_a, problem_.n, problem_.m, problem_.k, &alpha,
        arguments.b, type_b, b.leading_dimension, b.batch_stride, arguments.a, type_a,
        a.leading_dimension, a.batch_stride, &beta, arguments.d, type_d, d.leading_dimension,
        d.batch_stride, problem_.batch, compute, kDefaultAlgorithm);
  }

 private:
  const CublasLtLibrary& library_;
  Problem problem_;
  void* workspace_;
};

// A row-major matrix is described as its column-major transpose.
Owned layout_of(const CublasLtLibrary& library, const Matrix& matrix, std::int64_t rows,
                std::int64_t columns, std::int64_t batch) {
  const bool row_major = matrix.order == Order::kRowMajor;
  Layout layout = nullptr;
  library.cublasLtMatrixLayoutCreate(
      &layout, cublaslt_type(matrix.type), static_cast<std::uint64_t>(row_major ? columns : rows),
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
  library.cublasLtMatmulDescCreate(&operation, cublaslt_compute(problem), scale_type);
  Owned owned(operation, library.cublasLtMatmulDescDestroy);
  if (operation != nullptr) {
    const std::int32_t transpose_first = problem.b.order == Order::kColumnMajor;
    const std::int32_t transpose_second = problem.a.order == Order::kColumnMajor;
    const std::int8_t fast = problem.numerics == Numerics::kFast ? 1 : 0;
    library.cublasLtMatmulDescSetAttribute(operation, kTransposeA, &transpose_first,
                                           sizeof transpose_first);
    library.cublasLtMatmulDescSetAttribute(operation, kTransposeB, &transpose_second,
                                           sizeof transpose_second);
    library.cublasLtMatmulDescSetAttribute(operation, kFastAccumulation, &fast, sizeof fast);
  }
  return owned;
}

// The bias at an aligned address, as programs have it. The operands' is not aligned, which kernels
// of the library do not support. Null if there is none.
std::unique_ptr<DeviceMemory> copy_bias(Device& device, const VerifiedProblem& verified) {
  const Problem& problem = verified.problem;
  if (problem.bias == Bias::kNone) {
    return nullptr;
  }
  std::vector<std::byte> elements(static_cast<std::size_t>(problem.n * size_bytes(problem.d.type)));
  make_host_verifier(1)->fill(verified.fill_bias(elements.data()));
  const auto bytes = static_cast<std::int64_t>(elements.size());
  std::unique_ptr<DeviceMemory> copy = device.allocate(bytes);
  device.copy_to_device(copy->data(), elements.data(), bytes);
  return copy;
}

void set_epilogue(const CublasLtLibrary& library, Operation operation, const Problem& problem,
                  const DeviceMemory* bias) {
  if (const std::uint32_t epilogue = *cublaslt_epilogue(problem); epilogue != kNoEpilogue) {
    library.cublasLtMatmulDescSetAttribute(operation, kEpilogue, &epilogue, sizeof epilogue);
  }
  if (bias != nullptr) {
    const void* const pointer = bias->data();
    const std::int32_t type = cublaslt_type(problem.d.type);
    library.cublasLtMatmulDescSetAttribute(operation, kBiasType, &type, sizeof type);
    library.cublasLtMatmulDescSetAttribute(operation, kBiasPointer, &pointer, sizeof pointer);
  }
}

// The scales of rows or blocks of an input in cuBLASLt's layout: neighbouring rows are next to each
// other, or, with scales of 128 x 128 elements, neighbouring blocks along K, padded to a multiple
// of four. Null if the input has one scale.
std::unique_ptr<DeviceMemory> copy_scales(Device& device, const reference::ScaleInput& scale,
                                          Scaling scaling, std::int64_t extent, std::int64_t k) {
  if (scaling == Scaling::kTensor) {
    return nullptr;
  }
  const auto [rows, blocks] = scale_counts(scaling, extent, k);
  const bool k_is_near = scaling == Scaling::kBlock128x128;
  const std::int64_t padded = round_up(blocks, 4);
  std::vector<float> values(static_cast<std::size_t>(rows * padded));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      values[static_cast<std::size_t>(k_is_near ? row * padded + block : block * rows + row)] =
          static_cast<float>(
              reference::scale_value(scale, 0, row * rows_of_scale(scaling), block * kScaledDepth));
    }
  }
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
  std::unique_ptr<DeviceMemory> copy = device.allocate(bytes);
  device.copy_to_device(copy->data(), values.data(), bytes);
  return copy;
}

void set_scales(const CublasLtLibrary& library, Operation operation, int pointer_attribute,
                int mode_attribute, Scaling scaling, const DeviceMemory* scales) {
  if (scales == nullptr) {
    return;
  }
  const void* const pointer = scales->data();
  const std::int32_t mode = scaling == Scaling::kRow          ? kOuterVector
                            : scaling == Scaling::kBlock1x128 ? kVector128
                                                              : kBlock128x128;
  library.cublasLtMatmulDescSetAttribute(operation, pointer_attribute, &pointer, sizeof pointer);
  library.cublasLtMatmulDescSetAttribute(operation, mode_attribute, &mode, sizeof mode);
}

Owned preference_of(const CublasLtLibrary& library, const Problem& problem) {
  Preference preference = nullptr;
  library.cublasLtMatmulPreferenceCreate(&preference);
  Owned owned(preference, library.cublasLtMatmulPreferenceDestroy);
  if (preference == nullptr) {
    return owned;
  }
  const auto workspace_bytes = static_cast<std::uint64_t>(kWorkspaceBytes);
  library.cublasLtMatmulPreferenceSetAttribute(preference, kMaxWorkspaceBytes, &workspace_bytes,
                                               sizeof workspace_bytes);
  // By default the library assumes an alignment of 256 bytes. Our matrices of alignment class 16
  // have it.
  const auto set_alignment = [&](int which, const Matrix& matrix) {
    const auto bytes = static_cast<std::uint32_t>(matrix.alignment_bytes);
    if (bytes < 16) {
      library.cublasLtMatmulPreferenceSetAttribute(preference, which, &bytes, sizeof bytes);
    }
  };
  set_alignment(kLeastAlignmentOfA, problem.b);
  set_alignment(kLeastAlignmentOfB, problem.a);
  set_alignment(kLeastAlignmentOfC, problem.beta == ScalarClass::kZero ? problem.d : problem.c);
  set_alignment(kLeastAlignmentOfD, problem.d);
  return owned;
}

std::string refusal(Status status, const Problem& problem) {
  std::string text =
      "it proposes nothing: cublasLtMatmulAlgoGetHeuristic gave status " + std::to_string(status);
  if (status == kNotSupported && is_fp8(problem.a.type)) {
    text +=
        " (not supported); its fp8 kernels need layout nt, extents that are multiples of 16 and at "
        "least one input of type e4m3";
  }
  return text;
}

// Sets a pointer to the function of this name; false if the library has none.
auto finder_in(void* library) {
  return [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
}

class CublasLt final : public Baseline {
 public:
  CublasLt(std::unique_ptr<CublasLtLibrary> library, Device& device)
      : library_(std::move(library)),
        device_(device),
        workspace_(device.allocate(kWorkspaceBytes)) {}

  std::string name() const override { return "cuBLASLt"; }
  std::string version() const override { return version_text(library_->cublasLtGetVersion()); }
  std::vector<Proposal> proposals(const VerifiedProblem& verified, int count,
                                  std::string* why_not) override;

 private:
  std::unique_ptr<CublasLtLibrary> library_;
  Device& device_;
  std::unique_ptr<DeviceMemory> workspace_;
};

std::vector<Proposal> CublasLt::proposals(const VerifiedProblem& verified, int count,
                                          std::string* why_not) {
  const Problem& problem = verified.problem;
  std::vector<Proposal> proposals;
  *why_not = why_not_cublaslt(problem);
  if (!why_not->empty()) {
    return proposals;
  }
  const CublasLtLibrary& library = *library_;
  const DataType sums = accumulator(problem.a.type, problem.b.type);
  const Matrix& c = problem.beta == ScalarClass::kZero ? problem.d : problem.c;
  const auto call = std::make_shared<Call>(
      Call{.library = library,
           .operation = operation_of(library, problem, cublaslt_type(sums)),
           .first = layout_of(library, problem.b, problem.k, problem.n, problem.batch),
           .second = layout_of(library, problem.a, problem.m, problem.k, problem.batch),
           .c = layout_of(library, c, problem.m, problem.n, problem.batch),
           .d = layout_of(library, problem.d, problem.m, problem.n, problem.batch),
           .bias = copy_bias(device_, verified),
           .first_scales =
               copy_scales(device_, verified.scale_b(), problem.scaling_b, problem.n, problem.k),
           .second_scales =
               copy_scales(device_, verified.scale_a(), problem.scaling_a, problem.m, problem.k),
           .scalars = sums,
           .scale = problem.scaling_a == Scaling::kTensor ? verified.scale(0, 0, 0) : 1,
           .workspace = workspace_->data()});
  const Owned preference = preference_of(library, problem);
  if (!call->is_complete() || !preference) {
    *why_not = "it could not create a description of the problem";
    return proposals;
  }
  set_epilogue(library, call->operation.get(), problem, call->bias.get());
  set_scales(library, call->operation.get(), kScalePointerA, kScaleModeA, problem.scaling_b,
             call->first_scales.get());
  set_scales(library, call->operation.get(), kScalePointerB, kScaleModeB, problem.scaling_a,
             call->second_scales.get());
  std::vector<HeuristicResult> results(static_cast<std::size_t>(count));
  int given = 0;
  const Status status = library.cublasLtMatmulAlgoGetHeuristic(
      library.handle, call->operation.get(), call->first.get(), call->second.get(), call->c.get(),
      call->d.get(), preference.get(), count, results.data(), &given);
  if (status != kSuccess || given == 0) {
    *why_not = refusal(status, problem);
    return proposals;
  }
  for (int index = 0; index < given; ++index) {
    const HeuristicResult& result = results[static_cast<std::size_t>(index)];
    if (result.state == kSuccess) {
      proposals.push_back({"cublaslt " + std::to_string(proposals.size()),
                           std::make_unique<LtProduct>(call, result.algorithm)});
    }
  }
  if (proposals.empty()) {
    *why_not = "none of its " + std::to_string(given) + " proposals is valid";
  } else if (library.cublas != nullptr && CublasProduct::supports(problem)) {
    proposals.push_back(
        {"cublas", std::make_unique<CublasProduct>(library, problem, workspace_->data())});
  }
  return proposals;
}

}  // namespace

std::unique_ptr<CublasLtLibrary> CublasLtLibrary::open(std::string* why_not) {
  void* opened = nullptr;
  std::vector<std::string> names;
  if (std::string named = environment("TUNEDGEMM_CUBLASLT"); !named.empty()) {
    names.push_back(std::move(named));
  }
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {".13", ".12"}) {
      names.push_back(std::string(folder) + "libcublasLt.so" + version);
    }
  }
  for (const std::string& name : names) {
    opened = opened != nullptr ? opened : dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (opened == nullptr) {
    *why_not =
        "cuBLASLt was not found: install a CUDA toolkit, or set TUNEDGEMM_CUBLASLT to the path of "
        "libcublasLt.so";
    return nullptr;
  }
  auto library = std::unique_ptr<CublasLtLibrary>(new CublasLtLibrary);
  if (!library->find_functions(opened)) {
    *why_not = "the installed cuBLASLt lacks a function; versions 12 and 13 are supported";
    return nullptr;
  }
  if (const Status status = library->cublasLtCreate(&library->handle); status != 0) {
    *why_not = "cublasLtCreate failed with status " + std::to_string(status);
    return nullptr;
  }
  library->open_cublas();
  return library;
}

void CublasLtLibrary::open_cublas() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(cublasLtCreate), &info);
  const auto folder = std::filesystem::path(info.dli_fname).parent_path();
  const std::string name = "libcublas.so." + std::to_string(cublasLtGetVersion() / 10000);
  void* const opened = dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto find = finder_in(opened);
  if (opened != nullptr && find(cublasCreate_v2, "cublasCreate_v2") &&
      find(cublasDestroy_v2, "cublasDestroy_v2") &&
      find(cublasSetStream_v2, "cublasSetStream_v2") &&
      find(cublasSetWorkspace_v2, "cublasSetWorkspace_v2") &&
      find(cublasGemmEx_64, "cublasGemmEx_64") &&
      find(cublasGemmStridedBatchedEx_64, "cublasGemmStridedBatchedEx_64") &&
      cublasCreate_v2(&cublas) != kSuccess) {
    cublas = nullptr;
  }
}

bool CublasLtLibrary::find_functions(void* opened) {
  const auto find = finder_in(opened);
  return find(cublasLtCreate, "cublasLtCreate") && find(cublasLtDestroy, "cublasLtDestroy") &&
         find(cublasLtGetVersion, "cublasLtGetVersion") &&
         find(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate") &&
         find(cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy") &&
         find(cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute") &&
         find(cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate") &&
         find(cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy") &&
         find(cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute") &&
         find(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate") &&
         find(cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy") &&
         find(cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute") &&
         find(cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic") &&
         find(cublasLtMatmul, "cublasLtMatmul");
}

std::unique_ptr<Baseline> open_cublaslt(Device& device, std::string* why_not) {
  auto library = CublasLtLibrary::open(why_not);
  if (library == nullptr) {
    return nullptr;
  }
  return std::make_unique<CublasLt>(std::move(library), device);
}

}  // namespace tunedgemm::internal

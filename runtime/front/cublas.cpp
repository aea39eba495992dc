// The functions of cuBLAS and cuBLASLt that this library answers, for programs that start with it
// preloaded.
//
// cuBLAS is column-major: C (m x n) = alpha op(A) op(B) + beta C. An operand that is not transposed
// is column-major for this library, a transposed one row-major.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "kernel_templates/base/division.h"
#include "kernel_templates/base/environment.h"
#include "runtime/front/cublas_types.h"
#include "runtime/front/front.h"
#include "runtime/front/gpus.h"
#include "runtime/front/next_function.h"

namespace tunedgemm::internal {
namespace {

using namespace cublas;
using Descriptor = const void*;  // of cublasLt

// The functions of one loaded cuBLAS or cuBLASLt that read a call's state.
#define TUNEDGEMM_STATE_FUNCTIONS(X)                                                     \
  X(cublasGetStream_v2, Status(Handle, void** stream))                                   \
  X(cublasGetPointerMode_v2, Status(Handle, int* mode))                                  \
  X(cublasGetMathMode, Status(Handle, int* mode))                                        \
  X(cublasGetSmCountTarget, Status(Handle, int* count))                                  \
  X(cublasLtGetVersion, std::size_t())                                                   \
  X(cublasLtMatmulDescGetAttribute,                                                      \
    Status(Descriptor, int which, void* value, std::size_t bytes, std::size_t* written)) \
  X(cublasLtMatrixLayoutGetAttribute,                                                    \
    Status(Descriptor, int which, void* value, std::size_t bytes, std::size_t* written))

struct Library {
#define TUNEDGEMM_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  TUNEDGEMM_STATE_FUNCTIONS(TUNEDGEMM_DECLARE)
#undef TUNEDGEMM_DECLARE
  bool is_classic = false, is_lt = false;  ///< has all functions that calls of this kind need
  std::size_t version_number = 0;
  FrontVendor vendor;

  explicit Library(const void* function) {
    void* const opened = library_with(function);
    if (opened == nullptr) {
      return;
    }
#define TUNEDGEMM_FIND(name, ...) \
  name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(opened, #name));
    TUNEDGEMM_STATE_FUNCTIONS(TUNEDGEMM_FIND)
#undef TUNEDGEMM_FIND
    // libcublas depends on libcublasLt, so both have this function.
    Dl_info info;
    if (cublasLtGetVersion == nullptr ||
        dladdr(reinterpret_cast<const void*>(cublasLtGetVersion), &info) == 0) {
      return;
    }
    version_number = cublasLtGetVersion();
    vendor.version = "cuBLASLt " + version_text(version_number);
    vendor.tuning = "TUNEDGEMM_CUBLASLT=" + std::string(info.dli_fname) +
                    " tune-all --from-requests --against cublas";
    is_classic = cublasGetStream_v2 != nullptr && cublasGetPointerMode_v2 != nullptr &&
                 cublasGetMathMode != nullptr;
    is_lt =
        cublasLtMatmulDescGetAttribute != nullptr && cublasLtMatrixLayoutGetAttribute != nullptr;
  }
};

Gpus& gpus() {
  static Gpus* const all = new Gpus;  // calls may come during exit
  return *all;
}

// ==== Translation =============================================================================

std::optional<tunedgemm_type> type_of(int number) {
  const auto* const found = std::ranges::find(kNumbersOfTypes, number, &NumberOfType::number);
  return found == std::end(kNumbersOfTypes)
             ? std::nullopt
             : std::optional(static_cast<tunedgemm_type>(found->type));
}

bool is_fp8(tunedgemm_type type) {
  return type == TUNEDGEMM_TYPE_E4M3 || type == TUNEDGEMM_TYPE_E5M2;
}

// Variables with which a user changes the arithmetic of cuBLAS.
bool has_other_arithmetic(tunedgemm_numerics numerics, tunedgemm_type type) {
  static const bool no_tf32 = environment("NVIDIA_TF32_OVERRIDE") == "0";
  static const bool emulates = environment("CUBLAS_EMULATE_SINGLE_PRECISION") == "1" ||
                               environment("CUBLAS_EMULATE_DOUBLE_PRECISION") == "1";
  return (no_tf32 && numerics == TUNEDGEMM_NUMERICS_TF32) ||
         (emulates && (type == TUNEDGEMM_TYPE_F32 || type == TUNEDGEMM_TYPE_F64));
}

// The numerics with the precision that the call asks for, for inputs of this type. fp8 has its
// own rule.
std::optional<tunedgemm_numerics> numerics_of(int compute, int math_mode, tunedgemm_type type) {
  const int math = math_mode & ~kNoReducedReduction;
  const bool is_f32 = type == TUNEDGEMM_TYPE_F32;
  const bool is_tf32 =
      is_f32 && (compute == kComputeTf32 || (compute == kCompute32F && math == kTf32Math));
  const bool is_default =
      (compute == kCompute32F && (math == kDefaultMath || (!is_f32 && math != kPedanticMath))) ||
      (compute == kCompute64F && math == kDefaultMath && type == TUNEDGEMM_TYPE_F64) ||
      (compute == kCompute32I && type == TUNEDGEMM_TYPE_S8);
  const auto numerics = is_tf32 ? TUNEDGEMM_NUMERICS_TF32 : TUNEDGEMM_NUMERICS_DEFAULT;
  return (is_tf32 || is_default) && !has_other_arithmetic(numerics, type) ? std::optional(numerics)
                                                                          : std::nullopt;
}

// The type of alpha and beta.
int scalar_type_of(int compute) {
  return compute == kCompute64F ? kR64F : compute == kCompute32I ? kR32I : kR32F;
}

double scalar_at(const void* pointer, int type) {
  if (type == kR64F) {
    return *static_cast<const double*>(pointer);
  }
  return type == kR32I ? static_cast<double>(*static_cast<const std::int32_t*>(pointer))
                       : static_cast<double>(*static_cast<const float*>(pointer));
}

bool is_operation(int operation) {
  return operation >= kNotTransposed && operation <= kConjugateTransposed;
}

tunedgemm_order order_of(int operation) {
  return operation == kNotTransposed ? TUNEDGEMM_ORDER_COLUMN_MAJOR : TUNEDGEMM_ORDER_ROW_MAJOR;
}

// A stride of 0 repeats the matrix.
std::int64_t stride_of_input(std::int64_t stride) {
  return stride == 0 ? TUNEDGEMM_BROADCAST : stride;
}

// Sets the batch and its strides; false if the library cannot compute it.
bool set_batch(tunedgemm_problem& problem, std::int64_t batch, std::int64_t stride_a,
               std::int64_t stride_b, std::int64_t stride_c, std::int64_t stride_d) {
  problem.batch = batch;
  if (batch > 1) {
    problem.batch_stride_a = stride_of_input(stride_a);
    problem.batch_stride_b = stride_of_input(stride_b);
    problem.batch_stride_c = stride_of_input(stride_c);
    problem.batch_stride_d = stride_d;
  }
  return batch >= 1 && stride_a >= 0 && stride_b >= 0 && stride_c >= 0 &&
         (batch == 1 || stride_d > 0);
}

// What differs between calls with the same translation.
struct Operands {
  const void *a, *b, *c;
  void* d;
  double alpha, beta;

  void write_to(tunedgemm_buffers& buffers) const {
    buffers.a = a, buffers.b = b, buffers.c = c, buffers.d = d;
    buffers.alpha = alpha, buffers.beta = beta;
  }
};

// A kind of calls as this library computes it.
struct Translation {
  int scalar_type = kR32F;
  std::optional<FrontCall> call;    ///< the first such call; empty if they are passed on
  FrontProduct* product = nullptr;  ///< of calls with the classes of the first one

  /// Alpha and beta are read only if there is a translation: before, they may be on the device.
  template <class Call>
  void add_product(Front& front, const Call& first) {
    if (call) {
      operands_of(first, scalar_type).write_to(call->buffers);
      product = front.product_of(*call);
    }
  }
  /// Whether a call with these operands has the first one's product.
  bool has_classes_of(const Operands& operands) const {
    return product != nullptr && scalars_of(operands) == product->key.call.scalars &&
           alignments_of(operands, !(operands.beta == 0)) == product->key.call.alignments;
  }
  /// The product of a call with these operands on the current device, or null.
  FrontProduct* product_of(Front& front, const Operands& operands) const {
    FrontCall other = *call;
    operands.write_to(other.buffers);
    return front.product_of(other);
  }
};

// Words in which calls with different translations differ.
template <std::size_t kWords>
struct CallWords {
  std::array<std::uint64_t, kWords> words;

  friend bool operator==(const CallWords&, const CallWords&) = default;
  friend std::uint64_t hash(const CallWords& of) noexcept { return hash_words(of.words); }
};

// The translation of the calls with these words. Null if there are too many, or no memory, which
// the program must not notice here. Never freed, because calls may come during exit.
template <std::size_t kWords, class Translate>
const Translation* known_translation(const CallWords<kWords>& words, Translate translate) {
  struct Known {
    CallWords<kWords> key;
    Translation translation;
  };
  constexpr std::size_t kMost = 1 << 14;
  static auto& all = *new AddOnlyMap<Known, 1 << 12>;
  try {
    const Known* const known = all.find_or_add(words, kMost, [&] {
      return std::make_unique<Known>(Known{words, translate()});
    });
    return known == nullptr ? nullptr : &known->translation;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::uint64_t word_of(int low, int high) {
  return static_cast<std::uint32_t>(low) | std::uint64_t{static_cast<std::uint32_t>(high)} << 32;
}

template <class Pointer>
std::uint64_t word_of(const Pointer* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// The arguments of cublasGemmStridedBatchedEx, and of those that do a part of it.
struct Gemm {
  Handle handle;
  int operation_a, operation_b;
  std::int64_t m, n, k;
  const void* alpha;
  const void* a;
  int type_a;
  std::int64_t lda, stride_a;
  const void* b;
  int type_b;
  std::int64_t ldb, stride_b;
  const void* beta;
  void* c;
  int type_c;
  std::int64_t ldc, stride_c;
  std::int64_t batch;
  int compute;
  int algorithm;
};

// The state of the handle that such a call depends on.
struct HandleState {
  int pointer_mode = 0, math_mode = 0, sm_count = 0;

  bool read(const Library& library, Handle handle) {
    return library.cublasGetPointerMode_v2(handle, &pointer_mode) == kSuccess &&
           library.cublasGetMathMode(handle, &math_mode) == kSuccess &&
           (library.cublasGetSmCountTarget == nullptr ||
            library.cublasGetSmCountTarget(handle, &sm_count) == kSuccess);
  }
};

std::optional<FrontCall> translated(const Gemm& gemm, const HandleState& state) {
  const auto type_a = type_of(gemm.type_a), type_b = type_of(gemm.type_b),
             type_c = type_of(gemm.type_c);
  if (!type_a || !type_b || !type_c || is_fp8(*type_a) || is_fp8(*type_b) ||
      !is_operation(gemm.operation_a) || !is_operation(gemm.operation_b) || gemm.m < 1 ||
      gemm.n < 1 || gemm.k < 1 ||
      (gemm.algorithm != kDefaultAlgorithm && gemm.algorithm != kDefaultTensorOpAlgorithm)) {
    return std::nullopt;
  }
  const auto numerics = numerics_of(gemm.compute, state.math_mode, *type_a);
  FrontCall call;
  tunedgemm_problem& problem = call.problem;
  if (!numerics ||
      !set_batch(problem, gemm.batch, gemm.stride_a, gemm.stride_b, gemm.stride_c, gemm.stride_c)) {
    return std::nullopt;
  }
  problem.m = gemm.m, problem.n = gemm.n, problem.k = gemm.k;
  problem.type_a = *type_a, problem.type_b = *type_b, problem.type_d = *type_c;
  problem.numerics = *numerics;
  problem.order_a = order_of(gemm.operation_a), problem.order_b = order_of(gemm.operation_b);
  problem.order_c = problem.order_d = TUNEDGEMM_ORDER_COLUMN_MAJOR;
  problem.lda = gemm.lda, problem.ldb = gemm.ldb, problem.ldc = problem.ldd = gemm.ldc;
  problem.sm_limit = state.sm_count;
  return call;
}

Operands operands_of(const Gemm& gemm, int scalar_type) {
  return {gemm.a,
          gemm.b,
          gemm.c,
          gemm.c,
          scalar_at(gemm.alpha, scalar_type),
          scalar_at(gemm.beta, scalar_type)};
}

// The translation of such calls, or null if the call is passed on.
const Translation* translation_of(Front& front, const Library& library, const Gemm& gemm) {
  HandleState state;
  if (!library.is_classic || !state.read(library, gemm.handle) || state.pointer_mode != 0) {
    return nullptr;
  }
  const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const CallWords<24> words{{number(gemm.m), number(gemm.n), number(gemm.k), number(gemm.lda),
                             number(gemm.ldb), number(gemm.ldc), number(gemm.stride_a),
                             number(gemm.stride_b), number(gemm.stride_c), number(gemm.batch),
                             word_of(gemm.operation_a, gemm.operation_b),
                             word_of(gemm.type_a, gemm.type_b), word_of(gemm.type_c, gemm.compute),
                             word_of(gemm.algorithm, state.math_mode), number(state.sm_count),
                             word_of(gemm.handle), word_of(&front)}};
  return known_translation(words, [&] {
    Translation translation{scalar_type_of(gemm.compute), translated(gemm, state)};
    translation.add_product(front, gemm);
    return translation;
  });
}

void* stream_of(const Library& library, const Gemm& gemm) {
  void* stream = nullptr;
  library.cublasGetStream_v2(gemm.handle, &stream);
  return stream;
}

// ==== cuBLASLt ================================================================================

// An algorithm that cublasLtMatmulAlgoGetHeuristic proposed. A program that asks for more than one
// proposal may time them, and must then get the algorithm that it names.
struct ProposedAlgorithm {
  struct Key : Algorithm {
    friend std::uint64_t hash(const Key& of) noexcept { return hash_words(of.words); }
  } key;
  std::atomic<bool> is_only_proposal{true};
};

// The descriptors of a cublasLtMatmul, which hold all but the pointers of the matrices.
struct Descriptors {
  Descriptor operation, a, b, c, d;
};

// The attributes of one descriptor. One that the library's version does not have keeps its default.
struct Attributes {
  Status (*get)(Descriptor, int which, void* value, std::size_t bytes, std::size_t* written);
  Descriptor descriptor;

  template <class Value>
  Value at(int which, Value unless_known) const {
    std::size_t written = 0;
    Value value = unless_known;
    return get(descriptor, which, &value, sizeof value, &written) == kSuccess ? value
                                                                              : unless_known;
  }
};

struct Layout {
  std::optional<tunedgemm_type> type;
  std::int64_t rows, columns, leading_dimension, batch, stride;
  bool is_plain;  ///< column-major, not of planes or pointers

  Layout(const Library& library, Descriptor layout)
      : Layout(Attributes{library.cublasLtMatrixLayoutGetAttribute, layout}) {}

 private:
  explicit Layout(const Attributes& of)
      : type(type_of(of.at(kType, -1))),
        rows(of.at<std::int64_t>(kRows, 0)),
        columns(of.at<std::int64_t>(kColumns, 0)),
        leading_dimension(of.at<std::int64_t>(kLeadingDimension, 0)),
        batch(of.at<std::int32_t>(kBatchCount, 1)),
        stride(of.at<std::int64_t>(kBatchStride, 0)),
        is_plain(of.at<std::int32_t>(kOrder, 0) == 0 && of.at<std::int64_t>(kPlaneOffset, 0) == 0 &&
                 of.at<std::int32_t>(kBatchMode, 0) == 0) {}
};

// The scales of an input with `extent` rows of op(A), or columns of op(B).
bool set_scales(int mode, std::int64_t extent, std::int64_t k, tunedgemm_scaling& scaling,
                std::int64_t& stride, std::int64_t& k_stride) {
  switch (mode) {
    case kScalar:
      return true;
    case kOuterVector:
      scaling = TUNEDGEMM_SCALING_ROW;
      return true;
    case kVector128:
      scaling = TUNEDGEMM_SCALING_BLOCK_1X128;
      stride = 1, k_stride = extent;
      return true;
    case kBlock128x128:  // blocks along K are neighbours, padded to a multiple of four
      scaling = TUNEDGEMM_SCALING_BLOCK_128X128;
      stride = round_up(ceil_divide(k, kScaledDepth), 4), k_stride = 1;
      return true;
    default:
      return false;
  }
}

bool read_epilogue(const Attributes& operation, FrontCall& call) {
  tunedgemm_problem& problem = call.problem;
  const auto epilogue = operation.at<std::int32_t>(kEpilogue, kDefaultEpilogue);
  const bool has_bias = (epilogue & kBias) != 0;
  switch (epilogue & ~kBias) {
    case 0:
    case kDefaultEpilogue:
      break;
    case kRelu:
      problem.activation = TUNEDGEMM_ACTIVATION_RELU;
      break;
    case kGeluTanh:
      problem.activation = TUNEDGEMM_ACTIVATION_GELU_TANH;
      break;
    default:
      return false;
  }
  if (has_bias) {
    // By default its type is that of D, but bf16 for f32 from fp8.
    const auto type = operation.at<std::int32_t>(kBiasType, -1);
    const bool is_default =
        type == -1 && !(is_fp8(problem.type_a) && problem.type_d == TUNEDGEMM_TYPE_F32);
    problem.bias = TUNEDGEMM_BIAS_PER_ROW;
    call.buffers.bias = operation.at<const void*>(kBiasPointer, nullptr);
    return (is_default || type_of(type) == problem.type_d) && call.buffers.bias != nullptr &&
           operation.at<std::int64_t>(kBiasBatchStride, 0) == 0;
  }
  return true;
}

bool read_descriptors(const Library& library, const Descriptors& from, int& scalar_type,
                      FrontCall& call) {
  const Attributes operation{library.cublasLtMatmulDescGetAttribute, from.operation};
  const auto number = [&](int which, std::int32_t unless_known) {
    return operation.at<std::int32_t>(which, unless_known);
  };
  const auto pointer = [&](int which) { return operation.at<const void*>(which, nullptr); };
  const int operation_a = number(kTransposeA, 0), operation_b = number(kTransposeB, 0);
  const int compute = number(kComputeType, -1);
  scalar_type = number(kScaleType, -1);
  if (!is_operation(operation_a) || !is_operation(operation_b) || number(kPointerMode, 0) != 0 ||
      number(kTransposeC, 0) != 0 || number(kFillMode, kFullFillMode) != kFullFillMode ||
      scalar_type != scalar_type_of(compute)) {
    return false;
  }
  for (const int of_other_results :
       {kScalePointerC, kScalePointerD, kLargestOfD, kScaleOutPointerD, kEmulation}) {
    if (pointer(of_other_results) != nullptr) {
      return false;
    }
  }
  const Layout a(library, from.a), b(library, from.b), c(library, from.c), d(library, from.d);
  tunedgemm_problem& problem = call.problem;
  problem.m = d.rows, problem.n = d.columns;
  problem.k = operation_a == kNotTransposed ? a.columns : a.rows;
  const bool fits = (operation_a == kNotTransposed ? a.rows : a.columns) == problem.m &&
                    (operation_b == kNotTransposed ? b.rows : b.columns) == problem.k &&
                    (operation_b == kNotTransposed ? b.columns : b.rows) == problem.n &&
                    c.rows == d.rows && c.columns == d.columns && a.batch == d.batch &&
                    b.batch == d.batch && c.batch == d.batch;
  if (!fits || problem.m < 1 || problem.n < 1 || problem.k < 1 || !a.is_plain || !b.is_plain ||
      !c.is_plain || !d.is_plain || !a.type || !b.type || !d.type || c.type != d.type ||
      !set_batch(problem, d.batch, a.stride, b.stride, c.stride, d.stride)) {
    return false;
  }
  problem.type_a = *a.type, problem.type_b = *b.type, problem.type_d = *d.type;
  problem.order_a = order_of(operation_a), problem.order_b = order_of(operation_b);
  problem.order_c = problem.order_d = TUNEDGEMM_ORDER_COLUMN_MAJOR;
  problem.lda = a.leading_dimension, problem.ldb = b.leading_dimension;
  problem.ldc = c.leading_dimension, problem.ldd = d.leading_dimension;
  problem.sm_limit = number(kSmCountTarget, 0);
  const auto numerics = numerics_of(compute, kDefaultMath, *a.type);
  if (!numerics) {
    return false;
  }
  problem.numerics = *numerics;
  tunedgemm_buffers& buffers = call.buffers;
  buffers.scale_a = static_cast<const float*>(pointer(kScalePointerA));
  buffers.scale_b = static_cast<const float*>(pointer(kScalePointerB));
  const int mode_a = number(kScaleModeA, kScalar), mode_b = number(kScaleModeB, kScalar);
  if (is_fp8(*a.type)) {
    const bool is_fast = operation.at<std::int8_t>(kFastAccumulation, 0) != 0;
    problem.numerics = is_fast && mode_a < kVector128 && mode_b < kVector128
                           ? TUNEDGEMM_NUMERICS_FAST
                           : TUNEDGEMM_NUMERICS_PROMOTED;
  } else if (buffers.scale_a != nullptr || buffers.scale_b != nullptr) {
    return false;
  }
  return set_scales(mode_a, problem.m, problem.k, problem.scaling_a, buffers.scale_stride_a,
                    buffers.scale_k_stride_a) &&
         set_scales(mode_b, problem.n, problem.k, problem.scaling_b, buffers.scale_stride_b,
                    buffers.scale_k_stride_b) &&
         read_epilogue(operation, call);
}

// The algorithms that were proposed so far. Never freed, because calls may come during exit.
constexpr std::size_t kMostAlgorithms = 1 << 12;
AddOnlyMap<ProposedAlgorithm, 1 << 10>& proposed_algorithms() {
  static auto& all = *new AddOnlyMap<ProposedAlgorithm, 1 << 10>;
  return all;
}

struct Matmul {
  Handle handle;
  Descriptors descriptors;
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  const Algorithm* algorithm;
  void* stream;
};

bool is_own_choice(const Algorithm* algorithm) {
  if (algorithm == nullptr) {
    return true;
  }
  const ProposedAlgorithm* const proposed =
      proposed_algorithms().find(ProposedAlgorithm::Key{*algorithm});
  return proposed != nullptr && proposed->is_only_proposal.load(std::memory_order_relaxed);
}

Operands operands_of(const Matmul& matmul, int scalar_type) {
  return {matmul.a,
          matmul.b,
          matmul.c,
          matmul.d,
          scalar_at(matmul.alpha, scalar_type),
          scalar_at(matmul.beta, scalar_type)};
}

void* stream_of(const Library& /*library*/, const Matmul& matmul) {
  return matmul.stream;
}

Translation translated(Front& front, const Library& library, const Matmul& matmul) {
  Translation translation;
  if (!read_descriptors(library, matmul.descriptors, translation.scalar_type,
                        translation.call.emplace())) {
    translation.call.reset();
  }
  translation.add_product(front, matmul);
  return translation;
}

// To read descriptors by their attributes takes a microsecond, so known ones are compared as bytes.
// Version 12.1 allocates 168 bytes for an operation, and 12.4 has the sizes of 13.
const Translation* translation_of(Front& front, const Library& library, const Matmul& matmul) {
  constexpr std::size_t kFirstWithTheseSizes = 120400;
  const Descriptors& from = matmul.descriptors;
  if (!library.is_lt || !is_own_choice(matmul.algorithm) || from.operation == nullptr ||
      from.a == nullptr || from.b == nullptr || from.c == nullptr || from.d == nullptr) {
    return nullptr;
  }
  if (library.version_number < kFirstWithTheseSizes) {
    static thread_local Translation of_this_call;
    of_this_call = translated(front, library, matmul);
    return &of_this_call;
  }
  constexpr std::size_t kOperationWords = 32, kLayoutWords = 8;
  CallWords<72> words;
  auto* word = words.words.begin();
  const auto append = [&](const void* descriptor, std::size_t count) {
    std::memcpy(word, descriptor, count * sizeof *word);
    word += count;
  };
  append(from.operation, kOperationWords);
  for (const Descriptor layout : {from.a, from.b, from.c, from.d}) {
    append(layout, kLayoutWords);
  }
  *word++ = word_of(matmul.handle);
  *word++ = word_of(&front);
  std::fill(word, words.words.end(), 0);
  return known_translation(words, [&] { return translated(front, library, matmul); });
}

// ==== Calls ===================================================================================

// Answers the call, or passes it on.
template <class Found, class Call, class Pass>
Status answer(const Found& next, const Call& call, Pass pass) {
  if (next.function == nullptr) {
    return kNotInitialized;
  }
  Front& front = Front::of_process(gpus());
  if (InsideVendor::is_inside() || front.mode() == FrontMode::kOff) {
    return pass(next.function);
  }
  const auto pass_on = [&] {
    const InsideVendor inside;
    return pass(next.function);
  };
  const Translation* const translation = call.alpha == nullptr || call.beta == nullptr
                                             ? nullptr
                                             : translation_of(front, next.library, call);
  if (translation == nullptr || !translation->call) {
    front.count_untranslated();
    return pass_on();
  }
  const Operands operands = operands_of(call, translation->scalar_type);
  FrontProduct* product = translation->has_classes_of(operands)
                              ? translation->product
                              : translation->product_of(front, operands);
  if (product != nullptr && product->is_passed_on() && !front.measures_times()) {
    front.count(*product, /*is_served=*/false);
    return pass_on();
  }
  // A handle belongs to one device, but another handle may have had its address.
  if (product != nullptr && product->key.device != gpus().current()) {
    product = translation->product_of(front, operands);
  }
  if (product == nullptr) {
    front.count_untranslated();
    return pass_on();
  }
  void* const stream = stream_of(next.library, call);
  tunedgemm_buffers buffers = translation->call->buffers;
  operands.write_to(buffers);
  bool is_served = false;
  const auto run = [&]() -> Status {
    is_served = front.answer(*product, buffers, stream, next.library.vendor);
    return is_served ? kSuccess : pass_on();
  };
  return front.measures_times() ? gpus().timed(stream, *product, is_served, run) : run();
}

}  // namespace
}  // namespace tunedgemm::internal

using namespace tunedgemm::internal;

// NOLINTBEGIN(readability-identifier-naming): the manual's names
// NOLINTBEGIN(bugprone-macro-parentheses): declarations
#pragma GCC visibility push(default)
extern "C" {

// Functions of classic cuBLAS, which have extents and leading dimensions of type `Int`.
#define TUNEDGEMM_GEMM_EX(name, Int)                                                               \
  TUNEDGEMM_ANSWER(Status, name,                                                                   \
                   (Handle handle, int op_a, int op_b, Int m, Int n, Int k, const void* alpha,     \
                    const void* a, int type_a, Int lda, const void* b, int type_b, Int ldb,        \
                    const void* beta, void* c, int type_c, Int ldc, int compute, int algorithm),   \
                   (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,   \
                    type_c, ldc, compute, algorithm),                                              \
                   Gemm, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, \
                   beta, c, type_c, ldc, 0, 1, compute, algorithm)
TUNEDGEMM_GEMM_EX(cublasGemmEx, int)
TUNEDGEMM_GEMM_EX(cublasGemmEx_64, std::int64_t)

#define TUNEDGEMM_GEMM_STRIDED_BATCHED_EX(name, Int)                                             \
  TUNEDGEMM_ANSWER(                                                                              \
      Status, name,                                                                              \
      (Handle handle, int op_a, int op_b, Int m, Int n, Int k, const void* alpha, const void* a, \
       int type_a, Int lda, long long stride_a, const void* b, int type_b, Int ldb,              \
       long long stride_b, const void* beta, void* c, int type_c, Int ldc, long long stride_c,   \
       Int batch, int compute, int algorithm),                                                   \
      (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b,   \
       beta, c, type_c, ldc, stride_c, batch, compute, algorithm),                               \
      Gemm, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb,        \
      stride_b, beta, c, type_c, ldc, stride_c, batch, compute, algorithm)
TUNEDGEMM_GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx, int)
TUNEDGEMM_GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx_64, std::int64_t)

#define TUNEDGEMM_GEMM(name, Int, Element, type, compute)                                         \
  TUNEDGEMM_ANSWER(Status, name,                                                                  \
                   (Handle handle, int op_a, int op_b, Int m, Int n, Int k, const Element* alpha, \
                    const Element* a, Int lda, const Element* b, Int ldb, const Element* beta,    \
                    Element* c, Int ldc),                                                         \
                   (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), Gemm,      \
                   handle, op_a, op_b, m, n, k, alpha, a, type, lda, 0, b, type, ldb, 0, beta, c, \
                   type, ldc, 0, 1, compute, kDefaultAlgorithm)
TUNEDGEMM_GEMM(cublasSgemm_v2, int, float, kR32F, kCompute32F)
TUNEDGEMM_GEMM(cublasSgemm_v2_64, std::int64_t, float, kR32F, kCompute32F)
TUNEDGEMM_GEMM(cublasDgemm_v2, int, double, kR64F, kCompute64F)
TUNEDGEMM_GEMM(cublasDgemm_v2_64, std::int64_t, double, kR64F, kCompute64F)

#define TUNEDGEMM_GEMM_STRIDED_BATCHED(name, Int, Element, type, compute)                          \
  TUNEDGEMM_ANSWER(Status, name,                                                                   \
                   (Handle handle, int op_a, int op_b, Int m, Int n, Int k, const Element* alpha,  \
                    const Element* a, Int lda, long long stride_a, const Element* b, Int ldb,      \
                    long long stride_b, const Element* beta, Element* c, Int ldc,                  \
                    long long stride_c, Int batch),                                                \
                   (handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta,  \
                    c, ldc, stride_c, batch),                                                      \
                   Gemm, handle, op_a, op_b, m, n, k, alpha, a, type, lda, stride_a, b, type, ldb, \
                   stride_b, beta, c, type, ldc, stride_c, batch, compute, kDefaultAlgorithm)
TUNEDGEMM_GEMM_STRIDED_BATCHED(cublasSgemmStridedBatched, int, float, kR32F, kCompute32F)
TUNEDGEMM_GEMM_STRIDED_BATCHED(cublasSgemmStridedBatched_64, std::int64_t, float, kR32F,
                               kCompute32F)
TUNEDGEMM_GEMM_STRIDED_BATCHED(cublasDgemmStridedBatched, int, double, kR64F, kCompute64F)
TUNEDGEMM_GEMM_STRIDED_BATCHED(cublasDgemmStridedBatched_64, std::int64_t, double, kR64F,
                               kCompute64F)

TUNEDGEMM_ANSWER(Status, cublasLtMatmul,
                 (Handle handle, Descriptor operation, const void* alpha, const void* a,
                  Descriptor layout_a, const void* b, Descriptor layout_b, const void* beta,
                  const void* c, Descriptor layout_c, void* d, Descriptor layout_d,
                  const void* algorithm, void* workspace, std::size_t workspace_bytes,
                  void* stream),
                 (handle, operation, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d,
                  layout_d, algorithm, workspace, workspace_bytes, stream),
                 Matmul, handle, {operation, layout_a, layout_b, layout_c, layout_d}, alpha, a, b,
                 beta, c, d, static_cast<const Algorithm*>(algorithm), stream)

Status cublasLtMatmulAlgoGetHeuristic(Handle handle, Descriptor operation, Descriptor a,
                                      Descriptor b, Descriptor c, Descriptor d, void* preference,
                                      int requested, void* results, int* returned) {
  using Function = Status(Handle, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, void*,
                          int, void*, int*);
  static NextFunction<Library, Function> next("cublasLtMatmulAlgoGetHeuristic");
  const auto& found = next.of(__builtin_return_address(0));
  if (found.function == nullptr) {
    return kNotInitialized;
  }
  const Status status =
      found.function(handle, operation, a, b, c, d, preference, requested, results, returned);
  if (InsideVendor::is_inside() || status != kSuccess || returned == nullptr) {
    return status;
  }
  for (int index = 0; index < *returned; ++index) {
    const ProposedAlgorithm::Key key{static_cast<const HeuristicResult*>(results)[index].algorithm};
    ProposedAlgorithm* const known = proposed_algorithms().find_or_add(key, kMostAlgorithms, [&] {
      auto added = std::make_unique<ProposedAlgorithm>();
      added->key = key;
      return added;
    });
    if (known != nullptr && requested > 1) {
      known->is_only_proposal.store(false);
    }
  }
  return status;
}

// The calls of this process that were answered so far, for tests and for programs that report.
std::uint64_t tunedgemm_front_served() {
  return static_cast<std::uint64_t>(Front::of_process(gpus()).served());
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(bugprone-macro-parentheses)
// NOLINTEND(readability-identifier-naming)

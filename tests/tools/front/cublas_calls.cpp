// Calls cuBLAS and cuBLASLt as programs in the field do, with random products, and checks every
// result on the CPU. It tests a library that is preloaded and answers some of the calls with its
// own kernels:
//
//   g++ -std=c++20 -O2 cublas_calls.cpp -lcublas -lcublasLt -lcudart -o cublas_calls
//   LD_PRELOAD=libtunedgemm_cublas.so ./cublas_calls --calls 10000 --products 60 --seed 1
//
// The preloaded library may export `uint64_t tunedgemm_front_served(void)`, the number of calls
// that it has answered itself. It must leave some calls to cuBLAS (must_pass() lists them): during
// these the number must not grow. Without the library the program checks cuBLAS alone.
// `--self-check 2000` checks this program's checker with 2000 calls' data; it needs no GPU.
//
// The same seed gives the same products and calls. Products that cuBLAS refuses are drawn again.
// Results of cuBLAS are checked, too, but its faults don't count: without the preloaded library
// there must be as many. Two threads make the last quarter of the calls at the same time, where the
// number can't be attributed to a call: calls with faults are repeated alone. Exit status: 0 no
// fault, 1 faults, 2 the program could not run.
//
// Each matrix lies in a buffer whose other bytes are 0xFF, which is a NaN in every floating-point
// type. So a kernel that reads beyond its input gives NaN, an element of D that was not written can
// stay a NaN, and a byte that was written beside D is found by comparing.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace {

constexpr int64_t kGuardBytes = 512;  // poisoned bytes before and after each matrix, at least
constexpr int kAlignments = 8;        // a matrix starts at an odd multiple < 8 of its alignment
constexpr int kPoolElements = 1 << 16;
constexpr int64_t kSamples = 200;
constexpr uint64_t kWorkspaceBytes = 32 << 20;

struct CublasError : std::runtime_error {
  CublasError(cublasStatus_t result, const std::string& what)
      : std::runtime_error(what + ": " + cublasGetStatusString(result)), status(result) {}
  cublasStatus_t status;
};

void require(cudaError_t status, const std::string& call) {
  if (status != cudaSuccess) {
    throw std::runtime_error(call + ": " + cudaGetErrorString(status));
  }
}

void require(cublasStatus_t status, const std::string& call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CublasError(status, call);
  }
}

#define CHECK(call) require(call, #call)

// One thread.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t purpose = 0, uint64_t item = 0, uint64_t attempt = 0) {
    std::seed_seq words{seed, seed >> 32, purpose, item, attempt};
    engine_.seed(words);
  }
  template <typename Int>
  Int between(Int first, Int last) {
    return std::uniform_int_distribution<Int>(first, last)(engine_);
  }
  int below(int bound) { return between(0, bound - 1); }
  double real() { return std::uniform_real_distribution<double>()(engine_); }
  bool chance(double probability) { return real() < probability; }
  template <typename Value>
  Value pick(std::initializer_list<Value> values) {
    return *(values.begin() + below(static_cast<int>(values.size())));
  }

 private:
  std::mt19937_64 engine_;
};

// ---- Element types ------------------------------------------------------------------------------

enum class Type { kF64, kF32, kF16, kBf16, kE4m3, kE5m2, kS8, kS32 };
constexpr int kTypes = 8;

struct TypeRow {
  const char* name;
  cudaDataType cuda;
  int64_t bytes;
  double rounding;  // half a unit in the last place, relative
  double smallest;  // absolute error near 0
  std::variant<double, float, __half, __nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2, int8_t, int32_t>
      zero;
};

const TypeRow& row(Type type) {
  static const std::array<TypeRow, kTypes> kRows{
      {{"f64", CUDA_R_64F, 8, 0x1p-53, 0x1p-1000, double{}},
       {"f32", CUDA_R_32F, 4, 0x1p-24, 0x1p-120, float{}},
       {"f16", CUDA_R_16F, 2, 0x1p-11, 0x1p-24, __half{}},
       {"bf16", CUDA_R_16BF, 2, 0x1p-9, 0x1p-120, __nv_bfloat16{}},
       {"e4m3", CUDA_R_8F_E4M3, 1, 0x1p-4, 0x1p-10, __nv_fp8_e4m3{}},
       {"e5m2", CUDA_R_8F_E5M2, 1, 0x1p-3, 0x1p-17, __nv_fp8_e5m2{}},
       {"s8", CUDA_R_8I, 1, 0, 0, int8_t{}},
       {"s32", CUDA_R_32I, 4, 0, 0, int32_t{}}}};
  return kRows[static_cast<size_t>(type)];
}

void encode(Type type, double value, uint8_t* to) {
  const auto store = [&]<typename Element>(Element element) {
    element = static_cast<Element>(std::is_integral_v<Element> ? std::floor(value) : value);
    std::memcpy(to, &element, sizeof element);
  };
  std::visit(store, row(type).zero);
}

// `count` elements that lie `step` elements apart.
std::vector<double> decode(Type type, const uint8_t* from, int64_t step = 1, int64_t count = 1) {
  std::vector<double> values(count);
  const auto load = [&]<typename Element>(Element element) {
    for (double& value : values) {
      std::memcpy(&element, from, sizeof element);
      from += step * static_cast<int64_t>(sizeof element);
      if constexpr (std::is_arithmetic_v<Element>) {
        value = element;
      } else {
        value = static_cast<float>(element);
      }
    }
  };
  std::visit(load, row(type).zero);
  return values;
}

// Random elements from which matrices are copied: in [-1, 1), all of s8, and s32 of 21 bits.
const std::vector<uint8_t>& pool(Type type) {
  static const std::vector<std::vector<uint8_t>> kPools = [] {
    std::vector<std::vector<uint8_t>> pools(kTypes);
    for (int at = 0; at < kTypes; ++at) {
      const auto element = static_cast<Type>(at);
      const double range = element == Type::kS8 ? 128 : element == Type::kS32 ? 1 << 20 : 1;
      Random random(0, 0, at);
      pools[at].resize(kPoolElements * row(element).bytes);
      for (int64_t byte = 0; byte < std::ssize(pools[at]); byte += row(element).bytes) {
        encode(element, range * (2 * random.real() - 1), pools[at].data() + byte);
      }
    }
    return pools;
  }();
  return kPools[static_cast<size_t>(type)];
}

// ---- Products -----------------------------------------------------------------------------------

// A batch of matrices in memory. Counts and distances in elements.
struct Matrix {
  Type type = Type::kF32;
  int rows = 0;
  int cols = 0;
  int ld = 1;
  int64_t stride = 0;  // from one matrix of the batch to the next
  int batch = 1;
  uint32_t alignment_bytes = 256;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;

  int64_t offset(int64_t item, int64_t r, int64_t c) const {
    return item * stride + (order == CUBLASLT_ORDER_COL ? r + c * ld : r * ld + c);
  }
  int line() const { return order == CUBLASLT_ORDER_COL ? rows : cols; }
  int lines() const { return order == CUBLASLT_ORDER_COL ? cols : rows; }
  int64_t elements() const { return int64_t{rows} * cols * batch; }
  int64_t span() const { return elements() == 0 ? 0 : offset(batch - 1, rows - 1, cols - 1) + 1; }
  // Calls `visit(offset of the first element)` for each contiguous line.
  void each_line(auto&& visit) const {
    for (int64_t item = 0; item < batch; ++item) {
      for (int64_t at = 0; at < lines(); ++at) {
        visit(item * stride + at * ld);
      }
    }
  }
};

// Names without "cublas". The first products have one each; the others draw from kFirstDrawn on.
constexpr int kFirstDrawn = 3;
constexpr std::array kEntries{"Hgemm", "GemmBatchedEx", "DgemmStridedBatched",
                              // Common ones stand several times.
                              "Sgemm", "Dgemm", "SgemmStridedBatched", "GemmStridedBatchedEx",
                              "GemmEx", "GemmEx", "LtMatmul", "LtMatmul", "LtMatmul", "LtMatmul"};

// D = epilogue(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias); op(A) has m rows and k
// columns.
struct Product {
  std::string_view entry;
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  int m = 1, n = 1, k = 1;
  Matrix a, b, c, d;  // c is the same as d if c_is_d
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  Type scale = Type::kF32;  // of alpha and beta
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  bool c_is_d = true;
  bool unit_scalars = false;  // alpha and beta are only 0 or 1
  // From here for cublasLtMatmul only.
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  Matrix bias;
  int algo_rank = 0;  // the algorithm's rank in the heuristic's answer, from 1; 0 gives none
  uint64_t workspace_bytes = 0;
  bool fast_accumulation = false;
  std::optional<float> scale_a, scale_b;

  bool has(cublasLtEpilogue_t part) const { return (epilogue & part) == part; }
  bool is_lt() const { return entry == "LtMatmul"; }
  bool is_batched() const { return is_lt() || entry.find("Batched") != entry.npos; }
  bool is_fp8() const { return a.type == Type::kE4m3 || a.type == Type::kE5m2; }
  bool is_empty() const { return m == 0 || n == 0 || k == 0 || d.batch == 0; }
  int64_t aux_ld() const { return (std::max(m, n) + 127) / 128 * 128; }  // in bits
};

struct Call {
  int64_t number = 0;
  size_t product = 0;
  double alpha = 1, beta = 0;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  int stream = 0;  // 0: the default one, else see Worker::stream
  int handle = 0;
  cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;
  bool fresh_inputs = false, nan_in_c = false, captured = false;
  int sm_count_target = 0;
  uint64_t data_seed = 0;
};

// Calls that a preloaded library must leave to cuBLAS.
bool must_pass(const Product& product, const Call& call) {
  return call.pointer_mode == CUBLAS_POINTER_MODE_DEVICE || product.is_empty() ||
         product.compute == CUBLAS_COMPUTE_16F || product.compute == CUBLAS_COMPUTE_32F_FAST_16F ||
         product.compute == CUBLAS_COMPUTE_32F_PEDANTIC || product.math == CUBLAS_PEDANTIC_MATH ||
         product.entry == "GemmBatchedEx" || product.algo_rank == 2 ||
         product.epilogue == CUBLASLT_EPILOGUE_RELU_AUX || product.d.order == CUBLASLT_ORDER_ROW;
}

// Enumerators of cuBLAS are printed as its headers' numbers.
std::string text(const Product& p, const Call& call) {
  std::ostringstream out;
  out.precision(17);
  const auto add = [&](const char* label, const Matrix& matrix) {
    out << ' ' << label << '[' << row(matrix.type).name << ' ' << matrix.rows << 'x' << matrix.cols
        << " ld " << matrix.ld << " stride " << matrix.stride << " aligned "
        << matrix.alignment_bytes << " order " << matrix.order << ']';
  };
  out << "cublas" << p.entry << ' ' << "NTC"[p.op_a] << "NTC"[p.op_b] << " m " << p.m << " n "
      << p.n << " k " << p.k << " batch " << p.d.batch;
  add("A", p.a);
  add("B", p.b);
  add(p.c_is_d ? "C=D" : "C", p.c);
  add("D", p.d);
  add("bias", p.bias);
  out << " compute " << p.compute << " scale " << row(p.scale).name << " math " << p.math
      << " epilogue " << p.epilogue << " algo rank " << p.algo_rank << " workspace "
      << p.workspace_bytes << " fast accumulation " << p.fast_accumulation << " scales "
      << p.scale_a.value_or(1) << ' ' << p.scale_b.value_or(1) << "\n  call " << call.number
      << " product " << call.product << " alpha " << call.alpha << " beta " << call.beta
      << " pointer mode " << call.pointer_mode << " stream " << call.stream << " handle "
      << call.handle << " algo " << call.algo << " captured " << call.captured << " NaN in C "
      << call.nan_in_c << " SM count target " << call.sm_count_target;
  return out.str();
}

// ---- Drawing ------------------------------------------------------------------------------------

void draw_types(Random& random, Product& product) {
  using enum Type;
  // First letters of entry points, and the types of A and B, D, the sums, and alpha.
  using Row = std::tuple<std::string_view, Type, Type, cublasComputeType_t, Type>;
  std::string_view letters;
  do {
    std::tie(letters, product.a.type, product.d.type, product.compute, product.scale) =
        random.pick<Row>({{"GLD", kF64, kF64, CUBLAS_COMPUTE_64F, kF64},
                          {"GLS", kF32, kF32, CUBLAS_COMPUTE_32F, kF32},
                          {"GLS", kF32, kF32, CUBLAS_COMPUTE_32F, kF32},
                          {"GL", kF32, kF32, CUBLAS_COMPUTE_32F_FAST_TF32, kF32},
                          {"GL", kF32, kF32, CUBLAS_COMPUTE_32F_FAST_16F, kF32},
                          {"GL", kF32, kF32, CUBLAS_COMPUTE_32F_PEDANTIC, kF32},
                          {"GL", kF16, kF16, CUBLAS_COMPUTE_32F, kF32},
                          {"GL", kF16, kF16, CUBLAS_COMPUTE_32F, kF32},
                          {"GL", kF16, kF32, CUBLAS_COMPUTE_32F, kF32},
                          {"GL", kBf16, kBf16, CUBLAS_COMPUTE_32F, kF32},
                          {"GL", kBf16, kBf16, CUBLAS_COMPUTE_32F, kF32},
                          {"GL", kBf16, kF32, CUBLAS_COMPUTE_32F, kF32},
                          {"GLH", kF16, kF16, CUBLAS_COMPUTE_16F, kF16},
                          {"GL", kS8, kS32, CUBLAS_COMPUTE_32I, kS32}});
  } while (letters.find(product.entry[0]) == letters.npos);
  product.b.type = product.a.type;
  if (product.is_lt() && random.chance(0.3)) {
    std::tie(product.a.type, product.b.type) =
        random.pick<std::tuple<Type, Type>>({{kE4m3, kE4m3}, {kE4m3, kE5m2}, {kE5m2, kE4m3}});
    product.d.type = random.pick({kBf16, kF16, kF32});
    product.compute = CUBLAS_COMPUTE_32F;
    product.scale = kF32;
  }
  product.c.type = product.d.type;
  product.unit_scalars = product.scale == kS32 && random.chance(0.5);
  if (!product.is_lt() && product.a.type == kF32 && product.compute == CUBLAS_COMPUTE_32F) {
    product.math = random.pick({CUBLAS_DEFAULT_MATH, CUBLAS_DEFAULT_MATH,
                                CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH});
  }
}

int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void draw_sizes(Random& random, int largest, Product& product) {
  for (int* extent : {&product.m, &product.n, &product.k}) {
    const double kind = random.real();
    *extent = kind < 0.08   ? 1
              : kind < 0.25 ? random.pick({2, 3, 5, 7, 13, 31, 61, 127, 251, 509})
              : kind < 0.6  ? random.pick({16, 32, 64, 96, 128, 192, 256}) + random.between(-1, 1)
                            : random.between(64, kind < 0.85 ? 256 : 700);
  }
  if (random.chance(0.15)) {
    product.k = random.between(700, 2048);
  } else if (random.chance(0.08)) {
    *random.pick({&product.m, &product.n, &product.k}) = 2048;
  }
  // The tensor cores of the narrow types want multiples, and cuBLAS refuses the rest of fp8.
  const int multiple = product.is_fp8()              ? 16
                       : product.a.type == Type::kS8 ? random.pick({4, 16})
                                                     : random.pick({1, 8});
  if (product.is_batched() && random.chance(0.6)) {
    product.d.batch = random.between(2, 5);
    product.m = std::min(product.m, 512);
    product.n = std::min(product.n, 512);
  }
  for (int* extent : {&product.m, &product.n, &product.k}) {
    *extent = round_up(std::min(*extent, largest), multiple);
  }
  if (random.chance(0.03)) {
    int* const extents[]{&product.m, &product.n, &product.d.batch, &product.k};
    // cuBLASLt's manual does not say what D is without a k.
    *extents[random.below(product.is_lt() ? 3 : 4)] = 0;
    product.d.batch = product.is_batched() ? product.d.batch : 1;
  }
}

// Sets all of a matrix but its type and order; op(matrix) has `rows` and `cols`. Paddings are
// multiples of `multiple`, and if it is not 1, pointers are aligned to 16 bytes.
void draw_layout(Random& random, const Product& product, cublasOperation_t op, int rows, int cols,
                 int multiple, Matrix& matrix) {
  const auto padding = [&] {
    return random.pick({0, 0, 16 * random.between(1, 4), multiple * random.between(1, 9)});
  };
  matrix.rows = op == CUBLAS_OP_N ? rows : cols;
  matrix.cols = op == CUBLAS_OP_N ? cols : rows;
  matrix.batch = product.d.batch;
  const int line = std::max(matrix.line(), 1);
  if (matrix.batch > 1 && random.chance(0.2)) {  // side by side, as attention heads
    matrix.ld = line * matrix.batch + padding();
    matrix.stride = line;
  } else {
    matrix.ld = line + padding();
    matrix.stride = int64_t{matrix.ld} * std::max(matrix.lines(), 1) + padding();
  }
  const int64_t smallest = multiple == 1 ? row(matrix.type).bytes : 16;
  matrix.alignment_bytes = static_cast<uint32_t>(random.pick<int64_t>({256, 256, 16, smallest}));
}

void draw_lt(Random& random, Product& product) {
  product.algo_rank = random.pick({0, 0, 1, 1, 2});
  product.workspace_bytes = random.chance(0.6) ? kWorkspaceBytes : 0;
  product.fast_accumulation = product.is_fp8() && random.chance(0.5);
  for (auto* scale : {&product.scale_a, &product.scale_b}) {
    if (product.is_fp8() && random.chance(0.7)) {
      *scale = static_cast<float>(0.25 + 2 * random.real());
    }
  }
  product.c_is_d = random.chance(0.5);
  if (random.chance(0.08)) {
    product.c.order = product.d.order = CUBLASLT_ORDER_ROW;
  }
  if (product.a.type != Type::kF64 && product.a.type != Type::kS8 && random.chance(0.6)) {
    product.epilogue = random.pick({CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,
                                    CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU,
                                    CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX});
  }
}

Product draw_product(uint64_t seed, int index, uint64_t attempt, int largest) {
  Random random(seed, 1, index, attempt);
  Product product;
  constexpr int kCount = kEntries.size();
  product.entry = kEntries[index < kCount ? index : random.between(kFirstDrawn, kCount - 1)];
  draw_types(random, product);
  for (auto* op : {&product.op_a, &product.op_b}) {
    *op = random.pick({CUBLAS_OP_N, CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_T, CUBLAS_OP_C});
  }
  if (product.is_fp8() || (product.a.type == Type::kS8 && random.chance(0.7))) {
    product.op_a = CUBLAS_OP_T;
    product.op_b = CUBLAS_OP_N;
  }
  draw_sizes(random, largest, product);
  if (product.is_lt()) {
    draw_lt(random, product);
  }
  const int input_multiple = row(product.a.type).bytes == 1 ? 16 : 1;
  const int output_multiple = product.is_fp8() ? 8 : 1;  // cuBLASLt wants 16 bytes everywhere
  const auto [m, n, k] = std::array{product.m, product.n, product.k};
  draw_layout(random, product, product.op_a, m, k, input_multiple, product.a);
  draw_layout(random, product, product.op_b, k, n, input_multiple, product.b);
  draw_layout(random, product, CUBLAS_OP_N, m, n, output_multiple, product.c);
  draw_layout(random, product, CUBLAS_OP_N, m, n, output_multiple, product.d);
  if (product.c_is_d) {
    product.c = product.d;
  }
  if (product.d.batch > 1 && random.chance(0.4)) {  // all of the batch share one A or B
    random.pick({&product.a, &product.b})->stride = 0;
  }
  const bool bf16_bias = product.is_fp8() && product.d.type == Type::kF32;
  product.bias = {.type = bf16_bias ? Type::kBf16 : product.d.type,
                  .rows = m,
                  .cols = 1,
                  .ld = m,
                  .stride = random.chance(0.5) ? round_up(m, 8) : 0,
                  .batch = product.d.batch};
  return product;
}

double draw_scalar(Random& random, const Product& product) {
  if (product.scale == Type::kS32) {
    return product.unit_scalars ? random.below(2) : random.pick({0, 0, 1, 1, -3, -2, -1, 2, 3});
  }
  const double value = random.pick({0.0, 1.0, 1.0, -0.5, 4 * random.real() - 2});
  uint8_t encoded[8];
  encode(product.scale, value, encoded);
  return decode(product.scale, encoded)[0];
}

Call draw_call(uint64_t seed, int64_t number, const std::vector<Product>& products) {
  Random random(seed, 2, number);
  Call call;
  call.number = number;
  call.product = random.below(static_cast<int>(products.size()));
  const Product& product = products[call.product];
  do {  // rarely both are 0
    call.alpha = draw_scalar(random, product);
    call.beta = draw_scalar(random, product);
  } while (call.alpha == 0 && random.chance(0.8));
  call.pointer_mode = random.chance(0.12) ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
  call.handle = random.below(2);
  if (product.a.type != Type::kF32 && random.chance(0.5)) {  // for f32 it may round the inputs
    call.algo = CUBLAS_GEMM_DEFAULT_TENSOR_OP;
  }
  call.fresh_inputs = random.chance(0.2);
  call.nan_in_c = call.beta == 0 && random.chance(0.6);
  call.captured = random.chance(0.05);
  // The default stream can't be captured, and blocking ones disturb it.
  call.stream = call.captured ? 1 : random.below(4);
  call.sm_count_target = random.chance(0.04) ? 32 : 0;
  call.data_seed = random.between<uint64_t>(0, UINT64_MAX);
  return call;
}

template <typename Object>
using Owner = std::unique_ptr<Object, std::function<void(Object*)>>;
using DeviceMemory = Owner<void>;

// The function's name has the type of what could not be created.
template <typename Object, typename... Parameters>
Owner<Object> create(auto(*make)(Object**, Parameters...), auto destroy,
                     std::type_identity_t<Parameters>... arguments) {
  Object* object = nullptr;
  require(make(&object, arguments...), __PRETTY_FUNCTION__);
  return Owner<Object>(object, destroy);
}

DeviceMemory allocate(int64_t bytes) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, bytes));
  return DeviceMemory(memory, cudaFree);
}

// A matrix amid poisoned bytes, on the host and on the device. One thread.
class Buffer {
 public:
  explicit Buffer(const Matrix& matrix)
      : matrix_(matrix),
        image_(2 * kGuardBytes + kAlignments * matrix.alignment_bytes +
               matrix.span() * row(matrix.type).bytes) {}
  // Draws a new start of the same alignment.
  void move(Random& random) {
    start_ = kGuardBytes + matrix_.alignment_bytes * (1 + 2 * random.below(kAlignments / 2));
  }
  void poison() {
    std::fill(image_.begin(), image_.end(), uint8_t{0xff});
    changed_ = true;
  }
  void fill(Random& random) {
    const int64_t bytes = row(matrix_.type).bytes;
    poison();
    matrix_.each_line([&](int64_t first) {
      const int64_t from = random.between(0, kPoolElements - matrix_.line());
      std::copy_n(pool(matrix_.type).begin() + from * bytes, matrix_.line() * bytes,
                  image_.begin() + place(first));
    });
  }
  void upload(cudaStream_t stream) {
    if (!std::exchange(changed_, false)) {
      return;
    }
    if (!memory_) {
      memory_ = allocate(std::ssize(image_));
    }
    CHECK(cudaMemcpyAsync(memory_.get(), image_.data(), image_.size(), cudaMemcpyDefault, stream));
  }
  // What the device has now; the host keeps what was uploaded.
  std::vector<uint8_t> download(cudaStream_t stream) const {
    std::vector<uint8_t> got(image_.size());
    CHECK(cudaMemcpyAsync(got.data(), memory_.get(), got.size(), cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    return got;
  }
  // An element's byte in the images.
  int64_t place(int64_t element) const { return start_ + element * row(matrix_.type).bytes; }
  const uint8_t* host(int64_t element) const { return image_.data() + place(element); }
  void* device(int64_t element = 0) const {
    return static_cast<uint8_t*>(memory_.get()) + place(element);
  }
  const std::vector<uint8_t>& image() const { return image_; }

 private:
  Matrix matrix_;
  int64_t start_ = kGuardBytes;
  std::vector<uint8_t> image_;
  DeviceMemory memory_;
  bool changed_ = false;  // since the last upload
};

struct Operands {
  explicit Operands(const Product& product)
      : a(product.a), b(product.b), c(product.c), d(product.d), bias(product.bias) {}
  Buffer a, b, c, d, bias;  // c is unused if C is D
  DeviceMemory aux;
  bool has_inputs = false;
};

// A call in progress. Its host side needs no GPU.
struct Trial {
  const Product& product;
  const Call& call;
  Operands& operands;
  Random random{call.data_seed};

  Buffer& c() const { return product.c_is_d ? operands.d : operands.c; }
  void fill_inputs() {
    for (Buffer* buffer : {&operands.a, &operands.b, &operands.bias}) {
      buffer->fill(random);
    }
  }
  void fill_outputs() {
    operands.d.poison();
    call.nan_in_c ? c().poison() : c().fill(random);
  }
};

// ---- The reference and the checker --------------------------------------------------------------

// How far a right sum can be from the f64 one, because of the accumulator and of rounded inputs.
// `magnitude` is the sum of the terms' absolute values, and `root` the root of the sum of their
// squares, which is the size of a typical partial sum.
double sum_error(const Product& product, double magnitude, double root) {
  const double k = product.k;
  const double steps = 4 + 2 * std::sqrt(k);
  const bool tf32 =
      product.a.type == Type::kF32 && (product.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                                       product.compute == CUBLAS_COMPUTE_32F_FAST_16F ||
                                       product.math == CUBLAS_TF32_TENSOR_OP_MATH);
  double error = product.a.type == Type::kS8    ? 0
                 : product.a.type == Type::kF64 ? 0x1p-52 * steps * magnitude
                 : product.compute == CUBLAS_COMPUTE_16F
                     ? 0x1p-10 * (4 + std::sqrt(k) / 4) * magnitude
                     : 0x1p-23 * steps * magnitude;
  if (product.is_fp8()) {  // Hopper's tensor cores keep 14 bits of an fp8 sum
    error += 0x1p-10 * (8 + k / 16) * root;
  } else if (tf32) {  // 10 bits of mantissa in both inputs, cut off
    error += 0x1p-9 * magnitude;
  }
  if (product.d.type == Type::kF16 || product.d.type == Type::kBf16) {
    // Split-K slices may be stored as D's type.
    error += 8 * row(product.d.type).rounding * root;
  }
  return error;
}

// One element of D from the host's images, and its tolerance.
std::pair<double, double> expected_at(const Trial& trial, int64_t item, int64_t r, int64_t c) {
  const Product& product = trial.product;
  const Call& call = trial.call;
  const Operands& operands = trial.operands;
  const auto line = [&](const Matrix& matrix, const Buffer& buffer, bool along_row, int64_t at) {
    const int64_t first = along_row ? matrix.offset(item, at, 0) : matrix.offset(item, 0, at);
    return decode(matrix.type, buffer.host(first), along_row ? matrix.ld : 1, product.k);
  };
  const auto a_line = line(product.a, operands.a, product.op_a == CUBLAS_OP_N, r);
  const auto b_line = line(product.b, operands.b, product.op_b != CUBLAS_OP_N, c);
  double sum = 0, sum_magnitude = 0, squares = 0;
  for (int k = 0; k < product.k; ++k) {
    const double term = a_line[k] * b_line[k];
    sum += term;
    sum_magnitude += std::abs(term);
    squares += term * term;
  }
  const double alpha = call.alpha * product.scale_a.value_or(1) * product.scale_b.value_or(1);
  double scaled_c = 0;
  if (call.beta != 0) {
    scaled_c = call.beta * decode(product.c.type, trial.c().host(product.c.offset(item, r, c)))[0];
  }
  double bias = 0;
  if (product.has(CUBLASLT_EPILOGUE_BIAS)) {
    bias = decode(product.bias.type, operands.bias.host(product.bias.offset(item, r, 0)))[0];
  }
  const double magnitude = std::abs(alpha * sum) + std::abs(scaled_c) + std::abs(bias);
  const double value = alpha * sum + scaled_c + bias;
  const double tolerance =
      std::abs(alpha) * sum_error(product, sum_magnitude, std::sqrt(squares)) +
      4 * (row(product.scale).rounding + row(product.d.type).rounding) * magnitude +
      row(product.d.type).smallest;
  if (product.has(CUBLASLT_EPILOGUE_RELU)) {
    return {std::max(value, 0.0), tolerance};
  }
  if (product.has(CUBLASLT_EPILOGUE_GELU)) {  // its slope is at most 1.13; tanh has 11 bits
    const double inner = std::sqrt(2 / M_PI) * (value + 0.044715 * std::pow(value, 3));
    return {0.5 * value * (1 + std::tanh(inner)), 1.2 * tolerance + 0x1p-11 * std::abs(value)};
  }
  return {value, tolerance};
}

struct Verdict {
  std::string wrong{};          // empty: right
  std::string out_of_bounds{};  // empty: nothing was written outside

  bool is_right() const { return wrong.empty() && out_of_bounds.empty(); }
};

// Compares `samples` elements of D, or all if they are few, and all of the image's other bytes.
Verdict check(Trial& trial, const std::vector<uint8_t>& got, int64_t samples) {
  Verdict verdict;
  const Matrix& d = trial.product.d;
  const Buffer& buffer = trial.operands.d;
  Random& random = trial.random;
  const auto fail = [](std::string& fault, auto... parts) {
    if (fault.empty()) {
      std::ostringstream out;
      out.precision(10);
      (out << ... << parts);
      fault = out.str();
    }
  };
  const bool all = d.elements() <= samples || d.elements() * trial.product.k <= 50000;
  for (int64_t at = 0; at < (all ? d.elements() : samples); ++at) {
    int r = static_cast<int>(at % d.rows);
    int c = static_cast<int>(at / d.rows % d.cols);
    int item = static_cast<int>(at / d.rows / d.cols);
    if (!all) {  // often at an edge
      r = random.pick({0, d.rows - 1, random.below(d.rows), random.below(d.rows)});
      c = random.pick({0, d.cols - 1, random.below(d.cols), random.below(d.cols)});
      item = random.pick({0, d.batch - 1, random.below(d.batch)});
    }
    const auto [expected, tolerance] = expected_at(trial, item, r, c);
    const double value = decode(d.type, got.data() + buffer.place(d.offset(item, r, c)))[0];
    if (!(std::abs(value - expected) <= tolerance)) {
      fail(verdict.wrong, "element batch ", item, " row ", r, " column ", c, ": expected ",
           expected, " within ", tolerance, ", got ", value);
    }
  }
  std::vector<uint8_t> outside = got;  // with what was uploaded in D's elements
  d.each_line([&](int64_t first) {
    const int64_t place = buffer.place(first);
    for (const double value : decode(d.type, got.data() + place, 1, d.line())) {
      if (std::isnan(value)) {
        fail(verdict.wrong, "NaN, or not written: an element from offset ", first, " of D");
      }
    }
    std::copy_n(buffer.host(first), d.line() * row(d.type).bytes, outside.begin() + place);
  });
  if (outside != buffer.image()) {
    const auto first = std::mismatch(outside.begin(), outside.end(), buffer.image().begin()).first;
    fail(verdict.out_of_bounds, "byte ", first - outside.begin() - buffer.place(0),
         " relative to D is not D's and was overwritten");
  }
  return verdict;
}

// ---- The calls ----------------------------------------------------------------------------------

// One thread's handles, streams and memory. One thread.
struct Worker {
  Owner<cublasContext> handles[2]{create(cublasCreate, cublasDestroy),
                                  create(cublasCreate, cublasDestroy)};
  Owner<cublasLtContext> lt_handles[2]{create(cublasLtCreate, cublasLtDestroy),
                                       create(cublasLtCreate, cublasLtDestroy)};
  Owner<CUstream_st> user =
      create(cudaStreamCreateWithFlags, cudaStreamDestroy, cudaStreamNonBlocking);
  Owner<CUstream_st> user_blocking = create(cudaStreamCreate, cudaStreamDestroy);
  DeviceMemory workspace = allocate(kWorkspaceBytes);
  alignas(16) std::array<uint8_t, 64> scalars{};  // alpha, beta, scale_a, scale_b, each 16 bytes
  DeviceMemory device_scalars = allocate(sizeof scalars);
  DeviceMemory pointers = allocate(3 * 8 * sizeof(void*));  // of A, B and C, 8 batch items each
  std::map<size_t, Operands> operands;                      // of each product used

  void* scalar(const Call& call, size_t byte) {
    const bool on_device = call.pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    return on_device ? static_cast<uint8_t*>(device_scalars.get()) + byte : &scalars[byte];
  }
  cudaStream_t stream(const Call& call) const {
    const cudaStream_t streams[]{nullptr, user.get(), user_blocking.get(), cudaStreamPerThread};
    return streams[call.stream];
  }
};

// A pointer of each type that cuBLAS's parameters have.
struct Address {
  void* value;
  template <typename Value>
  operator Value*() const {
    return static_cast<Value*>(value);
  }
};

cublasStatus_t launch_cublas(const Trial& trial, Worker& worker) {
  const Product& p = trial.product;
  const Call& call = trial.call;
  cublasHandle_t handle = worker.handles[call.handle].get();
  CHECK(cublasSetStream(handle, worker.stream(call)));
  CHECK(cublasSetPointerMode(handle, call.pointer_mode));
  CHECK(cublasSetMathMode(handle, p.math));
  CHECK(cublasSetSmCountTarget(handle, call.sm_count_target));
  const Address alpha{worker.scalar(call, 0)};
  const Address beta{worker.scalar(call, 16)};
  const Address a{trial.operands.a.device()};
  const Address b{trial.operands.b.device()};
  const Address d{trial.operands.d.device()};
  const auto a_type = row(p.a.type).cuda;
  const auto b_type = row(p.b.type).cuda;
  const auto d_type = row(p.d.type).cuda;
  const auto gemm = [&](auto* function, auto... rest) {
    return function(handle, p.op_a, p.op_b, p.m, p.n, p.k, alpha, a, rest...);
  };
  auto* const pointers = static_cast<void**>(worker.pointers.get());
  return p.entry == "Sgemm"   ? gemm(cublasSgemm, p.a.ld, b, p.b.ld, beta, d, p.d.ld)
         : p.entry == "Dgemm" ? gemm(cublasDgemm, p.a.ld, b, p.b.ld, beta, d, p.d.ld)
         : p.entry == "Hgemm" ? gemm(cublasHgemm, p.a.ld, b, p.b.ld, beta, d, p.d.ld)
         : p.entry == "SgemmStridedBatched"
             ? gemm(cublasSgemmStridedBatched, p.a.ld, p.a.stride, b, p.b.ld, p.b.stride, beta, d,
                    p.d.ld, p.d.stride, p.d.batch)
         : p.entry == "DgemmStridedBatched"
             ? gemm(cublasDgemmStridedBatched, p.a.ld, p.a.stride, b, p.b.ld, p.b.stride, beta, d,
                    p.d.ld, p.d.stride, p.d.batch)
         : p.entry == "GemmEx"
             ? cublasGemmEx(handle, p.op_a, p.op_b, p.m, p.n, p.k, alpha, a, a_type, p.a.ld, b,
                            b_type, p.b.ld, beta, d, d_type, p.d.ld, p.compute, call.algo)
         : p.entry == "GemmStridedBatchedEx"
             ? cublasGemmStridedBatchedEx(handle, p.op_a, p.op_b, p.m, p.n, p.k, alpha, a, a_type,
                                          p.a.ld, p.a.stride, b, b_type, p.b.ld, p.b.stride, beta,
                                          d, d_type, p.d.ld, p.d.stride, p.d.batch, p.compute,
                                          call.algo)
             : cublasGemmBatchedEx(handle, p.op_a, p.op_b, p.m, p.n, p.k, alpha, pointers, a_type,
                                   p.a.ld, pointers + 8, b_type, p.b.ld, beta, pointers + 16,
                                   d_type, p.d.ld, p.d.batch, p.compute, call.algo);
}

// Attributes that are enumerators in cuBLASLt's headers have 32 bits.
Owner<cublasLtMatrixLayoutOpaque_t> make_layout(const Matrix& matrix) {
  auto layout = create(cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy,
                       row(matrix.type).cuda, matrix.rows, matrix.cols, matrix.ld);
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    CHECK(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATRIX_LAYOUT_ORDER, matrix.order);
  if (matrix.batch != 1) {
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrix.batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
  }
  return layout;
}

Owner<cublasLtMatmulDescOpaque_t> make_operation(const Trial& trial, const Worker& worker) {
  const Product& product = trial.product;
  auto operation = create(cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy, product.compute,
                          row(product.scale).cuda);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    CHECK(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, product.op_a);
  set(CUBLASLT_MATMUL_DESC_TRANSB, product.op_b);
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, trial.call.pointer_mode);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, product.epilogue);
  if (product.has(CUBLASLT_EPILOGUE_BIAS)) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, trial.operands.bias.device());
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, row(product.bias.type).cuda);
    if (product.d.batch > 1) {
      set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, product.bias.stride);
    }
  }
  if (product.epilogue == CUBLASLT_EPILOGUE_RELU_AUX) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, trial.operands.aux.get());
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.aux_ld());
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, product.aux_ld() * product.aux_ld());
  }
  uint8_t* const scalars = static_cast<uint8_t*>(worker.device_scalars.get());
  if (product.scale_a) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scalars + 32);
  }
  if (product.scale_b) {
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scalars + 48);
  }
  if (product.fast_accumulation) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
  }
  return operation;
}

cublasStatus_t launch_lt(const Trial& trial, Worker& worker) {
  const Product& product = trial.product;
  cublasLtHandle_t handle = worker.lt_handles[trial.call.handle].get();
  const auto operation = make_operation(trial, worker);
  const auto a = make_layout(product.a);
  const auto b = make_layout(product.b);
  const auto c = make_layout(product.c);
  const auto d = make_layout(product.d);
  std::array<cublasLtMatmulHeuristicResult_t, 2> results{};
  const cublasLtMatmulAlgo_t* algo = nullptr;
  if (product.algo_rank > 0) {
    const auto preference = create(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      CHECK(
          cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, product.workspace_bytes);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, product.a.alignment_bytes);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, product.b.alignment_bytes);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, product.c.alignment_bytes);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, product.d.alignment_bytes);
    int found = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, operation.get(), a.get(), b.get(), c.get(),
                                         d.get(), preference.get(), product.algo_rank,
                                         results.data(), &found));
    if (found < product.algo_rank) {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    algo = &results[product.algo_rank - 1].algo;
  }
  void* const workspace = product.workspace_bytes > 0 ? worker.workspace.get() : nullptr;
  return cublasLtMatmul(handle, operation.get(), worker.scalar(trial.call, 0),
                        trial.operands.a.device(), a.get(), trial.operands.b.device(), b.get(),
                        worker.scalar(trial.call, 16), trial.c().device(), c.get(),
                        trial.operands.d.device(), d.get(), algo, workspace,
                        product.workspace_bytes, worker.stream(trial.call));
}

// The status of the call, or of a setting or descriptor that the call needs.
cublasStatus_t launch(const Trial& trial, Worker& worker) {
  try {
    return trial.product.is_lt() ? launch_lt(trial, worker) : launch_cublas(trial, worker);
  } catch (const CublasError& error) {
    return error.status;
  }
}

void upload(Trial& trial, Worker& worker) {
  const auto& [product, call, operands, random] = trial;
  cudaStream_t stream = worker.stream(call);
  for (Buffer* buffer : {&operands.a, &operands.b, &operands.c, &operands.d, &operands.bias}) {
    buffer->upload(stream);
  }
  encode(product.scale, call.alpha, &worker.scalars[0]);
  encode(product.scale, call.beta, &worker.scalars[16]);
  encode(Type::kF32, product.scale_a.value_or(1.0F), &worker.scalars[32]);
  encode(Type::kF32, product.scale_b.value_or(1.0F), &worker.scalars[48]);
  CHECK(cudaMemcpyAsync(worker.device_scalars.get(), worker.scalars.data(), sizeof worker.scalars,
                        cudaMemcpyDefault, stream));
  std::array<void*, 24> pointers{};
  for (int item = 0; item < product.d.batch; ++item) {
    pointers[item] = operands.a.device(item * product.a.stride);
    pointers[8 + item] = operands.b.device(item * product.b.stride);
    pointers[16 + item] = operands.d.device(item * product.d.stride);
  }
  CHECK(cudaMemcpyAsync(worker.pointers.get(), pointers.data(), sizeof pointers, cudaMemcpyDefault,
                        stream));
  if (product.epilogue == CUBLASLT_EPILOGUE_RELU_AUX && !operands.aux) {
    operands.aux = allocate(product.aux_ld() * product.aux_ld() / 8 * (product.d.batch + 1));
  }
  CHECK(cudaStreamSynchronize(stream));
}

Trial prepare(const Product& product, const Call& call, Worker& worker) {
  Trial trial{product, call, worker.operands.try_emplace(call.product, product).first->second};
  if (call.fresh_inputs || !trial.operands.has_inputs) {
    for (Buffer* buffer : {&trial.operands.a, &trial.operands.b, &trial.operands.bias}) {
      buffer->move(trial.random);
    }
    trial.fill_inputs();
    trial.operands.has_inputs = true;
  }
  trial.operands.c.move(trial.random);
  trial.operands.d.move(trial.random);
  trial.fill_outputs();
  upload(trial, worker);
  return trial;
}

// A captured call is launched twice, with other elements at the same addresses.
Verdict run_call(const Product& product, const Call& call, cudaStreamCaptureMode mode,
                 Worker& worker) {
  cudaStream_t stream = worker.stream(call);
  Trial trial = prepare(product, call, worker);
  const auto download_and_check = [&] {
    Verdict verdict = check(trial, trial.operands.d.download(stream), kSamples);
    if (!product.c_is_d && trial.operands.c.download(stream) != trial.operands.c.image()) {
      verdict.out_of_bounds = "C was changed, and D is another matrix";
    }
    return verdict;
  };
  cudaGraph_t captured = nullptr;
  if (call.captured) {
    CHECK(cudaStreamBeginCapture(stream, mode));
  }
  const cublasStatus_t status = launch(trial, worker);
  if (call.captured) {
    CHECK(cudaStreamEndCapture(stream, &captured));
  }
  const Owner<CUgraph_st> graph(captured, cudaGraphDestroy);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return {.wrong = cublasGetStatusString(status)};
  }
  if (!call.captured) {
    return download_and_check();
  }
  const auto executable = create(cudaGraphInstantiateWithFlags, cudaGraphExecDestroy, captured, 0);
  CHECK(cudaGraphLaunch(executable.get(), stream));
  Verdict verdict = download_and_check();
  if (verdict.is_right()) {
    trial.fill_inputs();
    trial.fill_outputs();
    upload(trial, worker);
    CHECK(cudaGraphLaunch(executable.get(), stream));
    verdict = download_and_check();
  }
  return verdict;
}

int64_t served() {
  static auto* const kFunction =
      reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "tunedgemm_front_served"));
  return kFunction == nullptr ? 0 : static_cast<int64_t>(kFunction());
}

// Counts calls and faults, and prints the first faults. Threads may share it.
class Report {
 public:
  void add(const Product& product, const Call& call, const Verdict& verdict, int64_t served_now) {
    const std::lock_guard guard(mutex_);
    const bool pass = must_pass(product, call);
    const auto add = [&](Column column, int64_t count) {
      counts_[product.entry][column] += count;
      counts_["all"][column] += count;
    };
    const auto add_fault = [&](Column column, const std::string& fault) {
      add(column, !fault.empty());
      if (!fault.empty() && ++faults_ <= kPrinted) {
        std::printf("%s: %s\n  %s\n", kColumnNames[column], fault.c_str(),
                    text(product, call).c_str());
        std::fflush(stdout);
      }
    };
    add(kCalls, 1);
    add(kMustPass, pass);
    add(kServed, served_now);
    if (served_now > 0) {
      add_fault(kWrong, verdict.wrong);
      add_fault(kOutOfBounds, verdict.out_of_bounds);
    } else {
      add(kCublasWrong, !verdict.is_right());
    }
    add_fault(kServedMustPass, pass && served_now > 0 ? "cuBLAS should have got this call" : "");
    if (counts_["all"][kCalls] % 1000 == 0) {
      std::fprintf(stderr, "%ld calls, %ld faults\n", counts_["all"][kCalls], faults_);
    }
  }

  // Prints the table, and returns the exit status.
  int finish(int64_t served_in_all) {
    const int64_t served_in_threads = served_in_all - counts_["all"][kServed];
    counts_["all"][kServed] = served_in_all;
    std::printf("%-28s", "entry point");
    for (const char* column : kColumnNames) {
      std::printf("%18s", column);
    }
    for (const auto& [entry, counts] : counts_) {
      std::printf("\n%-28s", entry.data());
      for (const int64_t count : counts) {
        std::printf("%18ld", count);
      }
    }
    std::printf("\n\"all\" has the %ld calls more that were served in the two threads' part\n",
                served_in_threads);
    return faults_ == 0 ? 0 : 1;
  }

 private:
  enum Column {
    kCalls,
    kWrong,
    kOutOfBounds,
    kCublasWrong,
    kMustPass,
    kServedMustPass,
    kServed,
    kColumns
  };
  static constexpr std::array<const char*, kColumns> kColumnNames{
      "calls", "wrong", "out of bounds", "cuBLAS is wrong", "must pass", "served must pass",
      "served"};
  static constexpr int64_t kPrinted = 10;

  std::mutex mutex_;
  int64_t faults_ = 0;
  std::map<std::string_view, std::array<int64_t, kColumns>> counts_;
};

// ---- The program --------------------------------------------------------------------------------

// Draws until cuBLAS accepts a first call of each product, and prints how many it refused.
std::vector<Product> draw_products(uint64_t seed, size_t count, Worker& worker) {
  constexpr int kAttempts = 200;
  constexpr int kLargest = 2048;
  std::vector<Product> products;
  int attempt = 0;
  int refusals = 0;
  while (products.size() < count) {
    const int index = static_cast<int>(products.size());
    const Product product = draw_product(seed, index, attempt, kLargest);
    const bool integer = product.scale == Type::kS32;
    const Call call{.product = products.size(),
                    .alpha = integer ? (product.unit_scalars ? 1 : 3) : -0.5,
                    .beta = integer ? 1 : 0.25};
    const cublasStatus_t status = launch(prepare(product, call, worker), worker);
    require(cudaDeviceSynchronize(), text(product, call));
    if (status == CUBLAS_STATUS_SUCCESS) {
      products.push_back(product);
      attempt = 0;
    } else if ((status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
                status == CUBLAS_STATUS_EXECUTION_FAILED) &&  // of cuBLASLt's own kernels
               ++attempt < kAttempts) {
      cudaGetLastError();
      worker.operands.erase(call.product);
      ++refusals;
    } else {
      throw CublasError(status, text(product, call));
    }
  }
  std::fprintf(stderr, "%d products were refused and drawn again\n", refusals);
  return products;
}

// Makes the calls first, first + step, ... before last. Returns those with faults if another thread
// makes calls, too, so that their cause is not known.
std::vector<int64_t> make_calls(uint64_t seed, const std::vector<Product>& products, int64_t first,
                                int64_t last, int64_t step, Worker& worker, Report& report) {
  std::vector<int64_t> doubtful;
  const bool alone = step == 1;
  const auto mode = alone ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal;
  for (int64_t number = first; number < last; number += step) {
    const Call call = draw_call(seed, number, products);
    const Product& product = products[call.product];
    const int64_t before = served();
    try {
      const Verdict verdict = run_call(product, call, mode, worker);
      if (alone || verdict.is_right()) {
        report.add(product, call, verdict, alone ? served() - before : 0);
      } else {
        doubtful.push_back(number);
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(text(product, call) + "\n  " + error.what());
    }
  }
  return doubtful;
}

int run(uint64_t seed, int64_t calls, size_t product_count) {
  std::printf("seed %lu\n", seed);
  Worker worker;
  const std::vector<Product> products = draw_products(seed, product_count, worker);
  Report report;
  const int64_t served_before = served();
  const int64_t alone = calls * 3 / 4;
  make_calls(seed, products, 0, alone, 1, worker, report);
  const auto every_second = [&](int64_t first) {
    Worker own;
    return make_calls(seed, products, first, calls, 2, own, report);
  };
  auto one = std::async(std::launch::async, every_second, alone);
  auto other = std::async(std::launch::async, every_second, alone + 1);
  for (auto* thread : {&one, &other}) {
    for (const int64_t number : thread->get()) {
      const Call call = draw_call(seed, number, products);
      const Product& product = products[call.product];
      const int64_t before = served();
      Verdict verdict = run_call(product, call, cudaStreamCaptureModeGlobal, worker);
      const bool is_right = verdict.is_right();
      verdict.wrong = is_right ? "faulty only beside another thread's calls" : verdict.wrong;
      report.add(product, call, verdict, is_right ? 1 : served() - before);
    }
  }
  return report.finish(served() - served_before);
}

// ---- The self check: right results pass the checker, and planted faults don't -------------------

int self_check(uint64_t seed, int64_t calls) {
  constexpr int kLargest = 32;
  constexpr int64_t kAll = int64_t{1} << 40;
  enum Fault { kNone, kWrong, kOutOfBounds };
  int64_t missed = 0;
  int64_t checks = 0;
  for (int64_t number = 0; number < calls; ++number) {
    const Product product = draw_product(seed, static_cast<int>(number % 40), number, kLargest);
    const Call call = draw_call(seed, number, {product});
    const Matrix& d = product.d;
    Operands operands(product);
    Trial trial{product, call, operands};
    Random& random = trial.random;
    trial.fill_inputs();
    trial.fill_outputs();
    std::vector<uint8_t> image = operands.d.image();
    const auto element = [&](int64_t item, int64_t r, int64_t c) {
      return image.data() + operands.d.place(d.offset(item, r, c));
    };
    for (int item = 0; item < d.batch; ++item) {
      for (int at = 0; at < d.rows * d.cols; ++at) {
        const int c = at / d.rows;
        const int r = at % d.rows;
        encode(d.type, expected_at(trial, item, r, c).first, element(item, r, c));
      }
    }
    const auto expect = [&](Fault fault, const char* what, int64_t samples) {
      const Verdict verdict = check(trial, image, samples);
      ++checks;
      if (verdict.wrong.empty() == (fault == kWrong) ||
          verdict.out_of_bounds.empty() == (fault == kOutOfBounds)) {
        ++missed;
        std::printf("%s: %s%s\n  %s\n", what, verdict.wrong.c_str(), verdict.out_of_bounds.c_str(),
                    text(product, call).c_str());
      }
    };
    expect(kNone, "a right result", random.pick({kSamples, kAll}));
    const int64_t first = operands.d.place(0);
    const int64_t end = operands.d.place(d.span());
    std::vector<int64_t> outside{first - 1, end, random.between<int64_t>(0, first - 1),
                                 random.between<int64_t>(end, std::ssize(image) - 1)};
    if (d.batch > 0 && d.lines() > 1 && d.ld > d.line() * d.batch) {
      outside.push_back(operands.d.place(d.ld) - 1);  // between two lines
    }
    for (const int64_t byte : outside) {
      image[byte] ^= 0x10;
      expect(kOutOfBounds, "a byte outside of D", kSamples);
      image[byte] ^= 0x10;
    }
    if (d.elements() == 0) {
      continue;
    }
    // Less than a typical result, but more than any tolerance.
    const double change = d.type == Type::kS32 ? 1 : 0.4 * std::sqrt(product.k) + 0.2;
    uint8_t* at = element(random.below(d.batch), random.below(d.rows), random.below(d.cols));
    const double value = decode(d.type, at)[0];
    encode(d.type, value + change, at);
    expect(kWrong, "a wrong element", kAll);
    if (d.type != Type::kS32) {
      encode(d.type, NAN, at);
      expect(kWrong, "a NaN", kSamples);
    }
  }
  std::printf("self check: %ld checks, %ld faults\n", checks, missed);
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::map<std::string_view, uint64_t> options{
        {"--calls", 10000}, {"--products", 60}, {"--seed", 1}, {"--self-check", 0}};
    for (int at = 1; at < argc; at += 2) {
      if (!options.contains(argv[at]) || at + 1 == argc) {
        throw std::runtime_error(
            "usage: cublas_calls [--calls N] [--products N] [--seed N] [--self-check N]");
      }
      options[argv[at]] = std::stoull(argv[at + 1]);
    }
    return options["--self-check"] > 0
               ? self_check(options["--seed"], options["--self-check"])
               : run(options["--seed"], options["--calls"], options["--products"]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cublas_calls: %s\n", error.what());
    return 2;
  }
}

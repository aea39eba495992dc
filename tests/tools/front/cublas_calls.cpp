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
//
//   --list        prints the products and stops
//   --self-check  checks this program's checker on the CPU; needs no GPU
//
// The same seed gives the same products and calls. Products that cuBLAS refuses are drawn again.
// Two threads make the last quarter of the calls at the same time, where the number can't be
// attributed to a call. Exit status: 0 no fault, 1 faults, 2 the program could not run.
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
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int64_t kGuardBytes = 512;  // poisoned bytes before and after each matrix, at least
constexpr int64_t kAlignments = 8;    // a matrix starts at an odd multiple < 8 of its alignment
constexpr int64_t kPoolElements = 1 << 16;
constexpr int64_t kSamples = 200;
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

void require(cudaError_t result, const char* what) {
  if (result != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
  }
}

struct CublasError : std::runtime_error {
  CublasError(cublasStatus_t result, const char* what)
      : std::runtime_error(std::string(what) + ": " + cublasGetStatusString(result)),
        status(result) {}
  cublasStatus_t status;
};

void require(cublasStatus_t result, const char* what) {
  if (result != CUBLAS_STATUS_SUCCESS) {
    throw CublasError(result, what);
  }
}

// ---- Random numbers -----------------------------------------------------------------------------

// splitmix64. One thread.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0, uint64_t item = 0) : state_(seed) {
    state_ = next() ^ stream;
    state_ = next() ^ item;
  }
  uint64_t next() {
    uint64_t bits = (state_ += 0x9e3779b97f4a7c15u);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
  }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
  }
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return real() < probability; }
  template <typename Values>
  auto pick(const Values& values) {
    return *(std::begin(values) + below(static_cast<int64_t>(std::size(values))));
  }

 private:
  uint64_t state_;
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
};

const TypeRow& row(Type type) {
  static const std::array<TypeRow, kTypes> kRows{{{"f64", CUDA_R_64F, 8, 0x1p-53, 0x1p-1000},
                                                  {"f32", CUDA_R_32F, 4, 0x1p-24, 0x1p-120},
                                                  {"f16", CUDA_R_16F, 2, 0x1p-11, 0x1p-24},
                                                  {"bf16", CUDA_R_16BF, 2, 0x1p-9, 0x1p-120},
                                                  {"e4m3", CUDA_R_8F_E4M3, 1, 0x1p-4, 0x1p-10},
                                                  {"e5m2", CUDA_R_8F_E5M2, 1, 0x1p-3, 0x1p-17},
                                                  {"s8", CUDA_R_8I, 1, 0, 0},
                                                  {"s32", CUDA_R_32I, 4, 0, 0}}};
  return kRows[static_cast<size_t>(type)];
}

template <typename Value>
void store(uint8_t* to, Value value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename Value>
Value load(const uint8_t* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void encode(Type type, double value, uint8_t* to) {
  const auto single = static_cast<float>(value);
  switch (type) {
    case Type::kF64:
      return store(to, value);
    case Type::kF32:
      return store(to, single);
    case Type::kF16:
      return store(to, __float2half_rn(single));
    case Type::kBf16:
      return store(to, __float2bfloat16_rn(single));
    case Type::kE4m3:
      return store(to, __nv_cvt_float_to_fp8(single, __NV_SATFINITE, __NV_E4M3));
    case Type::kE5m2:
      return store(to, __nv_cvt_float_to_fp8(single, __NV_SATFINITE, __NV_E5M2));
    case Type::kS8:
      return store(to, static_cast<int8_t>(value));
    case Type::kS32:
      return store(to, static_cast<int32_t>(value));
  }
}

// All values of a type of 8 or 16 bits.
std::vector<float> values_of(Type type) {
  std::vector<float> values(row(type).bytes == 1 ? 1 << 8 : 1 << 16);
  for (size_t bits = 0; bits < values.size(); ++bits) {
    const auto wide = static_cast<uint16_t>(bits);
    if (type == Type::kF16) {
      values[bits] = __half2float(__half(__half_raw{wide}));
    } else {
      const auto kind = type == Type::kE4m3 ? __NV_E4M3 : __NV_E5M2;
      const auto narrow = static_cast<__nv_fp8_storage_t>(bits);
      values[bits] = __half2float(__half(__nv_cvt_fp8_to_halfraw(narrow, kind)));
    }
  }
  return values;
}

// Writes `count` elements that lie `step` elements apart, as f64, into `to`.
void decode(Type type, const uint8_t* from, int64_t step, int64_t count, double* to) {
  static const std::vector<float> kF16Values = values_of(Type::kF16);
  static const std::vector<float> kE4m3Values = values_of(Type::kE4m3);
  static const std::vector<float> kE5m2Values = values_of(Type::kE5m2);
  const int64_t step_bytes = step * row(type).bytes;
  const auto each = [&](auto&& read) {
    for (int64_t at = 0; at < count; ++at) {
      to[at] = static_cast<double>(read(from + at * step_bytes));
    }
  };
  switch (type) {
    case Type::kF64:
      return each([](const uint8_t* at) { return load<double>(at); });
    case Type::kF32:
      return each([](const uint8_t* at) { return load<float>(at); });
    case Type::kF16:
      return each([](const uint8_t* at) { return kF16Values[load<uint16_t>(at)]; });
    case Type::kBf16:
      return each([](const uint8_t* at) {
        const uint32_t bits = uint32_t{load<uint16_t>(at)} << 16;
        float value = 0;
        std::memcpy(&value, &bits, sizeof value);
        return value;
      });
    case Type::kE4m3:
      return each([](const uint8_t* at) { return kE4m3Values[*at]; });
    case Type::kE5m2:
      return each([](const uint8_t* at) { return kE5m2Values[*at]; });
    case Type::kS8:
      return each([](const uint8_t* at) { return load<int8_t>(at); });
    case Type::kS32:
      return each([](const uint8_t* at) { return load<int32_t>(at); });
  }
}

double decode(Type type, const uint8_t* from) {
  double value = 0;
  decode(type, from, 1, 1, &value);
  return value;
}

// Random elements of each type, from which matrices are copied: in [-1, 1), all of s8, and s32 of
// at most 21 bits.
using Pools = std::array<std::vector<uint8_t>, kTypes>;

Pools make_pools(uint64_t seed) {
  Pools pools;
  for (int type = 0; type < kTypes; ++type) {
    const auto element = static_cast<Type>(type);
    const int64_t bytes = row(element).bytes;
    Random random(seed, 1, static_cast<uint64_t>(type));
    auto& pool = pools[static_cast<size_t>(type)];
    pool.resize(static_cast<size_t>(kPoolElements * bytes));
    for (int64_t at = 0; at < kPoolElements; ++at) {
      double value = 2 * random.real() - 1;
      if (element == Type::kS8) {
        value = static_cast<double>(random.between(-128, 127));
      } else if (element == Type::kS32) {
        value = static_cast<double>(random.between(-(1 << 20), 1 << 20));
      }
      encode(element, value, pool.data() + at * bytes);
    }
  }
  return pools;
}

// ---- Products -----------------------------------------------------------------------------------

enum class Order { kColumn, kRow };

// A batch of matrices in memory. Counts and distances in elements.
struct Matrix {
  Type type = Type::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t ld = 1;
  int64_t stride = 0;  // from one matrix of the batch to the next
  int64_t batch = 1;
  int64_t alignment_bytes = 256;
  Order order = Order::kColumn;

  int64_t offset(int64_t item, int64_t r, int64_t c) const {
    return item * stride + (order == Order::kColumn ? r + c * ld : r * ld + c);
  }
  int64_t elements() const { return rows * cols * batch; }
  int64_t span() const { return elements() == 0 ? 0 : offset(batch - 1, rows - 1, cols - 1) + 1; }
  // Calls `visit(offset of the first element, number of elements)` for each contiguous line.
  template <typename Visit>
  void each_line(Visit&& visit) const {
    const bool columns = order == Order::kColumn;
    const int64_t items = stride == 0 ? std::min<int64_t>(batch, 1) : batch;
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t line = 0; line < (columns ? cols : rows); ++line) {
        visit(columns ? offset(item, 0, line) : offset(item, line, 0), columns ? rows : cols);
      }
    }
  }
};

enum class Entry {
  kGemmEx,
  kSgemm,
  kDgemm,
  kSgemmStridedBatched,
  kDgemmStridedBatched,
  kGemmStridedBatchedEx,
  kSgemmEx,
  kHgemm,
  kGemmBatchedEx,
  kLtMatmul
};
constexpr std::array<const char*, 10> kEntryNames{"cublasGemmEx",
                                                  "cublasSgemm_v2",
                                                  "cublasDgemm_v2",
                                                  "cublasSgemmStridedBatched",
                                                  "cublasDgemmStridedBatched",
                                                  "cublasGemmStridedBatchedEx",
                                                  "cublasSgemmEx",
                                                  "cublasHgemm",
                                                  "cublasGemmBatchedEx",
                                                  "cublasLtMatmul"};
constexpr size_t kEntries = kEntryNames.size();

const char* name(Entry entry) {
  return kEntryNames[static_cast<size_t>(entry)];
}

bool batched(Entry entry) {
  return entry == Entry::kSgemmStridedBatched || entry == Entry::kDgemmStridedBatched ||
         entry == Entry::kGemmStridedBatchedEx || entry == Entry::kGemmBatchedEx ||
         entry == Entry::kLtMatmul;
}

enum class LtAlgo { kNull, kFirst, kSecond };

// D = epilogue(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias); op(A) has m rows and k
// columns.
struct Product {
  Entry entry = Entry::kGemmEx;
  cublasOperation_t op_a = CUBLAS_OP_N;
  cublasOperation_t op_b = CUBLAS_OP_N;
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  Matrix a;
  Matrix b;
  Matrix c;  // the same as d if c_is_d
  Matrix d;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  Type scale = Type::kF32;  // of alpha and beta
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  bool c_is_d = true;
  bool unit_scalars = false;  // alpha and beta are only 0 or 1
  // From here for cublasLtMatmul only.
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  Matrix bias;
  LtAlgo algo = LtAlgo::kNull;
  size_t workspace_bytes = 0;
  bool fast_accumulation = false;
  std::optional<float> scale_a;
  std::optional<float> scale_b;

  bool has(cublasLtEpilogue_t part) const { return (epilogue & part) == part; }
  bool is_fp8() const { return a.type == Type::kE4m3 || a.type == Type::kE5m2; }
  bool is_empty() const { return m == 0 || n == 0 || k == 0 || d.batch == 0; }
};

enum class Stream { kDefault, kUser, kUserBlocking, kPerThread };

struct Call {
  int64_t number = 0;
  size_t product = 0;
  double alpha = 1;
  double beta = 0;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  Stream stream = Stream::kDefault;
  size_t handle = 0;
  cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;
  bool fresh_inputs = false;
  bool nan_in_c = false;
  bool captured = false;
  int sm_count_target = 0;
  uint64_t data_seed = 0;
};

// Calls that a preloaded library must leave to cuBLAS.
bool must_pass(const Product& product, const Call& call) {
  return call.pointer_mode == CUBLAS_POINTER_MODE_DEVICE || product.is_empty() ||
         product.compute == CUBLAS_COMPUTE_16F || product.compute == CUBLAS_COMPUTE_32F_FAST_16F ||
         product.compute == CUBLAS_COMPUTE_32F_PEDANTIC || product.math == CUBLAS_PEDANTIC_MATH ||
         product.entry == Entry::kGemmBatchedEx || product.algo == LtAlgo::kSecond ||
         product.epilogue == CUBLASLT_EPILOGUE_RELU_AUX || product.d.order == Order::kRow;
}

const char* compute_name(cublasComputeType_t compute) {
  static const std::map<cublasComputeType_t, const char*> kNames{
      {CUBLAS_COMPUTE_64F, "64F"},
      {CUBLAS_COMPUTE_32F, "32F"},
      {CUBLAS_COMPUTE_32F_FAST_TF32, "32F_FAST_TF32"},
      {CUBLAS_COMPUTE_32F_FAST_16F, "32F_FAST_16F"},
      {CUBLAS_COMPUTE_32F_PEDANTIC, "32F_PEDANTIC"},
      {CUBLAS_COMPUTE_16F, "16F"},
      {CUBLAS_COMPUTE_32I, "32I"}};
  return kNames.at(compute);
}

std::string text(const char* label, const Matrix& matrix) {
  std::ostringstream out;
  out << ' ' << label << '[' << row(matrix.type).name << ' ' << matrix.rows << 'x' << matrix.cols
      << " ld " << matrix.ld << " stride " << matrix.stride << " aligned " << matrix.alignment_bytes
      << (matrix.order == Order::kRow ? " row order]" : "]");
  return out.str();
}

std::string text(const Product& product) {
  const auto op = [](cublasOperation_t op) {
    return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C';
  };
  std::ostringstream out;
  out << name(product.entry) << ' ' << op(product.op_a) << op(product.op_b) << " m " << product.m
      << " n " << product.n << " k " << product.k << " batch " << product.d.batch
      << text("A", product.a) << text("B", product.b);
  out << (product.c_is_d ? std::string(" C=D") : text("C", product.c)) << text("D", product.d);
  out << " compute " << compute_name(product.compute) << " scale " << row(product.scale).name
      << " math " << product.math;
  if (product.entry == Entry::kLtMatmul) {
    out << " epilogue " << product.epilogue << " algo " << static_cast<int>(product.algo)
        << " workspace " << product.workspace_bytes
        << (product.fast_accumulation ? " fast accumulation" : "");
    if (product.has(CUBLASLT_EPILOGUE_BIAS)) {
      out << text("bias", product.bias);
    }
    if (product.scale_a) {
      out << " scale_a " << *product.scale_a;
    }
    if (product.scale_b) {
      out << " scale_b " << *product.scale_b;
    }
  }
  return out.str();
}

std::string text(const Call& call) {
  static const char* const kStreams[]{"default", "user", "user blocking", "per thread"};
  std::ostringstream out;
  out.precision(17);
  out << "call " << call.number << " product " << call.product << " alpha " << call.alpha
      << " beta " << call.beta
      << (call.pointer_mode == CUBLAS_POINTER_MODE_DEVICE ? " device" : " host")
      << " scalars, stream " << kStreams[static_cast<int>(call.stream)] << ", handle "
      << call.handle << ", algo " << call.algo << (call.captured ? ", captured" : "")
      << (call.nan_in_c ? ", NaN in C" : "") << ", SM count target " << call.sm_count_target;
  return out.str();
}

// ---- Drawing ------------------------------------------------------------------------------------

enum class Sizes { kField, kSmall };  // kSmall: for the self check

int64_t draw_size(Random& random, Sizes sizes) {
  static const int64_t kPrimes[]{2, 3, 5, 7, 13, 31, 61, 127, 251, 509};
  static const int64_t kTiles[]{16, 32, 64, 96, 128, 192, 256};
  if (sizes == Sizes::kSmall) {
    return random.between(1, 40);
  }
  const double kind = random.real();
  if (kind < 0.08) {
    return 1;
  }
  if (kind < 0.25) {
    return random.pick(kPrimes);
  }
  if (kind < 0.6) {
    return random.pick(kTiles) + random.between(-1, 1);
  }
  return random.between(64, kind < 0.85 ? 256 : 700);
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void draw_sizes(Random& random, Sizes sizes, Product& product) {
  product.m = draw_size(random, sizes);
  product.n = draw_size(random, sizes);
  product.k = draw_size(random, sizes);
  if (sizes == Sizes::kField && random.chance(0.15)) {
    product.k = random.between(700, 2048);
  } else if (sizes == Sizes::kField && random.chance(0.08)) {
    product.m = std::min<int64_t>(product.m, 200);
    product.n = std::min<int64_t>(product.n, 200);
    product.k = std::min<int64_t>(product.k, 500);
    int64_t* const extents[]{&product.m, &product.n, &product.k};
    *random.pick(extents) = 2048;
  }
  // The tensor cores of the narrow types want multiples, and cuBLAS refuses the rest of fp8.
  int64_t multiple = random.chance(0.5) ? 8 : 1;
  if (product.is_fp8() || (product.a.type == Type::kS8 && random.chance(0.5))) {
    multiple = 16;
  } else if (product.a.type == Type::kS8) {
    multiple = 4;
  }
  for (int64_t* extent : {&product.m, &product.n, &product.k}) {
    *extent = round_up(*extent, multiple);
  }
  product.d.batch = batched(product.entry) && random.chance(0.6) ? random.between(2, 5) : 1;
  if (product.d.batch > 1) {
    product.m = std::min<int64_t>(product.m, 512);
    product.n = std::min<int64_t>(product.n, 512);
  }
  if (random.chance(0.03)) {
    int64_t* const extents[]{&product.m, &product.n, &product.d.batch, &product.k};
    // cuBLASLt's manual does not say what D is without a k.
    *extents[random.below(product.entry == Entry::kLtMatmul ? 3 : 4)] = 0;
    product.d.batch = batched(product.entry) ? product.d.batch : 1;
  }
}

enum class Reuse { kOwn, kBroadcast };

// Draws leading dimension, stride and alignment of a matrix whose type, extents and order are set.
// Paddings are multiples of `multiple`, and if it is not 1, pointers are aligned to 16 bytes.
void draw_layout(Random& random, int64_t batch, Reuse reuse, int64_t multiple, Matrix& matrix) {
  const int64_t bytes = row(matrix.type).bytes;
  const int64_t line =
      std::max<int64_t>(matrix.order == Order::kColumn ? matrix.rows : matrix.cols, 1);
  const int64_t lines =
      std::max<int64_t>(matrix.order == Order::kColumn ? matrix.cols : matrix.rows, 1);
  const auto padding = [&] {
    const double kind = random.real();
    return kind < 0.5   ? 0
           : kind < 0.8 ? 16 * random.between(1, 4)
                        : multiple * random.between(1, 9);
  };
  matrix.batch = batch;
  if (reuse == Reuse::kBroadcast) {
    matrix.ld = line + padding();
    matrix.stride = 0;
  } else if (batch > 1 && random.chance(0.2)) {  // side by side, as attention heads
    matrix.ld = line * batch + padding();
    matrix.stride = line;
  } else {
    matrix.ld = line + padding();
    matrix.stride = matrix.ld * lines + padding();
  }
  const double alignment = random.real();
  matrix.alignment_bytes = 256;
  if (alignment > 0.7) {
    matrix.alignment_bytes = 16;
  }
  if (alignment > 0.85 && multiple == 1) {
    matrix.alignment_bytes = bytes;
  }
}

struct Arithmetic {
  Type a;
  Type b;
  Type d;
  cublasComputeType_t compute;
  Type scale;
};

Arithmetic draw_arithmetic(Random& random, Entry entry) {
  using enum Type;
  static const std::vector<Arithmetic> kAll{{kF64, kF64, kF64, CUBLAS_COMPUTE_64F, kF64},
                                            {kF32, kF32, kF32, CUBLAS_COMPUTE_32F, kF32},
                                            {kF32, kF32, kF32, CUBLAS_COMPUTE_32F, kF32},
                                            {kF32, kF32, kF32, CUBLAS_COMPUTE_32F_FAST_TF32, kF32},
                                            {kF32, kF32, kF32, CUBLAS_COMPUTE_32F_FAST_16F, kF32},
                                            {kF32, kF32, kF32, CUBLAS_COMPUTE_32F_PEDANTIC, kF32},
                                            {kF16, kF16, kF16, CUBLAS_COMPUTE_32F, kF32},
                                            {kF16, kF16, kF16, CUBLAS_COMPUTE_32F, kF32},
                                            {kF16, kF16, kF32, CUBLAS_COMPUTE_32F, kF32},
                                            {kBf16, kBf16, kBf16, CUBLAS_COMPUTE_32F, kF32},
                                            {kBf16, kBf16, kBf16, CUBLAS_COMPUTE_32F, kF32},
                                            {kBf16, kBf16, kF32, CUBLAS_COMPUTE_32F, kF32},
                                            {kF16, kF16, kF16, CUBLAS_COMPUTE_16F, kF16},
                                            {kS8, kS8, kS32, CUBLAS_COMPUTE_32I, kS32}};
  static const std::vector<Arithmetic> kSgemmEx{{kF32, kF32, kF32, CUBLAS_COMPUTE_32F, kF32},
                                                {kF16, kF16, kF16, CUBLAS_COMPUTE_32F, kF32},
                                                {kF16, kF16, kF32, CUBLAS_COMPUTE_32F, kF32},
                                                {kBf16, kBf16, kBf16, CUBLAS_COMPUTE_32F, kF32},
                                                {kBf16, kBf16, kF32, CUBLAS_COMPUTE_32F, kF32}};
  switch (entry) {
    case Entry::kDgemm:
    case Entry::kDgemmStridedBatched:
      return kAll[0];
    case Entry::kSgemm:
    case Entry::kSgemmStridedBatched:
      return kAll[1];
    case Entry::kHgemm:
      return {kF16, kF16, kF16, CUBLAS_COMPUTE_16F, kF16};
    case Entry::kSgemmEx:
      return random.pick(kSgemmEx);
    case Entry::kLtMatmul:
      break;
    default:
      return random.pick(kAll);
  }
  if (random.chance(0.7)) {
    return random.pick(kAll);
  }
  static const Type kOutputs[]{kBf16, kF16, kF32};
  static const std::array<std::pair<Type, Type>, 3> kInputs{
      {{kE4m3, kE4m3}, {kE4m3, kE5m2}, {kE5m2, kE4m3}}};
  const auto [a, b] = random.pick(kInputs);
  return {a, b, random.pick(kOutputs), CUBLAS_COMPUTE_32F, kF32};
}

void draw_lt(Random& random, Product& product) {
  static const LtAlgo kAlgos[]{LtAlgo::kNull, LtAlgo::kNull, LtAlgo::kFirst, LtAlgo::kFirst,
                               LtAlgo::kSecond};
  product.algo = random.pick(kAlgos);
  product.workspace_bytes = random.chance(0.6) ? kWorkspaceBytes : 0;
  product.fast_accumulation = product.is_fp8() && random.chance(0.5);
  if (product.is_fp8() && random.chance(0.7)) {
    product.scale_a = static_cast<float>(0.25 + 2 * random.real());
  }
  if (product.is_fp8() && random.chance(0.7)) {
    product.scale_b = static_cast<float>(0.25 + 2 * random.real());
  }
  product.c_is_d = random.chance(0.5);
  if (random.chance(0.08)) {
    product.c.order = product.d.order = Order::kRow;
  }
  static const cublasLtEpilogue_t kEpilogues[]{
      CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,      CUBLASLT_EPILOGUE_RELU_BIAS,
      CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX};
  const bool plain = product.a.type == Type::kF64 || product.a.type == Type::kS8;
  if (!plain && random.chance(0.6)) {
    product.epilogue = random.pick(kEpilogues);
  }
}

Product draw_product(uint64_t seed, size_t index, uint64_t attempt, Sizes sizes) {
  static const Entry kCommon[]{Entry::kGemmEx,   Entry::kGemmEx,
                               Entry::kSgemm,    Entry::kGemmStridedBatchedEx,
                               Entry::kSgemmEx,  Entry::kDgemm,
                               Entry::kLtMatmul, Entry::kLtMatmul,
                               Entry::kLtMatmul, Entry::kSgemmStridedBatched};
  static const cublasOperation_t kOperations[]{CUBLAS_OP_N, CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_T,
                                               CUBLAS_OP_C};
  Random random(seed, 2 + (attempt << 8), index);
  Product product;
  product.entry = index < kEntries ? static_cast<Entry>(index) : random.pick(kCommon);
  const Arithmetic arithmetic = draw_arithmetic(random, product.entry);
  product.a.type = arithmetic.a;
  product.b.type = arithmetic.b;
  product.c.type = product.d.type = arithmetic.d;
  product.compute = arithmetic.compute;
  product.scale = arithmetic.scale;
  product.unit_scalars = product.scale == Type::kS32 && random.chance(0.5);
  const bool lt = product.entry == Entry::kLtMatmul;
  if (!lt && product.a.type == Type::kF32 && product.compute == CUBLAS_COMPUTE_32F) {
    const double kind = random.real();
    product.math = kind < 0.6   ? CUBLAS_DEFAULT_MATH
                   : kind < 0.9 ? CUBLAS_TF32_TENSOR_OP_MATH
                                : CUBLAS_PEDANTIC_MATH;
  }
  product.op_a = random.pick(kOperations);
  product.op_b = random.pick(kOperations);
  if (product.is_fp8() || (product.a.type == Type::kS8 && random.chance(0.7))) {
    product.op_a = CUBLAS_OP_T;
    product.op_b = CUBLAS_OP_N;
  }
  draw_sizes(random, sizes, product);
  if (lt) {
    draw_lt(random, product);
  }
  const int64_t batch = product.d.batch;
  const bool a_as_stored = product.op_a == CUBLAS_OP_N;
  const bool b_as_stored = product.op_b == CUBLAS_OP_N;
  product.a.rows = a_as_stored ? product.m : product.k;
  product.a.cols = a_as_stored ? product.k : product.m;
  product.b.rows = b_as_stored ? product.k : product.n;
  product.b.cols = b_as_stored ? product.n : product.k;
  product.c.rows = product.d.rows = product.m;
  product.c.cols = product.d.cols = product.n;
  const int64_t broadcast = batch > 1 ? random.below(5) : 4;  // 0: A, 1: B, else none
  const int64_t input_multiple = row(product.a.type).bytes == 1 ? 16 : 1;
  const int64_t output_multiple = product.is_fp8() ? 8 : 1;  // cuBLASLt wants 16 bytes everywhere
  draw_layout(random, batch, broadcast == 0 ? Reuse::kBroadcast : Reuse::kOwn, input_multiple,
              product.a);
  draw_layout(random, batch, broadcast == 1 ? Reuse::kBroadcast : Reuse::kOwn, input_multiple,
              product.b);
  draw_layout(random, batch, Reuse::kOwn, output_multiple, product.d);
  if (product.c_is_d) {
    product.c = product.d;
  } else {
    draw_layout(random, batch, Reuse::kOwn, output_multiple, product.c);
  }
  const bool bf16_bias = product.is_fp8() && product.d.type == Type::kF32;
  product.bias = {.type = bf16_bias ? Type::kBf16 : product.d.type, .rows = product.m, .cols = 1};
  product.bias.ld = product.m;
  product.bias.stride = random.chance(0.5) ? round_up(product.m, 8) : 0;
  product.bias.batch = batch;
  return product;
}

double draw_scalar(Random& random, const Product& product) {
  const double kind = random.real();
  if (product.unit_scalars) {
    return kind < 0.5 ? 0 : 1;
  }
  double value = kind < 0.25 ? 0 : kind < 0.6 ? 1 : kind < 0.75 ? -0.5 : 4 * random.real() - 2;
  if (product.scale == Type::kS32) {
    value = kind < 0.6 ? value : static_cast<double>(random.between(-3, 3));
  }
  uint8_t encoded[8];
  encode(product.scale, value, encoded);
  return decode(product.scale, encoded);
}

Call draw_call(uint64_t seed, int64_t number, const std::vector<Product>& products) {
  static const Stream kStreams[]{Stream::kDefault, Stream::kUser, Stream::kUserBlocking,
                                 Stream::kPerThread};
  Random random(seed, 3, static_cast<uint64_t>(number));
  Call call;
  call.number = number;
  call.product = static_cast<size_t>(random.below(static_cast<int64_t>(products.size())));
  const Product& product = products[call.product];
  do {  // rarely both are 0
    call.alpha = draw_scalar(random, product);
    call.beta = draw_scalar(random, product);
  } while (call.alpha == 0 && random.chance(0.8));
  call.pointer_mode = random.chance(0.12) ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
  call.stream = random.pick(kStreams);
  call.handle = static_cast<size_t>(random.below(2));
  if (product.a.type != Type::kF32 && random.chance(0.5)) {  // for f32 it may round the inputs
    call.algo = CUBLAS_GEMM_DEFAULT_TENSOR_OP;
  }
  call.fresh_inputs = random.chance(0.2);
  call.nan_in_c = call.beta == 0 && random.chance(0.6);
  call.captured = random.chance(0.05);
  if (call.captured) {  // the default stream can't be captured, and blocking ones disturb it
    call.stream = Stream::kUser;
  }
  call.sm_count_target = random.chance(0.04) ? 32 : 0;
  call.data_seed = random.next();
  return call;
}

// ---- Memory -------------------------------------------------------------------------------------

template <auto destroy>
struct Destroy {
  template <typename Object>
  void operator()(Object* object) const {
    destroy(object);
  }
};
template <typename Handle, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;
using DeviceMemory = Owner<void*, cudaFree>;

DeviceMemory allocate(int64_t bytes) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, static_cast<size_t>(bytes)), "cudaMalloc");
  return DeviceMemory(memory);
}

// A matrix amid poisoned bytes, on the host and on the device. One thread.
class Buffer {
 public:
  explicit Buffer(const Matrix& matrix) : matrix_(matrix) {
    const int64_t bytes = kGuardBytes + kAlignments * matrix.alignment_bytes +
                          matrix.span() * row(matrix.type).bytes + kGuardBytes;
    image_.resize(static_cast<size_t>(round_up(bytes, 256)));
  }
  // Draws a new start of the same alignment.
  void move(Random& random) {
    start_ = kGuardBytes + matrix_.alignment_bytes * (1 + 2 * random.below(kAlignments / 2));
  }
  void poison() { std::memset(image_.data(), 0xff, image_.size()); }
  void fill(Random& random, const Pools& pools) {
    const int64_t bytes = row(matrix_.type).bytes;
    const auto& pool = pools[static_cast<size_t>(matrix_.type)];
    poison();
    matrix_.each_line([&](int64_t first, int64_t count) {
      const int64_t from = random.below(kPoolElements - count + 1);
      std::memcpy(host(first), pool.data() + from * bytes, static_cast<size_t>(count * bytes));
    });
  }
  void upload(cudaStream_t stream) {
    if (!memory_) {
      memory_ = allocate(static_cast<int64_t>(image_.size()));
    }
    require(cudaMemcpyAsync(memory_.get(), image_.data(), image_.size(), cudaMemcpyHostToDevice,
                            stream),
            "copy to the device");
  }
  // What the device has now; the host keeps what was uploaded.
  void download(cudaStream_t stream, std::vector<uint8_t>& to) const {
    to.resize(image_.size());
    require(cudaMemcpyAsync(to.data(), memory_.get(), to.size(), cudaMemcpyDeviceToHost, stream),
            "copy from the device");
  }
  int64_t place(int64_t element) const { return start_ + element * row(matrix_.type).bytes; }
  uint8_t* host(int64_t element) { return image_.data() + place(element); }
  const uint8_t* host(int64_t element) const { return image_.data() + place(element); }
  void* device(int64_t element = 0) const {
    return static_cast<uint8_t*>(memory_.get()) + place(element);
  }
  const std::vector<uint8_t>& image() const { return image_; }
  const Matrix& matrix() const { return matrix_; }

 private:
  Matrix matrix_;
  int64_t start_ = kGuardBytes;
  std::vector<uint8_t> image_;
  DeviceMemory memory_;
};

struct Operands {
  explicit Operands(const Product& product)
      : a(product.a), b(product.b), c(product.c), d(product.d), bias(product.bias) {}
  Buffer a;
  Buffer b;
  Buffer c;  // unused if C is D
  Buffer d;
  Buffer bias;
  DeviceMemory aux;
  bool has_inputs = false;
};

enum class Inputs { kKeep, kNew };

// Fills the host's side. The inputs move only when they are new.
void fill(const Product& product, const Call& call, Random& random, const Pools& pools,
          Inputs inputs, Operands& operands) {
  if (inputs == Inputs::kNew) {
    for (Buffer* buffer : {&operands.a, &operands.b, &operands.bias}) {
      buffer->move(random);
      buffer->fill(random, pools);
    }
  }
  operands.d.move(random);
  operands.c.move(random);
  Buffer& c = product.c_is_d ? operands.d : operands.c;
  operands.d.poison();
  if (call.nan_in_c) {
    c.poison();
  } else {
    c.fill(random, pools);
  }
}

// ---- The reference ------------------------------------------------------------------------------

struct Sum {
  double value = 0;
  double magnitude = 0;  // sum of the products' absolute values
  double root = 0;       // root of the sum of their squares: the size of a typical partial sum
};

double gelu(double value) {
  return 0.5 * value *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
}

// How far a right sum can be from the f64 one, because of the accumulator and of rounded inputs.
double sum_error(const Product& product, const Sum& sum) {
  const auto k = static_cast<double>(product.k);
  const double steps = 4 + 2 * std::sqrt(k);
  double error = 0x1p-23 * steps * sum.magnitude;
  const bool tf32 =
      product.a.type == Type::kF32 && (product.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                                       product.compute == CUBLAS_COMPUTE_32F_FAST_16F ||
                                       product.math == CUBLAS_TF32_TENSOR_OP_MATH);
  if (product.a.type == Type::kS8) {
    return 0;
  }
  if (product.a.type == Type::kF64) {
    error = 0x1p-52 * steps * sum.magnitude;
  } else if (product.compute == CUBLAS_COMPUTE_16F) {
    error = 0x1p-10 * (4 + std::sqrt(k) / 4) * sum.magnitude;
  } else if (product.is_fp8()) {  // Hopper's tensor cores keep 14 bits of an fp8 sum
    error += 0x1p-10 * (8 + k / 16) * sum.root;
  } else if (tf32) {  // 10 bits of mantissa in both inputs, cut off
    error += 0x1p-9 * sum.magnitude;
  }
  if (product.d.type == Type::kF16 || product.d.type == Type::kBf16) {
    error +=
        8 * row(product.d.type).rounding * sum.root;  // split-K slices may be stored as D's type
  }
  return error;
}

struct Expected {
  double value = 0;
  double tolerance = 0;
};

// One element of D from the host's images. One thread.
class Reference {
 public:
  Reference(const Product& product, const Call& call, const Operands& operands)
      : product_(product), call_(call), operands_(operands) {
    a_line_.resize(static_cast<size_t>(product.k));
    b_line_.resize(static_cast<size_t>(product.k));
  }

  Expected at(int64_t item, int64_t r, int64_t c) {
    const Sum sum = dot(item, r, c);
    const Buffer& c_buffer = product_.c_is_d ? operands_.d : operands_.c;
    const double alpha =
        call_.alpha * product_.scale_a.value_or(1.0F) * product_.scale_b.value_or(1.0F);
    const double scaled_sum = alpha * sum.value;
    const double scaled_c =
        call_.beta == 0
            ? 0
            : call_.beta * decode(product_.c.type, c_buffer.host(product_.c.offset(item, r, c)));
    double bias = 0;
    if (product_.has(CUBLASLT_EPILOGUE_BIAS)) {
      bias = decode(product_.bias.type, operands_.bias.host(product_.bias.offset(item, r, 0)));
    }
    Expected expected{.value = scaled_sum + scaled_c + bias};
    if (product_.scale == Type::kS32) {
      return expected;
    }
    const double magnitude = std::abs(scaled_sum) + std::abs(scaled_c) + std::abs(bias);
    expected.tolerance =
        std::abs(alpha) * sum_error(product_, sum) +
        4 * (row(product_.scale).rounding + row(product_.d.type).rounding) * magnitude +
        row(product_.d.type).smallest;
    if (product_.has(CUBLASLT_EPILOGUE_RELU)) {
      expected.value = std::max(expected.value, 0.0);
    } else if (product_.has(
                   CUBLASLT_EPILOGUE_GELU)) {  // its slope is at most 1.13; tanh has 11 bits
      expected.tolerance = 1.2 * expected.tolerance + 0x1p-11 * std::abs(expected.value);
      expected.value = gelu(expected.value);
    }
    return expected;
  }

 private:
  Sum dot(int64_t item, int64_t r, int64_t c) {
    const Matrix& a = product_.a;
    const Matrix& b = product_.b;
    if (product_.k == 0) {
      return {};
    }
    const bool a_as_stored = product_.op_a == CUBLAS_OP_N;
    const bool b_as_stored = product_.op_b == CUBLAS_OP_N;
    const int64_t a_first = a_as_stored ? a.offset(item, r, 0) : a.offset(item, 0, r);
    const int64_t b_first = b_as_stored ? b.offset(item, 0, c) : b.offset(item, c, 0);
    decode(a.type, operands_.a.host(a_first), a_as_stored ? a.ld : 1, product_.k, a_line_.data());
    decode(b.type, operands_.b.host(b_first), b_as_stored ? 1 : b.ld, product_.k, b_line_.data());
    Sum sum;
    double squares = 0;
    for (size_t k = 0; k < a_line_.size(); ++k) {
      const double term = a_line_[k] * b_line_[k];
      sum.value += term;
      sum.magnitude += std::abs(term);
      squares += term * term;
    }
    sum.root = std::sqrt(squares);
    return sum;
  }

  const Product& product_;
  const Call& call_;
  const Operands& operands_;
  std::vector<double> a_line_;
  std::vector<double> b_line_;
};

// ---- The checker --------------------------------------------------------------------------------

struct Verdict {
  std::string wrong;          // empty: right
  std::string out_of_bounds;  // empty: nothing was written outside
};

// An element that is NaN, which no right result is.
std::optional<int64_t> find_nan(const Buffer& d, const std::vector<uint8_t>& got) {
  const Type type = d.matrix().type;
  std::optional<int64_t> found;
  std::vector<double> line;
  d.matrix().each_line([&](int64_t first, int64_t count) {
    if (found) {
      return;
    }
    line.resize(static_cast<size_t>(count));
    decode(type, got.data() + d.place(first), 1, count, line.data());
    for (int64_t at = 0; at < count && !found; ++at) {
      if (std::isnan(line[static_cast<size_t>(at)])) {
        found = first + at;
      }
    }
  });
  return found;
}

// The first byte outside the matrix that is not as it was uploaded.
std::optional<size_t> find_write_outside(const Buffer& d, const std::vector<uint8_t>& got) {
  std::vector<uint8_t> allowed = d.image();
  d.matrix().each_line([&](int64_t first, int64_t count) {
    const auto place = static_cast<size_t>(d.place(first));
    std::memcpy(allowed.data() + place, got.data() + place,
                static_cast<size_t>(count * row(d.matrix().type).bytes));
  });
  if (allowed == got) {
    return std::nullopt;
  }
  return static_cast<size_t>(std::mismatch(got.begin(), got.end(), allowed.begin()).first -
                             got.begin());
}

enum class Elements { kSampled, kAll };

Verdict check(const Product& product, const Call& call, const Operands& operands, Random& random,
              Elements elements, const std::vector<uint8_t>& got) {
  Verdict verdict;
  const Matrix& d = product.d;
  Reference reference(product, call, operands);
  const auto compare = [&](int64_t item, int64_t r, int64_t c) {
    const Expected expected = reference.at(item, r, c);
    const double value = decode(d.type, got.data() + operands.d.place(d.offset(item, r, c)));
    if (!(std::abs(value - expected.value) <= expected.tolerance) && verdict.wrong.empty()) {
      std::ostringstream out;
      out.precision(10);
      out << "element batch " << item << " row " << r << " column " << c << ": expected "
          << expected.value << " within " << expected.tolerance << ", got " << value;
      verdict.wrong = out.str();
    }
  };
  const bool few = d.elements() <= kSamples || d.elements() * product.k <= 50000;
  if (elements == Elements::kAll || few) {
    for (int64_t item = 0; item < d.batch; ++item) {
      for (int64_t c = 0; c < d.cols; ++c) {
        for (int64_t r = 0; r < d.rows; ++r) {
          compare(item, r, c);
        }
      }
    }
  } else {
    for (const int64_t item : {int64_t{0}, d.batch - 1}) {
      for (const int64_t c : {int64_t{0}, d.cols - 1}) {
        compare(item, 0, c);
        compare(item, d.rows - 1, c);
      }
    }
    for (int64_t sample = 8; sample < kSamples; ++sample) {
      const int64_t r = sample % 8 == 0 ? d.rows - 1 : random.below(d.rows);
      const int64_t c = sample % 8 == 1 ? d.cols - 1 : random.below(d.cols);
      compare(random.below(d.batch), r, c);
    }
  }
  if (const auto element = find_nan(operands.d, got); element && verdict.wrong.empty()) {
    verdict.wrong =
        "NaN, or not written: the element at offset " + std::to_string(*element) + " of D";
  }
  if (const auto byte = find_write_outside(operands.d, got)) {
    verdict.out_of_bounds = "byte " +
                            std::to_string(static_cast<int64_t>(*byte) - operands.d.place(0)) +
                            " relative to D is not D's and was overwritten";
  }
  return verdict;
}

// ---- The calls ----------------------------------------------------------------------------------

// One thread's handles, streams and memory. One thread.
struct Worker {
  Worker() {
    for (auto& handle : handles) {
      cublasHandle_t created = nullptr;
      require(cublasCreate_v2(&created), "cublasCreate_v2");
      handle.reset(created);
    }
    for (auto& handle : lt_handles) {
      cublasLtHandle_t created = nullptr;
      require(cublasLtCreate(&created), "cublasLtCreate");
      handle.reset(created);
    }
    cudaStream_t created = nullptr;
    require(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking),
            "cudaStreamCreateWithFlags");
    user.reset(created);
    require(cudaStreamCreate(&created), "cudaStreamCreate");
    user_blocking.reset(created);
  }
  cudaStream_t stream(Stream kind) const {
    const cudaStream_t streams[]{nullptr, user.get(), user_blocking.get(), cudaStreamPerThread};
    return streams[static_cast<size_t>(kind)];
  }
  std::array<Owner<cublasHandle_t, cublasDestroy_v2>, 2> handles;
  std::array<Owner<cublasLtHandle_t, cublasLtDestroy>, 2> lt_handles;
  Owner<cudaStream_t, cudaStreamDestroy> user;
  Owner<cudaStream_t, cudaStreamDestroy> user_blocking;
  DeviceMemory workspace = allocate(kWorkspaceBytes);
  DeviceMemory scalars = allocate(64);  // alpha, beta, scale_a, scale_b, 16 bytes each
  DeviceMemory pointers = allocate(3 * 8 * sizeof(void*));  // of A, B and C, 8 batch items each
  std::vector<uint8_t> got;
  std::map<size_t, Operands> operands;  // of each product used
};

struct Scalars {
  alignas(16) uint8_t host[64] = {};
  const void* alpha = nullptr;  // on the host or the device, after the call's pointer mode
  const void* beta = nullptr;
};

// Uploads the scalars and, for pointer arrays, the pointers.
void upload_arguments(const Product& product, const Call& call, const Operands& operands,
                      Worker& worker, Scalars& scalars) {
  cudaStream_t stream = worker.stream(call.stream);
  encode(product.scale, call.alpha, scalars.host);
  encode(product.scale, call.beta, scalars.host + 16);
  store(scalars.host + 32, product.scale_a.value_or(1.0F));
  store(scalars.host + 48, product.scale_b.value_or(1.0F));
  require(cudaMemcpyAsync(worker.scalars.get(), scalars.host, sizeof scalars.host,
                          cudaMemcpyHostToDevice, stream),
          "copy of the scalars");
  const bool on_device = call.pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  const uint8_t* base = on_device ? static_cast<uint8_t*>(worker.scalars.get()) : scalars.host;
  scalars.alpha = base;
  scalars.beta = base + 16;
  if (product.entry == Entry::kGemmBatchedEx) {
    std::array<void*, 24> pointers{};
    for (int64_t item = 0; item < product.d.batch; ++item) {
      const auto at = static_cast<size_t>(item);
      pointers[at] = operands.a.device(item * product.a.stride);
      pointers[8 + at] = operands.b.device(item * product.b.stride);
      pointers[16 + at] = operands.d.device(item * product.d.stride);
    }
    require(cudaMemcpyAsync(worker.pointers.get(), pointers.data(), sizeof pointers,
                            cudaMemcpyHostToDevice, stream),
            "copy of the pointers");
  }
  require(cudaStreamSynchronize(stream), "synchronize after the uploads");
}

cublasStatus_t launch_cublas(const Product& product, const Call& call, const Operands& operands,
                             const Worker& worker, const Scalars& scalars) {
  cublasHandle_t handle = worker.handles[call.handle].get();
  require(cublasSetStream_v2(handle, worker.stream(call.stream)), "cublasSetStream_v2");
  require(cublasSetPointerMode_v2(handle, call.pointer_mode), "cublasSetPointerMode_v2");
  require(cublasSetMathMode(handle, product.math), "cublasSetMathMode");
  require(cublasSetSmCountTarget(handle, call.sm_count_target), "cublasSetSmCountTarget");
  const auto op_a = product.op_a;
  const auto op_b = product.op_b;
  const auto m = static_cast<int>(product.m);
  const auto n = static_cast<int>(product.n);
  const auto k = static_cast<int>(product.k);
  const auto lda = static_cast<int>(product.a.ld);
  const auto ldb = static_cast<int>(product.b.ld);
  const auto ldd = static_cast<int>(product.d.ld);
  const auto batch = static_cast<int>(product.d.batch);
  const auto a_type = row(product.a.type).cuda;
  const auto b_type = row(product.b.type).cuda;
  const auto d_type = row(product.d.type).cuda;
  const void* a = operands.a.device();
  const void* b = operands.b.device();
  void* d = operands.d.device();
  // The typed entry points' arguments: those of f32, f64 and f16.
  const auto typed = [&]<typename Element>(Element, auto function) {
    return function(handle, op_a, op_b, m, n, k, static_cast<const Element*>(scalars.alpha),
                    static_cast<const Element*>(a), lda, static_cast<const Element*>(b), ldb,
                    static_cast<const Element*>(scalars.beta), static_cast<Element*>(d), ldd);
  };
  const auto typed_batched = [&]<typename Element>(Element, auto function) {
    return function(handle, op_a, op_b, m, n, k, static_cast<const Element*>(scalars.alpha),
                    static_cast<const Element*>(a), lda, product.a.stride,
                    static_cast<const Element*>(b), ldb, product.b.stride,
                    static_cast<const Element*>(scalars.beta), static_cast<Element*>(d), ldd,
                    product.d.stride, batch);
  };
  switch (product.entry) {
    case Entry::kSgemm:
      return typed(float{}, cublasSgemm_v2);
    case Entry::kDgemm:
      return typed(double{}, cublasDgemm_v2);
    case Entry::kHgemm:
      return typed(__half{}, cublasHgemm);
    case Entry::kSgemmStridedBatched:
      return typed_batched(float{}, cublasSgemmStridedBatched);
    case Entry::kDgemmStridedBatched:
      return typed_batched(double{}, cublasDgemmStridedBatched);
    case Entry::kSgemmEx:
      return cublasSgemmEx(handle, op_a, op_b, m, n, k, static_cast<const float*>(scalars.alpha), a,
                           a_type, lda, b, b_type, ldb, static_cast<const float*>(scalars.beta), d,
                           d_type, ldd);
    case Entry::kGemmEx:
      return cublasGemmEx(handle, op_a, op_b, m, n, k, scalars.alpha, a, a_type, lda, b, b_type,
                          ldb, scalars.beta, d, d_type, ldd, product.compute, call.algo);
    case Entry::kGemmStridedBatchedEx:
      return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, scalars.alpha, a, a_type, lda,
                                        product.a.stride, b, b_type, ldb, product.b.stride,
                                        scalars.beta, d, d_type, ldd, product.d.stride, batch,
                                        product.compute, call.algo);
    case Entry::kGemmBatchedEx: {
      auto* const pointers = static_cast<void**>(worker.pointers.get());
      return cublasGemmBatchedEx(handle, op_a, op_b, m, n, k, scalars.alpha, pointers, a_type, lda,
                                 pointers + 8, b_type, ldb, scalars.beta, pointers + 16, d_type,
                                 ldd, batch, product.compute, call.algo);
    }
    case Entry::kLtMatmul:
      break;
  }
  return CUBLAS_STATUS_INTERNAL_ERROR;
}

using LtLayout = Owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using LtOperation = Owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using LtPreference = Owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

LtLayout make_layout(const Matrix& matrix) {
  cublasLtMatrixLayout_t created = nullptr;
  require(cublasLtMatrixLayoutCreate(&created, row(matrix.type).cuda,
                                     static_cast<uint64_t>(matrix.rows),
                                     static_cast<uint64_t>(matrix.cols), matrix.ld),
          "cublasLtMatrixLayoutCreate");
  LtLayout layout(created);
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    require(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
            "cublasLtMatrixLayoutSetAttribute");
  };
  if (matrix.order == Order::kRow) {
    set(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<int32_t>(CUBLASLT_ORDER_ROW));
  }
  if (matrix.batch != 1) {
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(matrix.batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
  }
  return layout;
}

LtOperation make_operation(const Product& product, const Call& call, Operands& operands,
                           const Worker& worker) {
  cublasLtMatmulDesc_t created = nullptr;
  require(cublasLtMatmulDescCreate(&created, product.compute, row(product.scale).cuda),
          "cublasLtMatmulDescCreate");
  LtOperation operation(created);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    require(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value),
            "cublasLtMatmulDescSetAttribute");
  };
  auto* const scalars = static_cast<uint8_t*>(worker.scalars.get());
  set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(product.op_a));
  set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(product.op_b));
  if (call.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    set(CUBLASLT_MATMUL_DESC_POINTER_MODE, static_cast<int32_t>(CUBLASLT_POINTER_MODE_DEVICE));
  }
  if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(product.epilogue));
  }
  if (product.has(CUBLASLT_EPILOGUE_BIAS)) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(operands.bias.device()));
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(row(product.bias.type).cuda));
    if (product.d.batch > 1) {
      set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, product.bias.stride);
    }
  }
  if (product.epilogue == CUBLASLT_EPILOGUE_RELU_AUX) {
    const int64_t lines = product.d.order == Order::kColumn ? product.n : product.m;
    const int64_t ld_bits = round_up(std::max(product.m, product.n), 128);
    if (!operands.aux) {
      operands.aux = allocate(ld_bits / 8 * (lines + 1) * (product.d.batch + 1));
    }
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.aux.get());
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld_bits);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, ld_bits * lines);
  }
  if (product.scale_a) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(scalars + 32));
  }
  if (product.scale_b) {
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(scalars + 48));
  }
  if (product.fast_accumulation) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
  }
  return operation;
}

cublasStatus_t launch_lt(const Product& product, const Call& call, Operands& operands,
                         const Worker& worker, const Scalars& scalars) {
  cublasLtHandle_t handle = worker.lt_handles[call.handle].get();
  const LtOperation operation = make_operation(product, call, operands, worker);
  const LtLayout a = make_layout(product.a);
  const LtLayout b = make_layout(product.b);
  const LtLayout c = make_layout(product.c);
  const LtLayout d = make_layout(product.d);
  std::array<cublasLtMatmulHeuristicResult_t, 2> results{};
  const cublasLtMatmulAlgo_t* algo = nullptr;
  if (product.algo != LtAlgo::kNull) {
    cublasLtMatmulPreference_t created = nullptr;
    require(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate");
    const LtPreference preference(created);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      require(
          cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto alignment = [](const Matrix& matrix) {
      return static_cast<uint32_t>(matrix.alignment_bytes);
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(product.workspace_bytes));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(product.a));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(product.b));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(product.c));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(product.d));
    const int wanted = product.algo == LtAlgo::kSecond ? 2 : 1;
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, operation.get(), a.get(), b.get(), c.get(), d.get(),
                                       preference.get(), wanted, results.data(), &found);
    if (status != CUBLAS_STATUS_SUCCESS) {
      return status;
    }
    if (found < wanted) {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    algo = &results[static_cast<size_t>(wanted - 1)].algo;
  }
  const void* c_pointer = product.c_is_d ? operands.d.device() : operands.c.device();
  return cublasLtMatmul(handle, operation.get(), scalars.alpha, operands.a.device(), a.get(),
                        operands.b.device(), b.get(), scalars.beta, c_pointer, c.get(),
                        operands.d.device(), d.get(), algo,
                        product.workspace_bytes > 0 ? worker.workspace.get() : nullptr,
                        product.workspace_bytes, worker.stream(call.stream));
}

cublasStatus_t launch(const Product& product, const Call& call, Operands& operands,
                      const Worker& worker, const Scalars& scalars) {
  return product.entry == Entry::kLtMatmul
             ? launch_lt(product, call, operands, worker, scalars)
             : launch_cublas(product, call, operands, worker, scalars);
}

void upload(const Product& product, Inputs inputs, cudaStream_t stream, Operands& operands) {
  if (inputs == Inputs::kNew) {
    operands.a.upload(stream);
    operands.b.upload(stream);
    operands.bias.upload(stream);
  }
  if (!product.c_is_d) {
    operands.c.upload(stream);
  }
  operands.d.upload(stream);
}

Operands& prepare(const Product& product, const Call& call, Random& random, const Pools& pools,
                  Worker& worker) {
  Operands& operands = worker.operands.try_emplace(call.product, product).first->second;
  const Inputs inputs = call.fresh_inputs || !operands.has_inputs ? Inputs::kNew : Inputs::kKeep;
  fill(product, call, random, pools, inputs, operands);
  upload(product, inputs, worker.stream(call.stream), operands);
  operands.has_inputs = true;
  return operands;
}

Verdict download_and_check(const Product& product, const Call& call, Random& random,
                           const Operands& operands, Worker& worker) {
  cudaStream_t stream = worker.stream(call.stream);
  operands.d.download(stream, worker.got);
  require(cudaStreamSynchronize(stream), "synchronize after the call");
  Verdict verdict = check(product, call, operands, random, Elements::kSampled, worker.got);
  if (!product.c_is_d) {
    operands.c.download(stream, worker.got);
    require(cudaStreamSynchronize(stream), "synchronize after the call");
    if (worker.got != operands.c.image()) {
      verdict.out_of_bounds = "C was changed, and D is another matrix";
    }
  }
  return verdict;
}

using Graph = Owner<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owner<cudaGraphExec_t, cudaGraphExecDestroy>;

// New elements at the same addresses, which a captured graph knows.
void refill_in_place(const Product& product, const Call& call, Random& random, const Pools& pools,
                     Operands& operands) {
  operands.a.fill(random, pools);
  operands.b.fill(random, pools);
  operands.d.poison();
  if (!call.nan_in_c) {
    (product.c_is_d ? operands.d : operands.c).fill(random, pools);
  }
}

Verdict run_captured(const Product& product, const Call& call, Random& random, const Pools& pools,
                     cudaStreamCaptureMode mode, Operands& operands, Worker& worker,
                     const Scalars& scalars) {
  cudaStream_t stream = worker.stream(call.stream);
  require(cudaStreamBeginCapture(stream, mode), "cudaStreamBeginCapture");
  const cublasStatus_t status = launch(product, call, operands, worker, scalars);
  cudaGraph_t captured = nullptr;
  require(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  const Graph graph(captured);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return {.wrong = cublasGetStatusString(status), .out_of_bounds = {}};
  }
  cudaGraphExec_t created = nullptr;
  require(cudaGraphInstantiate(&created, captured, 0), "cudaGraphInstantiate");
  const GraphExec executable(created);
  require(cudaGraphLaunch(created, stream), "cudaGraphLaunch");
  Verdict first = download_and_check(product, call, random, operands, worker);
  refill_in_place(product, call, random, pools, operands);
  upload(product, Inputs::kNew, stream, operands);
  require(cudaGraphLaunch(created, stream), "second cudaGraphLaunch");
  Verdict second = download_and_check(product, call, random, operands, worker);
  if (first.wrong.empty() && !second.wrong.empty()) {
    first.wrong = "second launch of the graph, " + second.wrong;
  }
  if (first.out_of_bounds.empty()) {
    first.out_of_bounds = second.out_of_bounds;
  }
  return first;
}

Verdict run_call(const Product& product, const Call& call, const Pools& pools,
                 cudaStreamCaptureMode mode, Worker& worker) {
  Random random(call.data_seed);
  Scalars scalars;
  Operands& operands = prepare(product, call, random, pools, worker);
  upload_arguments(product, call, operands, worker, scalars);
  if (call.captured) {
    return run_captured(product, call, random, pools, mode, operands, worker, scalars);
  }
  const cublasStatus_t status = launch(product, call, operands, worker, scalars);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return {.wrong = cublasGetStatusString(status), .out_of_bounds = {}};
  }
  return download_and_check(product, call, random, operands, worker);
}

// ---- The report ---------------------------------------------------------------------------------

uint64_t served() {
  static auto* const function =
      reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "tunedgemm_front_served"));
  return function == nullptr ? 0 : function();
}

struct Counts {
  int64_t calls = 0;
  int64_t wrong = 0;
  int64_t out_of_bounds = 0;
  int64_t must_pass = 0;
  int64_t served_must_pass = 0;
  uint64_t served = 0;
};

// Counts calls and faults, and prints the first faults. Threads may share it.
class Report {
 public:
  explicit Report(int64_t calls) : calls_(calls) {}

  void add(const Product& product, const Call& call, const Verdict& verdict, uint64_t served_now) {
    const std::lock_guard guard(mutex_);
    Counts& counts = counts_[static_cast<size_t>(product.entry)];
    const bool pass = must_pass(product, call);
    ++counts.calls;
    ++done_;
    counts.must_pass += pass;
    counts.served += served_now;
    if (!verdict.wrong.empty()) {
      ++counts.wrong;
      print_fault("WRONG", product, call, verdict.wrong);
    }
    if (!verdict.out_of_bounds.empty()) {
      ++counts.out_of_bounds;
      print_fault("OUT OF BOUNDS", product, call, verdict.out_of_bounds);
    }
    if (pass && served_now > 0) {
      ++counts.served_must_pass;
      print_fault("SERVED", product, call, "cuBLAS should have got this call");
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - printed_ >= std::chrono::seconds(1)) {
      printed_ = now;
      std::fprintf(stderr, "%ld of %ld calls, %ld faults\n", static_cast<long>(done_),
                   static_cast<long>(calls_), static_cast<long>(faults_));
    }
  }

  // Prints the table, and returns the exit status.
  int finish(uint64_t served_in_all) const {
    std::printf("%-28s %8s %8s %14s %10s %18s %8s\n", "entry point", "calls", "wrong",
                "out of bounds", "must pass", "served must pass", "served");
    Counts sum;
    for (size_t entry = 0; entry < kEntries; ++entry) {
      const Counts& counts = counts_[entry];
      print_row(kEntryNames[entry], counts);
      sum.calls += counts.calls;
      sum.wrong += counts.wrong;
      sum.out_of_bounds += counts.out_of_bounds;
      sum.must_pass += counts.must_pass;
      sum.served_must_pass += counts.served_must_pass;
      sum.served += counts.served;
    }
    const uint64_t served_in_threads = served_in_all - sum.served;
    sum.served = served_in_all;
    print_row("all", sum);
    std::printf(
        "the row \"all\" has the %lu calls more that were served in the two threads' part\n",
        static_cast<unsigned long>(served_in_threads));
    std::printf("%ld calls, %ld wrong, %ld served that must pass, %lu served\n",
                static_cast<long>(done_), static_cast<long>(sum.wrong),
                static_cast<long>(sum.served_must_pass), static_cast<unsigned long>(served_in_all));
    return faults_ == 0 ? 0 : 1;
  }

 private:
  static constexpr int64_t kPrinted = 10;

  void print_fault(const char* kind, const Product& product, const Call& call,
                   const std::string& what) {
    if (++faults_ <= kPrinted) {
      std::printf("%s %s\n  %s\n  %s\n", kind, text(product).c_str(), text(call).c_str(),
                  what.c_str());
      std::fflush(stdout);
    }
  }
  static void print_row(const char* entry, const Counts& counts) {
    std::printf("%-28s %8ld %8ld %14ld %10ld %18ld %8lu\n", entry, static_cast<long>(counts.calls),
                static_cast<long>(counts.wrong), static_cast<long>(counts.out_of_bounds),
                static_cast<long>(counts.must_pass), static_cast<long>(counts.served_must_pass),
                static_cast<unsigned long>(counts.served));
  }

  std::mutex mutex_;
  int64_t calls_;
  int64_t done_ = 0;
  int64_t faults_ = 0;
  std::array<Counts, kEntries> counts_{};
  std::chrono::steady_clock::time_point printed_ = std::chrono::steady_clock::now();
};

// ---- The program --------------------------------------------------------------------------------

struct Options {
  int64_t calls = 10000;
  size_t products = 60;
  uint64_t seed = 1;
  bool list = false;
  bool self_check = false;
};

// Makes the product's call once. Failures other than a refusal are thrown.
cublasStatus_t try_product(const Product& product, size_t index, const Pools& pools,
                           Worker& worker) {
  Call call;
  call.product = index;
  call.alpha = product.unit_scalars ? 1 : product.scale == Type::kS32 ? 3 : -0.5;
  call.beta = product.scale == Type::kS32 ? 1 : 0.25;
  Random random(index);
  Scalars scalars;
  Operands& operands = prepare(product, call, random, pools, worker);
  upload_arguments(product, call, operands, worker, scalars);
  try {
    const cublasStatus_t status = launch(product, call, operands, worker, scalars);
    require(cudaDeviceSynchronize(), "synchronize after the first call");
    return status;
  } catch (const CublasError& error) {  // from a descriptor
    return error.status;
  } catch (const std::exception& error) {
    throw std::runtime_error(text(product) + ": " + error.what());
  }
}

// Draws until cuBLAS accepts each product, and prints how many it refused.
std::vector<Product> draw_products(const Options& options, const Pools& pools, Worker& worker) {
  constexpr uint64_t kAttempts = 200;
  std::vector<Product> products;
  std::map<std::string, int> refusals;
  while (products.size() < options.products) {
    const size_t index = products.size();
    for (uint64_t attempt = 0; products.size() == index; ++attempt) {
      if (attempt == kAttempts) {
        throw std::runtime_error("cuBLAS refuses every draw of product " + std::to_string(index));
      }
      const Product product = draw_product(options.seed, index, attempt, Sizes::kField);
      const cublasStatus_t status = try_product(product, index, pools, worker);
      if (status == CUBLAS_STATUS_SUCCESS) {
        products.push_back(product);
        continue;
      }
      worker.operands.erase(index);
      ++refusals[std::string(name(product.entry)) + " " + row(product.a.type).name + " " +
                 cublasGetStatusString(status)];
      if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE) {
        throw std::runtime_error(text(product) + ": " + cublasGetStatusString(status));
      }
    }
  }
  for (const auto& [refused, times] : refusals) {
    std::fprintf(stderr, "refused and drawn again: %d x %s\n", times, refused.c_str());
  }
  return products;
}

// Makes the calls first, first + step, ... before last.
void make_calls(const Options& options, const std::vector<Product>& products, const Pools& pools,
                int64_t first, int64_t last, int64_t step, Worker& worker, Report& report) {
  const bool alone = step == 1;
  const auto mode = alone ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal;
  for (int64_t number = first; number < last; number += step) {
    const Call call = draw_call(options.seed, number, products);
    const Product& product = products[call.product];
    const uint64_t before = served();
    try {
      const Verdict verdict = run_call(product, call, pools, mode, worker);
      report.add(product, call, verdict, alone ? served() - before : 0);
    } catch (const std::exception& error) {
      throw std::runtime_error(text(product) + "\n  " + text(call) + "\n  " + error.what());
    }
  }
}

int run(const Options& options) {
  std::printf("seed %lu\n", static_cast<unsigned long>(options.seed));
  const Pools pools = make_pools(options.seed);
  Worker worker;
  const std::vector<Product> products = draw_products(options, pools, worker);
  if (options.list) {
    for (size_t index = 0; index < products.size(); ++index) {
      std::printf("%zu %s\n", index, text(products[index]).c_str());
    }
    return 0;
  }
  Report report(options.calls);
  const uint64_t served_before = served();
  const int64_t alone = options.calls * 3 / 4;
  make_calls(options, products, pools, 0, alone, 1, worker, report);
  std::array<std::exception_ptr, 2> errors;
  {
    std::array<std::jthread, 2> threads;
    for (size_t thread = 0; thread < 2; ++thread) {
      threads[thread] = std::jthread([&, thread] {
        try {
          Worker own;
          const int64_t first = alone + static_cast<int64_t>(thread);
          make_calls(options, products, pools, first, options.calls, 2, own, report);
        } catch (...) {
          errors[thread] = std::current_exception();
        }
      });
    }
  }
  for (const auto& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
  return report.finish(served() - served_before);
}

// ---- The self check: the checker against plain loops, written independently of it ---------------

double plain_decode(uint64_t bits, int exponent_bits, int mantissa_bits) {
  const uint64_t mantissa = bits & ((uint64_t{1} << mantissa_bits) - 1);
  const auto exponent =
      static_cast<int>((bits >> mantissa_bits) & ((uint64_t{1} << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits >> (mantissa_bits + exponent_bits)) != 0 ? -1 : 1;
  const uint64_t one = exponent == 0 ? 0 : uint64_t{1} << mantissa_bits;
  return sign * std::ldexp(static_cast<double>(mantissa | one),
                           std::max(exponent, 1) - bias - mantissa_bits);
}

double plain_read(Type type, const uint8_t* matrix, int64_t element) {
  switch (type) {
    case Type::kF64:
      return plain_decode(reinterpret_cast<const uint64_t*>(matrix)[element], 11, 52);
    case Type::kF32:
      return plain_decode(reinterpret_cast<const uint32_t*>(matrix)[element], 8, 23);
    case Type::kF16:
      return plain_decode(reinterpret_cast<const uint16_t*>(matrix)[element], 5, 10);
    case Type::kBf16:
      return plain_decode(reinterpret_cast<const uint16_t*>(matrix)[element], 8, 7);
    case Type::kE4m3:
      return plain_decode(matrix[element], 4, 3);
    case Type::kE5m2:
      return plain_decode(matrix[element], 5, 2);
    case Type::kS8:
      return reinterpret_cast<const int8_t*>(matrix)[element];
    case Type::kS32:
      return reinterpret_cast<const int32_t*>(matrix)[element];
  }
  return 0;
}

// D by the BLAS definition, into an image of D's buffer.
void plain_gemm(const Product& p, const Call& call, const Operands& operands,
                std::vector<uint8_t>& image) {
  const uint8_t* a = operands.a.host(0);
  const uint8_t* b = operands.b.host(0);
  const uint8_t* c = p.c_is_d ? operands.d.host(0) : operands.c.host(0);
  uint8_t* d = image.data() + operands.d.place(0);
  const bool by_rows = p.d.order == Order::kRow;
  for (int64_t item = 0; item < p.d.batch; ++item) {
    for (int64_t n = 0; n < p.n; ++n) {
      for (int64_t m = 0; m < p.m; ++m) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          const int64_t in_a = p.op_a == CUBLAS_OP_N ? k * p.a.ld + m : m * p.a.ld + k;
          const int64_t in_b = p.op_b == CUBLAS_OP_N ? n * p.b.ld + k : k * p.b.ld + n;
          sum += plain_read(p.a.type, a, p.a.stride * item + in_a) *
                 plain_read(p.b.type, b, p.b.stride * item + in_b);
        }
        sum *= call.alpha * (p.scale_a ? *p.scale_a : 1) * (p.scale_b ? *p.scale_b : 1);
        if (call.beta != 0) {
          const int64_t in_c = by_rows ? m * p.c.ld + n : n * p.c.ld + m;
          sum += call.beta * plain_read(p.c.type, c, p.c.stride * item + in_c);
        }
        const bool bias = p.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                          p.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
                          p.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
        if (bias) {
          sum += plain_read(p.bias.type, operands.bias.host(0), item * p.bias.stride + m);
        }
        const bool relu = p.epilogue == CUBLASLT_EPILOGUE_RELU ||
                          p.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
                          p.epilogue == CUBLASLT_EPILOGUE_RELU_AUX;
        if (relu && sum < 0) {
          sum = 0;
        } else if (p.epilogue == CUBLASLT_EPILOGUE_GELU ||
                   p.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS) {
          sum = sum / (1 + std::exp(-2 * 0.7978845608028654 * (sum + 0.044715 * std::pow(sum, 3))));
        }
        const int64_t in_d = by_rows ? m * p.d.ld + n : n * p.d.ld + m;
        encode(p.d.type, sum, d + (p.d.stride * item + in_d) * row(p.d.type).bytes);
      }
    }
  }
}

// Changes one random element by less than a typical result but more than any tolerance, or to NaN.
void spoil_element(const Product& product, const Buffer& d, Random& random,
                   std::vector<uint8_t>& image) {
  const int64_t element = product.d.offset(random.below(product.d.batch), random.below(product.m),
                                           random.below(product.n));
  uint8_t* at = image.data() + d.place(element);
  const bool integer = product.d.type == Type::kS32;
  const double change = integer ? 1 : 0.4 * std::sqrt(static_cast<double>(product.k)) + 0.2;
  const bool nan = !integer && random.chance(0.2);
  encode(product.d.type, nan ? NAN : decode(product.d.type, at) + change, at);
}

int self_check(const Options& options) {
  int64_t faults = 0;
  int64_t checked = 0;
  const Pools pools = make_pools(options.seed);
  const auto expect = [&](bool holds, const char* what, const Product& product, const Call& call,
                          const Verdict& verdict) {
    ++checked;
    if (!holds && ++faults <= 10) {
      std::printf("%s\n  %s\n  %s\n  %s\n", what, text(product).c_str(), text(call).c_str(),
                  (verdict.wrong + verdict.out_of_bounds).c_str());
    }
  };
  for (int64_t number = 0; number < options.calls; ++number) {
    const auto index = static_cast<size_t>(number) % 40;
    const Product product =
        draw_product(options.seed, index, static_cast<uint64_t>(number), Sizes::kSmall);
    Call call = draw_call(options.seed, number, {product});
    Random random(call.data_seed);
    Operands operands(product);
    fill(product, call, random, pools, Inputs::kNew, operands);
    std::vector<uint8_t> image = operands.d.image();
    plain_gemm(product, call, operands, image);
    const auto check_image = [&](Elements elements) {
      return check(product, call, operands, random, elements, image);
    };
    Verdict verdict = check_image(number % 2 == 0 ? Elements::kAll : Elements::kSampled);
    expect(verdict.wrong.empty() && verdict.out_of_bounds.empty(), "a right result was rejected",
           product, call, verdict);
    const std::vector<uint8_t> right = image;
    if (product.d.elements() > 0) {
      spoil_element(product, operands.d, random, image);
      verdict = check_image(Elements::kAll);
      expect(!verdict.wrong.empty() && verdict.out_of_bounds.empty(),
             "a wrong element was not found", product, call, verdict);
    }
    image = right;  // a byte just before, just after, or anywhere outside
    const int64_t after = operands.d.place(product.d.span());
    const int64_t outside[]{operands.d.place(0) - 1, after, random.below(operands.d.place(0)),
                            random.between(after, static_cast<int64_t>(image.size()) - 1)};
    image[static_cast<size_t>(random.pick(outside))] ^= 0x10;
    verdict = check_image(Elements::kAll);
    expect(!verdict.out_of_bounds.empty() && verdict.wrong.empty(), "a write outside was not found",
           product, call, verdict);
    if (product.d.batch > 0 && product.n > 1 && product.d.ld > product.m * product.d.batch &&
        product.d.order == Order::kColumn) {  // the last element of a column's padding
      image = right;
      image[static_cast<size_t>(operands.d.place(product.d.ld) - 1)] ^= 0x10;
      verdict = check_image(Elements::kAll);
      expect(!verdict.out_of_bounds.empty(), "a write into the padding was not found", product,
             call, verdict);
    }
  }
  std::printf("self check: %ld checks, %ld faults\n", static_cast<long>(checked),
              static_cast<long>(faults));
  return faults == 0 ? 0 : 1;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at < argc; ++at) {
    const std::string option = argv[at];
    const auto number = [&] {
      if (at + 1 == argc) {
        throw std::runtime_error(option + " needs a number");
      }
      return std::stoull(argv[++at]);
    };
    if (option == "--calls") {
      options.calls = static_cast<int64_t>(number());
    } else if (option == "--products") {
      options.products = std::max<size_t>(number(), 1);
    } else if (option == "--seed") {
      options.seed = number();
    } else if (option == "--list") {
      options.list = true;
    } else if (option == "--self-check") {
      options.self_check = true;
    } else {
      throw std::runtime_error(
          "usage: cublas_calls [--calls N] [--products N] [--seed N] [--list]");
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    return options.self_check ? self_check(options) : run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cublas_calls: %s\n", error.what());
    return 2;
  }
}

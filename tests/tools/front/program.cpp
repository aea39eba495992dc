// A program that knows nothing of this library and multiplies with cuBLAS, for front_test.cpp. It
// prints a line for every product: its name, whether cuBLAS was called ("passed") or not
// ("answered"), and whether the result is right. The fake cuBLAS computes nothing, so no result of
// a passed product is right.

#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/driver_types.h"

// Functions of cuBLAS, linked as programs link them.
extern "C" {
int fake_cublas_products();
int cublasCreate_v2(void**);
int cublasDestroy_v2(void*);
int cublasSetStream_v2(void*, void*);
int cublasSetPointerMode_v2(void*, int);
int cublasSetMathMode(void*, int);
int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*,
                 int, int, const void*, void*, int, int, int, int);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                   int, const float*, float*, int);
int cublasSgemmStridedBatched(void*, int, int, int, int, int, const float*, const float*, int,
                              long long, const float*, int, long long, const float*, float*, int,
                              long long, int);
int cublasLtMatmulDescCreate(void**, int, int);
int cublasLtMatmulDescSetAttribute(void*, int, const void*, std::size_t);
int cublasLtMatrixLayoutCreate(void**, int, std::uint64_t, std::uint64_t, std::int64_t);
int cublasLtMatrixLayoutSetAttribute(void*, int, const void*, std::size_t);
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*,
                                   int*);
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const void*, void*, std::size_t, void*);
}

namespace {

using namespace tunedgemm::internal::cuda;

constexpr int kM = 16, kN = 24, kK = 32, kLd = 40, kBatch = 2;
constexpr int kF32 = 0, kCompute32F = 68, kCompute16F = 64, kDefault = -1;
// An address that the CPU cannot read.
const void* const kOnDevice = reinterpret_cast<const void*>(std::uintptr_t{256});
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
};

// Memory of the fake GPU, which is the CPU's.
float* allocate(const Driver& driver, std::size_t count) {
  CUdeviceptr address = 0;
  driver.find<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2")(&address,
                                                                    count * sizeof(float));
  return reinterpret_cast<float*>(address);
}

struct Operands {
  float *a, *b, *c, *d, *bias;
};

// An element of op(X), X column-major with the leading dimension kLd.
float element(const float* matrix, bool is_transposed, int row, int column) {
  return is_transposed ? matrix[column + row * kLd] : matrix[row + column * kLd];
}

struct Expected {
  bool transpose_a = false, transpose_b = false;
  float alpha = 1, beta = 0;
  bool has_bias = false, has_relu = false;
  const float* c = nullptr;  // before the product
};

bool is_right(const Operands& on, const float* d, const Expected& expected) {
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) {
        sum += element(on.a, expected.transpose_a, row, k) *
               element(on.b, expected.transpose_b, k, column);
      }
      sum *= expected.alpha;
      sum += expected.beta == 0 ? 0 : expected.beta * expected.c[row + column * kLd];
      sum += expected.has_bias ? on.bias[row] : 0;
      sum = expected.has_relu && sum < 0 ? 0 : sum;
      if (!(std::fabs(d[row + column * kLd] - sum) <= 1e-3F)) {
        return false;
      }
    }
  }
  return true;
}

class Program {
 public:
  explicit Program(const Driver& driver) : driver_(driver) {
    const std::size_t count = std::size_t{kLd} * kLd * kBatch;
    for (float** matrix : {&on_.a, &on_.b, &on_.c, &on_.d, &on_.bias}) {
      *matrix = allocate(driver, count);
    }
    for (std::size_t index = 0; index < count; ++index) {
      on_.a[index] = static_cast<float>(index % 7) - 3;
      on_.b[index] = static_cast<float>(index % 5) - 2;
      on_.bias[index] = static_cast<float>(index % 11) - 5;
    }
    cublasCreate_v2(&handle_);
  }

  void beside_a_capture();
  void classic();
  void lt();
  void captures();

 private:
  // C and D become NaN, so beta = 0 must not read them.
  void multiply(const std::string& name, Expected expected, const std::function<int()>& call) {
    for (int index = 0; index < kLd * kLd * kBatch; ++index) {
      on_.d[index] = kNaN;
      on_.c[index] = expected.beta == 0 ? kNaN : static_cast<float>(index % 3);
    }
    std::vector<float> before(on_.c, on_.c + kLd * kLd * kBatch);
    expected.c = before.data();
    const int products = fake_cublas_products();
    const int status = call();
    const bool is_passed = fake_cublas_products() > products;
    const float* const result = std::isnan(on_.d[0]) ? on_.c : on_.d;
    std::printf("%s %s %s %d\n", name.c_str(), is_passed ? "passed" : "answered",
                is_right(on_, result, expected) ? "right" : "wrong", status);
  }
  int gemm(int transpose_a, int transpose_b, const void* alpha, const void* beta, float* c,
           int compute = kCompute32F, int algorithm = kDefault) {
    return cublasGemmEx(handle_, transpose_a, transpose_b, kM, kN, kK, alpha, on_.a, kF32, kLd,
                        on_.b, kF32, kLd, beta, c, kF32, kLd, compute, algorithm);
  }
  struct Lt {
    void *operation = nullptr, *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  };
  Lt descriptors(int epilogue) const;
  int matmul(const Lt& lt, const void* alpha, const void* beta, const void* algorithm) const {
    return cublasLtMatmul(handle_, lt.operation, alpha, on_.a, lt.a, on_.b, lt.b, beta, on_.c, lt.c,
                          on_.d, lt.d, algorithm, nullptr, 0, nullptr);
  }
  int matmul(const Lt& lt, float alpha, float beta, const void* algorithm = nullptr) const {
    return matmul(lt, &alpha, &beta, algorithm);
  }

  const Driver& driver_;
  Operands on_{};
  void* handle_ = nullptr;
  const float one_ = 1, zero_ = 0, half_ = 0.5F, minus_ = -1;
};

// The first calls of the process, while another thread captures a stream in the mode that forbids
// most of the driver's functions to all threads.
void Program::beside_a_capture() {
  const auto create = driver_.find<CUresult(CUstream*, unsigned)>("cuStreamCreate");
  CUstream captured = nullptr, other = nullptr;
  create(&captured, 1);
  create(&other, 1);
  CUcontext context = nullptr;
  driver_.find<CUresult(CUcontext*)>("cuCtxGetCurrent")(&context);
  driver_.find<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2")(
      captured, CUstreamCaptureMode{});
  cublasSetStream_v2(handle_, other);
  std::thread([&] {
    driver_.find<CUresult(CUcontext)>("cuCtxPushCurrent_v2")(context);
    for (const char* const name : {"beside_capture", "beside_capture_again"}) {
      multiply(name, {}, [&] { return gemm(0, 0, &one_, &zero_, on_.d); });
    }
  }).join();
  cublasSetStream_v2(handle_, nullptr);
  CUgraph graph = nullptr;
  const CUresult ended =
      driver_.find<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(captured, &graph);
  if (ended != CUDA_SUCCESS) {
    std::printf("capture invalidated %d\n", ended);
  }
}

void Program::classic() {
  multiply("nn", {}, [&] { return gemm(0, 0, &one_, &zero_, on_.d); });
  multiply("tn", {.transpose_a = true}, [&] { return gemm(1, 0, &one_, &zero_, on_.d); });
  multiply("conjugate", {.transpose_b = true}, [&] { return gemm(0, 2, &one_, &zero_, on_.d); });
  multiply("scalars", {.alpha = 0.5F, .beta = -1},
           [&] { return gemm(0, 0, &half_, &minus_, on_.c); });
  multiply("sgemm", {}, [&] {
    return cublasSgemm_v2(handle_, 0, 0, kM, kN, kK, &one_, on_.a, kLd, on_.b, kLd, &zero_, on_.d,
                          kLd);
  });
  multiply("batch", {}, [&] {
    return cublasSgemmStridedBatched(handle_, 0, 0, kM, kN, kK, &one_, on_.a, kLd, 0, on_.b, kLd,
                                     kLd * kLd, &zero_, on_.d, kLd, kLd * kLd, kBatch);
  });
  multiply("device_scalars", {}, [&] {
    cublasSetPointerMode_v2(handle_, 1);
    const int status = gemm(0, 0, kOnDevice, kOnDevice, on_.d);
    cublasSetPointerMode_v2(handle_, 0);
    return status;
  });
  multiply("pedantic", {}, [&] {
    cublasSetMathMode(handle_, 2);
    const int status = gemm(0, 0, &one_, &zero_, on_.d);
    cublasSetMathMode(handle_, 0);
    return status;
  });
  multiply("compute_16f", {}, [&] { return gemm(0, 0, &one_, &zero_, on_.d, kCompute16F); });
  multiply("algorithm", {},
           [&] { return gemm(0, 0, &one_, &zero_, on_.d, kCompute32F, /*algorithm=*/5); });
}

Program::Lt Program::descriptors(int epilogue) const {
  Lt lt;
  cublasLtMatmulDescCreate(&lt.operation, kCompute32F, kF32);
  cublasLtMatmulDescSetAttribute(lt.operation, 7, &epilogue, sizeof epilogue);
  const void* const bias = on_.bias;
  cublasLtMatmulDescSetAttribute(lt.operation, 8, &bias, sizeof bias);
  cublasLtMatrixLayoutCreate(&lt.a, kF32, kM, kK, kLd);
  cublasLtMatrixLayoutCreate(&lt.b, kF32, kK, kN, kLd);
  cublasLtMatrixLayoutCreate(&lt.c, kF32, kM, kN, kLd);
  cublasLtMatrixLayoutCreate(&lt.d, kF32, kM, kN, kLd);
  return lt;
}

void Program::lt() {
  constexpr int kNone = 1, kReluBias = 6, kReluAux = 130;
  const Lt plain = descriptors(kNone);
  const Lt relu_bias = descriptors(kReluBias);
  multiply("lt", {.alpha = 0.5F, .beta = -1}, [&] { return matmul(plain, 0.5F, -1); });
  multiply("lt_relu_bias", {.has_bias = true, .has_relu = true},
           [&] { return matmul(relu_bias, 1, 0); });
  multiply("lt_again", {.has_bias = true, .has_relu = true},
           [&] { return matmul(relu_bias, 1, 0); });
  Lt device_scalars = descriptors(kNone);
  const int device_mode = 1;
  cublasLtMatmulDescSetAttribute(device_scalars.operation, 2, &device_mode, sizeof device_mode);
  multiply("lt_device_scalars", {},
           [&] { return matmul(device_scalars, kOnDevice, kOnDevice, nullptr); });
  multiply("lt_aux", {.has_relu = true}, [&] { return matmul(descriptors(kReluAux), 1, 0); });
  Lt rows = descriptors(kNone);
  const int row_order = 1;
  cublasLtMatrixLayoutSetAttribute(rows.d, 1, &row_order, sizeof row_order);
  multiply("lt_row_order", {}, [&] { return matmul(rows, 1, 0); });
  // Results of cublasLtMatmulAlgoGetHeuristic have 96 bytes and begin with the algorithm.
  std::vector<char> results(2 * 96);
  int returned = 0;
  const auto propose = [&](int requested) {
    cublasLtMatmulAlgoGetHeuristic(handle_, plain.operation, plain.a, plain.b, plain.c, plain.d,
                                   nullptr, requested, results.data(), &returned);
  };
  multiply("lt_unknown_algorithm", {.alpha = 0.5F, .beta = -1},
           [&] { return matmul(plain, 0.5F, -1, results.data()); });
  propose(1);
  multiply("lt_proposed", {.alpha = 0.5F, .beta = -1},
           [&] { return matmul(plain, 0.5F, -1, results.data()); });
  propose(2);
  multiply("lt_timed_by_program", {.alpha = 0.5F, .beta = -1},
           [&] { return matmul(plain, 0.5F, -1, results.data()); });
}

// A product that is first asked for in a capture is passed; a known one is captured and replayed.
void Program::captures() {
  CUstream stream = nullptr;
  driver_.find<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, 1);
  cublasSetStream_v2(handle_, stream);
  const auto captured = [&](const std::string& name, int transpose) {
    multiply(name, {.transpose_a = transpose != 0, .transpose_b = transpose != 0}, [&] {
      CUgraph graph = nullptr;
      CUgraphExec executable = nullptr;
      driver_.find<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2")(
          stream, CUstreamCaptureMode{});
      const int status = gemm(transpose, transpose, &one_, &zero_, on_.d);
      driver_.find<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, &graph);
      driver_.find<CUresult(CUgraphExec*, CUgraph, unsigned long long)>(
          "cuGraphInstantiateWithFlags")(&executable, graph, 0);
      driver_.find<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch")(executable, stream);
      return status;
    });
  };
  captured("captured", 0);
  captured("first_in_capture", 1);
}

}  // namespace

int main() {
  const Driver driver;
  CUcontext context = nullptr;
  driver.find<CUresult(unsigned)>("cuInit")(0);
  driver.find<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, 0);
  driver.find<CUresult(CUcontext)>("cuCtxPushCurrent_v2")(context);
  Program program(driver);
  program.beside_a_capture();
  program.classic();
  program.lt();
  program.captures();
  return 0;
}

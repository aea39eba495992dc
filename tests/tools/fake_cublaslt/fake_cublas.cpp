#include "tests/tools/fake_cublaslt/fake_cublas.h"

#include <cstring>

// These names are from the manual.
#pragma GCC visibility push(default)

namespace {

using tunedgemm::internal::FakeProduct;

constexpr int kCompute64F = 70, kCompute32I = 72;

FakeProduct last_product;
bool has_stream = false, has_workspace = false;

double scalar(const void* value, int compute) {
  const auto read = [&](auto number) {
    std::memcpy(&number, value, sizeof number);
    return static_cast<double>(number);
  };
  return compute == kCompute64F   ? read(double{})
         : compute == kCompute32I ? read(std::int32_t{})
                                  : read(float{});
}

}  // namespace

extern "C" {

const FakeProduct* fake_cublas_last_product() {
  return &last_product;
}

int cublasCreate_v2(void** handle) {
  *handle = &last_product;
  return 0;
}
int cublasDestroy_v2(void*) {
  return 0;
}
int cublasSetStream_v2(void*, void*) {
  has_stream = true;
  has_workspace = false;
  return 0;
}
int cublasSetWorkspace_v2(void*, void* workspace, std::size_t bytes) {
  has_workspace = workspace != nullptr && bytes > 0;
  return 0;
}

int cublasGemmEx_64(void*, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n,
                    std::int64_t k, const void* alpha, const void* a, int type_a, std::int64_t lda,
                    const void* b, int type_b, std::int64_t ldb, const void* beta, void* c,
                    int type_c, std::int64_t ldc, int compute, int algorithm) {
  last_product = {.is_batched = false,
                  .numbers = {transpose_a, transpose_b, m, n, k, type_a, lda, type_b, ldb, type_c,
                              ldc, compute, algorithm},
                  .alpha = scalar(alpha, compute),
                  .beta = scalar(beta, compute),
                  .a = a,
                  .b = b,
                  .c = c,
                  .is_prepared = has_stream && has_workspace};
  has_stream = has_workspace = false;
  return 0;
}

int cublasGemmStridedBatchedEx_64(void* handle, int transpose_a, int transpose_b, std::int64_t m,
                                  std::int64_t n, std::int64_t k, const void* alpha, const void* a,
                                  int type_a, std::int64_t lda, long long batch_stride_a,
                                  const void* b, int type_b, std::int64_t ldb,
                                  long long batch_stride_b, const void* beta, void* c, int type_c,
                                  std::int64_t ldc, long long batch_stride_c, std::int64_t batch,
                                  int compute, int algorithm) {
  cublasGemmEx_64(handle, transpose_a, transpose_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb,
                  beta, c, type_c, ldc, compute, algorithm);
  last_product.is_batched = true;
  for (const long long number : {batch_stride_a, batch_stride_b, batch_stride_c}) {
    last_product.numbers.push_back(number);
  }
  last_product.numbers.push_back(batch);
  return 0;
}

}  // extern "C"

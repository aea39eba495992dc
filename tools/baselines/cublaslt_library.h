#pragma once

// CublasLtLibrary: libcublasLt and the libcublas beside it, opened at run time, as a table of
// functions with the manual's names.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/front/cublas_types.h"

namespace tunedgemm::internal {
// The functions, and the libraries' handles.
class CublasLtLibrary {
 public:
  using Status = cublas::Status;
  using Handle = cublas::Handle;
  using Operation = cublas::Operation;
  using Layout = cublas::Layout;
  using Preference = cublas::Preference;
  using Algorithm = cublas::Algorithm;
  using HeuristicResult = cublas::HeuristicResult;

  /// Null if the library is missing or unusable; `why_not` then gets the reason.
  static std::unique_ptr<CublasLtLibrary> open(std::string* why_not);
  ~CublasLtLibrary() {
    if (cublas != nullptr) {
      cublasDestroy_v2(cublas);
    }
    if (handle != nullptr) {
      cublasLtDestroy(handle);
    }
  }
  CublasLtLibrary(const CublasLtLibrary&) = delete;
  CublasLtLibrary& operator=(const CublasLtLibrary&) = delete;

  Handle handle = nullptr;
  Handle cublas = nullptr;  ///< of libcublas; null if none of this version lies beside libcublasLt
  // NOLINTBEGIN(readability-identifier-naming): the manual's names
  Status (*cublasLtCreate)(Handle*) = nullptr;
  Status (*cublasLtDestroy)(Handle) = nullptr;
  std::size_t (*cublasLtGetVersion)() = nullptr;
  Status (*cublasLtMatmulDescCreate)(Operation*, int compute, int scale_type) = nullptr;
  Status (*cublasLtMatmulDescDestroy)(Operation) = nullptr;
  Status (*cublasLtMatmulDescSetAttribute)(Operation, int, const void*, std::size_t) = nullptr;
  Status (*cublasLtMatrixLayoutCreate)(Layout*, int type, std::uint64_t rows, std::uint64_t columns,
                                       std::int64_t leading_dimension) = nullptr;
  Status (*cublasLtMatrixLayoutDestroy)(Layout) = nullptr;
  Status (*cublasLtMatrixLayoutSetAttribute)(Layout, int, const void*, std::size_t) = nullptr;
  Status (*cublasLtMatmulPreferenceCreate)(Preference*) = nullptr;
  Status (*cublasLtMatmulPreferenceDestroy)(Preference) = nullptr;
  Status (*cublasLtMatmulPreferenceSetAttribute)(Preference, int, const void*,
                                                 std::size_t) = nullptr;
  Status (*cublasLtMatmulAlgoGetHeuristic)(Handle, Operation, Layout a, Layout b, Layout c,
                                           Layout d, Preference, int requested, HeuristicResult*,
                                           int* returned) = nullptr;
  Status (*cublasLtMatmul)(Handle, Operation, const void* alpha, const void* a, Layout,
                           const void* b, Layout, const void* beta, const void* c, Layout, void* d,
                           Layout, const Algorithm*, void* workspace, std::size_t workspace_bytes,
                           void* stream) = nullptr;
  Status (*cublasCreate_v2)(Handle*) = nullptr;
  Status (*cublasDestroy_v2)(Handle) = nullptr;
  Status (*cublasSetStream_v2)(Handle, void* stream) = nullptr;
  Status (*cublasSetWorkspace_v2)(Handle, void* workspace, std::size_t bytes) = nullptr;
  using Extent = std::int64_t;
  Status (*cublasGemmEx_64)(Handle, int transpose_a, int transpose_b, Extent m, Extent n, Extent k,
                            const void* alpha, const void* a, int type_a, Extent lda, const void* b,
                            int type_b, Extent ldb, const void* beta, void* c, int type_c,
                            Extent ldc, int compute, int algorithm) = nullptr;
  Status (*cublasGemmStridedBatchedEx_64)(Handle, int transpose_a, int transpose_b, Extent m,
                                          Extent n, Extent k, const void* alpha, const void* a,
                                          int type_a, Extent lda, long long stride_a, const void* b,
                                          int type_b, Extent ldb, long long stride_b,
                                          const void* beta, void* c, int type_c, Extent ldc,
                                          long long stride_c, Extent batch, int compute,
                                          int algorithm) = nullptr;
  // NOLINTEND(readability-identifier-naming)

 private:
  CublasLtLibrary() = default;

  bool find_functions(void* opened);
  void open_cublas();
};

}  // namespace tunedgemm::internal

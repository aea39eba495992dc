#include "tools/baselines/cublaslt_library.h"

#include <dlfcn.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {

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
        "there is no cuBLASLt: install a CUDA toolkit, or name libcublasLt.so by "
        "TUNEDGEMM_CUBLASLT";
    return nullptr;
  }
  auto library = std::unique_ptr<CublasLtLibrary>(new CublasLtLibrary);
  if (!library->find_functions(opened)) {
    *why_not = "the cuBLASLt that was found lacks a function; versions 12 and 13 are known";
    return nullptr;
  }
  if (const Status status = library->cublasLtCreate(&library->handle); status != 0) {
    *why_not = "cublasLtCreate failed with status " + std::to_string(status);
    return nullptr;
  }
  return library;
}

bool CublasLtLibrary::find_functions(void* opened) {
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
    return function != nullptr;
  };
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

}  // namespace tunedgemm::internal

#include "tests/tools/fake_cublaslt/fake_cublaslt.h"

#include <cstring>

#include "tools/baselines/cublaslt_library.h"

// The names are the manual's.
#pragma GCC visibility push(default)

namespace {

using namespace tunedgemm::internal;
using namespace tunedgemm::internal::cublaslt;

constexpr int kScaleOfA = 17, kScaleOfB = 18;
constexpr Status kNotSupported = 15;

FakeCall last_call;

Status make(void** made, FakeAttributes attributes) {
  *made = new FakeAttributes(std::move(attributes));  // freed by destroy()
  return 0;
}

Status destroy(void* made) {
  delete static_cast<FakeAttributes*>(made);
  return 0;
}

Status set(void* made, int which, const void* value, std::size_t bytes) {
  std::int64_t number = 0;
  std::memcpy(&number, value, bytes);
  (*static_cast<FakeAttributes*>(made))[which] = number;
  return 0;
}

const FakeAttributes& get(const void* made) {
  return *static_cast<const FakeAttributes*>(made);
}

}  // namespace

extern "C" {

const FakeCall* fake_cublaslt_last_call() {
  return &last_call;
}

Status cublasLtCreate(Handle* handle) {
  *handle = &last_call;
  return 0;
}
Status cublasLtDestroy(Handle) {
  return 0;
}
std::size_t cublasLtGetVersion() {
  return 130100;
}
Status cublasLtMatmulDescCreate(Operation* made, int, int) {
  return make(made, {});
}
Status cublasLtMatrixLayoutCreate(Layout* made, int type, std::uint64_t rows, std::uint64_t columns,
                                  std::int64_t leading_dimension) {
  return make(made, {{kFakeType, type},
                     {kFakeRows, static_cast<std::int64_t>(rows)},
                     {kFakeColumns, static_cast<std::int64_t>(columns)},
                     {kFakeStride, leading_dimension}});
}
Status cublasLtMatmulPreferenceCreate(Preference* made) {
  return make(made, {});
}
Status cublasLtMatmulDescDestroy(Operation made) {
  return destroy(made);
}
Status cublasLtMatrixLayoutDestroy(Layout made) {
  return destroy(made);
}
Status cublasLtMatmulPreferenceDestroy(Preference made) {
  return destroy(made);
}
Status cublasLtMatmulDescSetAttribute(Operation made, int which, const void* value,
                                      std::size_t bytes) {
  return set(made, which, value, bytes);
}
Status cublasLtMatrixLayoutSetAttribute(Layout made, int which, const void* value,
                                        std::size_t bytes) {
  return set(made, which, value, bytes);
}
Status cublasLtMatmulPreferenceSetAttribute(Preference made, int which, const void* value,
                                            std::size_t bytes) {
  return set(made, which, value, bytes);
}

Status cublasLtMatmulAlgoGetHeuristic(Handle, Operation operation, Layout a, Layout b, Layout c,
                                      Layout d, Preference preference, int asked,
                                      HeuristicResult* results, int* given) {
  last_call.operation = get(operation);
  last_call.preference = get(preference);
  last_call.layouts = {get(a), get(b), get(c), get(d)};
  *given = 0;
  if (last_call.operation.contains(kScaleOfA) || last_call.operation.contains(kScaleOfB)) {
    return kNotSupported;
  }
  for (; *given < asked && *given < 2; ++*given) {
    results[*given] = HeuristicResult{};
  }
  return 0;
}

Status cublasLtMatmul(Handle, Operation, const void* alpha, const void*, Layout, const void*,
                      Layout, const void*, const void*, Layout, void*, Layout, const Algorithm*,
                      void*, std::size_t, void*) {
  std::memcpy(&last_call.alpha, alpha, sizeof last_call.alpha);
  return 0;
}

}  // extern "C"

#include "tests/tools/fake_cublaslt/fake_cublaslt.h"

#include <cstring>

#include "tools/baselines/cublaslt_library.h"

// These names are from the manual.
#pragma GCC visibility push(default)

namespace {

using namespace tunedgemm::internal;
using namespace tunedgemm::internal::cublas;

FakeCall last_call;

Status create(void** object, FakeAttributes attributes) {
  *object = new FakeAttributes(std::move(attributes));  // freed by destroy()
  return 0;
}

Status destroy(void* object) {
  delete static_cast<FakeAttributes*>(object);
  return 0;
}

Status set(void* object, int which, const void* value, std::size_t bytes) {
  std::int64_t number = 0;
  std::memcpy(&number, value, bytes);
  (*static_cast<FakeAttributes*>(object))[which] = number;
  return 0;
}

const FakeAttributes& get(const void* object) {
  return *static_cast<const FakeAttributes*>(object);
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
Status cublasLtMatmulDescCreate(Operation* object, int, int) {
  return create(object, {});
}
Status cublasLtMatrixLayoutCreate(Layout* object, int type, std::uint64_t rows,
                                  std::uint64_t columns, std::int64_t leading_dimension) {
  return create(object, {{kFakeType, type},
                         {kFakeRows, static_cast<std::int64_t>(rows)},
                         {kFakeColumns, static_cast<std::int64_t>(columns)},
                         {kFakeStride, leading_dimension}});
}
Status cublasLtMatmulPreferenceCreate(Preference* object) {
  return create(object, {});
}
Status cublasLtMatmulDescDestroy(Operation object) {
  return destroy(object);
}
Status cublasLtMatrixLayoutDestroy(Layout object) {
  return destroy(object);
}
Status cublasLtMatmulPreferenceDestroy(Preference object) {
  return destroy(object);
}
Status cublasLtMatmulDescSetAttribute(Operation object, int which, const void* value,
                                      std::size_t bytes) {
  return set(object, which, value, bytes);
}
Status cublasLtMatrixLayoutSetAttribute(Layout object, int which, const void* value,
                                        std::size_t bytes) {
  return set(object, which, value, bytes);
}
Status cublasLtMatmulPreferenceSetAttribute(Preference object, int which, const void* value,
                                            std::size_t bytes) {
  return set(object, which, value, bytes);
}

Status cublasLtMatmulAlgoGetHeuristic(Handle, Operation operation, Layout a, Layout b, Layout c,
                                      Layout d, Preference preference, int requested,
                                      HeuristicResult* results, int* returned) {
  last_call.operation = get(operation);
  last_call.preference = get(preference);
  last_call.layouts = {get(a), get(b), get(c), get(d)};
  *returned = 0;
  const auto& operation_set = last_call.operation;
  const bool has_scales =
      operation_set.contains(kScalePointerA) || operation_set.contains(kScalePointerB);
  if (has_scales && !(operation_set.contains(kScaleModeA) && operation_set.contains(kScaleModeB))) {
    return kNotSupported;
  }
  for (; *returned < requested && *returned < 2; ++*returned) {
    results[*returned] = HeuristicResult{};
  }
  return 0;
}

Status cublasLtMatmul(Handle, Operation operation, const void* alpha, const void*, Layout,
                      const void*, Layout, const void*, const void*, Layout, void*, Layout,
                      const Algorithm*, void*, std::size_t, void*) {
  std::memcpy(&last_call.alpha, alpha, sizeof last_call.alpha);
  last_call.operation = get(operation);
  return 0;
}

}  // extern "C"

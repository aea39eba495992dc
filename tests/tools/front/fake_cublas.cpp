// A libcublas.so.13 with the functions that the preloaded library answers or uses. It computes
// nothing and counts the products that reach it. As in the real library, cublasGemmEx calls
// cublasLtMatmul through the dynamic symbol.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// The manual's names.
#pragma GCC visibility push(default)

namespace {

struct HandleState {
  void* stream;
  int pointer_mode, math_mode, sm_count;
};

// As large as the real ones, and compared as bytes.
struct Descriptor {
  std::array<std::uint64_t, 32> words;
};
struct Layout {
  std::array<std::uint64_t, 8> words;
};

int products = 0;

// Attributes above 31 have the words of numbers that are not in use.
std::size_t word_of(int which) {
  return static_cast<std::size_t>(which == 32 ? 27 : which == 36 ? 28 : which == 38 ? 29 : which);
}

int count_product() {
  ++products;
  return 0;
}

}  // namespace

extern "C" {

int fake_cublas_products() {
  return products;
}

int cublasCreate_v2(void** handle) {
  *handle = new HandleState();
  return 0;
}
int cublasDestroy_v2(void* handle) {
  delete static_cast<HandleState*>(handle);
  return 0;
}
int cublasSetStream_v2(void* handle, void* stream) {
  static_cast<HandleState*>(handle)->stream = stream;
  return 0;
}
int cublasGetStream_v2(void* handle, void** stream) {
  *stream = static_cast<HandleState*>(handle)->stream;
  return 0;
}
int cublasSetPointerMode_v2(void* handle, int mode) {
  static_cast<HandleState*>(handle)->pointer_mode = mode;
  return 0;
}
int cublasGetPointerMode_v2(void* handle, int* mode) {
  *mode = static_cast<HandleState*>(handle)->pointer_mode;
  return 0;
}
int cublasSetMathMode(void* handle, int mode) {
  static_cast<HandleState*>(handle)->math_mode = mode;
  return 0;
}
int cublasGetMathMode(void* handle, int* mode) {
  *mode = static_cast<HandleState*>(handle)->math_mode;
  return 0;
}
int cublasSetSmCountTarget(void* handle, int count) {
  static_cast<HandleState*>(handle)->sm_count = count;
  return 0;
}
int cublasGetSmCountTarget(void* handle, int* count) {
  *count = static_cast<HandleState*>(handle)->sm_count;
  return 0;
}

std::size_t cublasLtGetVersion() {
  const char* const other = std::getenv("FAKE_CUBLAS_VERSION");
  return other == nullptr ? 130100 : std::strtoul(other, nullptr, 10);
}
int cublasLtMatmulDescCreate(void** created, int compute, int scale_type) {
  auto* const descriptor = new Descriptor();
  descriptor->words[0] = static_cast<std::uint64_t>(compute);
  descriptor->words[1] = static_cast<std::uint64_t>(scale_type);
  descriptor->words[6] = 2;
  descriptor->words[7] = 1;
  descriptor->words[26] = 0xffffffff;
  *created = descriptor;
  return 0;
}
int cublasLtMatmulDescDestroy(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return 0;
}
int cublasLtMatmulDescSetAttribute(void* descriptor, int which, const void* value,
                                   std::size_t bytes) {
  std::memcpy(&static_cast<Descriptor*>(descriptor)->words[word_of(which)], value, bytes);
  return 0;
}
int cublasLtMatmulDescGetAttribute(void* descriptor, int which, void* value, std::size_t bytes,
                                   std::size_t* written) {
  std::memcpy(value, &static_cast<Descriptor*>(descriptor)->words[word_of(which)], bytes);
  *written = bytes;
  return 0;
}
int cublasLtMatrixLayoutCreate(void** created, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading_dimension) {
  auto* const layout = new Layout();
  layout->words = {static_cast<std::uint64_t>(type),
                   0,
                   rows,
                   columns,
                   static_cast<std::uint64_t>(leading_dimension),
                   1};
  *created = layout;
  return 0;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int which, const void* value,
                                     std::size_t bytes) {
  std::memcpy(&static_cast<Layout*>(layout)->words[static_cast<std::size_t>(which)], value, bytes);
  return 0;
}
int cublasLtMatrixLayoutGetAttribute(void* layout, int which, void* value, std::size_t bytes,
                                     std::size_t* written) {
  if (which > 7) {
    return 7;  // this version has no such attribute
  }
  std::memcpy(value, &static_cast<Layout*>(layout)->words[static_cast<std::size_t>(which)], bytes);
  *written = bytes;
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int requested,
                                   void* results, int* returned) {
  constexpr std::size_t kResultBytes = 96;
  std::memset(results, 0, kResultBytes * static_cast<std::size_t>(requested));
  for (int index = 0; index < requested; ++index) {
    // Proposals of lists differ from those that are asked for alone.
    static_cast<char*>(results)[kResultBytes * static_cast<std::size_t>(index)] =
        static_cast<char>(requested > 1 ? index + 1 : 0);
  }
  *returned = requested;
  return 0;
}
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const void*, void*, std::size_t, void*) {
  return count_product();
}

int cublasGemmEx(void* handle, int, int, int, int, int, const void* alpha, const void* a, int, int,
                 const void* b, int, int, const void* beta, void* c, int, int, int, int) {
  return cublasLtMatmul(handle, nullptr, alpha, a, nullptr, b, nullptr, beta, c, nullptr, c,
                        nullptr, nullptr, nullptr, 0, nullptr);
}
int cublasGemmEx_64(void*, int, int, std::int64_t, std::int64_t, std::int64_t, const void*,
                    const void*, int, std::int64_t, const void*, int, std::int64_t, const void*,
                    void*, int, std::int64_t, int, int) {
  return count_product();
}
int cublasGemmStridedBatchedEx(void*, int, int, int, int, int, const void*, const void*, int, int,
                               long long, const void*, int, int, long long, const void*, void*, int,
                               int, long long, int, int, int) {
  return count_product();
}
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                   int, const float*, float*, int) {
  return count_product();
}
int cublasDgemm_v2(void*, int, int, int, int, int, const double*, const double*, int, const double*,
                   int, const double*, double*, int) {
  return count_product();
}
int cublasSgemmStridedBatched(void*, int, int, int, int, int, const float*, const float*, int,
                              long long, const float*, int, long long, const float*, float*, int,
                              long long, int) {
  return count_product();
}
int cublasDgemmStridedBatched(void*, int, int, int, int, int, const double*, const double*, int,
                              long long, const double*, int, long long, const double*, double*, int,
                              long long, int) {
  return count_product();
}

}  // extern "C"

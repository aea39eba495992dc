// The products of BLAS that this library answers on the CPU, for programs that start with it
// preloaded: those of CBLAS and of Fortran, under the plain names and those of the wheels of numpy
// and scipy.

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "runtime/front/front.h"
#include "runtime/front/next_function.h"
#include "runtime/front/openblas_names.h"

namespace tunedgemm::internal {
namespace {

// The loaded BLAS. Only OpenBLAS tells its version and its threads.
struct Library {
  int (*threads)() = nullptr;
  FrontVendor vendor;

  explicit Library(const void* function) {
    void* const opened = library_with(function);
    Dl_info info{};
    if (opened == nullptr || dladdr(function, &info) == 0) {
      return;
    }
    vendor.version = "the BLAS " + std::string(info.dli_fname);
    OpenBlasNames names;
    if (find_openblas(opened, names)) {
      threads = names.threads;
      vendor.version = "OpenBLAS " + names.version();
      vendor.tuning = "TUNEDGEMM_OPENBLAS=" + std::string(info.dli_fname) +
                      " TUNEDGEMM_THREADS=" + std::to_string(names.threads()) +
                      " tune-all --device host --from-requests --against openblas";
    }
  }
};

// With how many the other library would compute the thread's call; 0: unknown.
thread_local int threads_of_call = 0;

// A number of threads is a device: kernels are tuned for it.
class Cpu final : public FrontDevices {
 public:
  const void* current() const noexcept override {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): only compared
    return reinterpret_cast<const void*>(std::intptr_t{threads_of_call});
  }
  bool describe_current(tunedgemm_context_options& options) const override {
    options.backend = TUNEDGEMM_BACKEND_HOST;
    options.host_threads = threads_of_call;
    return threads_of_call > 0;
  }
  // Our threads sleep when they have waited for 30 us, and those of OpenBLAS for milliseconds.
  double pause_us() const noexcept override { return threads_of_call > 1 ? 50 : 0; }
};

template <class Element>
struct Gemm {
  bool is_row_major, is_a_transposed, is_b_transposed;
  std::int64_t m, n, k;
  Element alpha;
  const Element* a;
  std::int64_t lda;
  const Element* b;
  std::int64_t ldb;
  Element beta;
  Element* c;
  std::int64_t ldc;
};

template <class Element>
FrontCall translated(const Gemm<Element>& gemm) {
  const auto order = [&](bool is_transposed) {
    return gemm.is_row_major != is_transposed ? TUNEDGEMM_ORDER_ROW_MAJOR
                                              : TUNEDGEMM_ORDER_COLUMN_MAJOR;
  };
  FrontCall call;
  tunedgemm_problem& problem = call.problem;
  problem.m = gemm.m, problem.n = gemm.n, problem.k = gemm.k;
  problem.type_a = problem.type_b = problem.type_d =
      sizeof(Element) == sizeof(double) ? TUNEDGEMM_TYPE_F64 : TUNEDGEMM_TYPE_F32;
  problem.order_a = order(gemm.is_a_transposed), problem.order_b = order(gemm.is_b_transposed);
  problem.order_c = problem.order_d = order(false);
  problem.lda = gemm.lda, problem.ldb = gemm.ldb, problem.ldc = problem.ldd = gemm.ldc;
  call.buffers.a = gemm.a, call.buffers.b = gemm.b;
  call.buffers.c = gemm.c, call.buffers.d = gemm.c;
  call.buffers.alpha = static_cast<double>(gemm.alpha);
  call.buffers.beta = static_cast<double>(gemm.beta);
  return call;
}

// Answers the call, or passes it on.
template <class Found, class Element, class Pass>
void answer(const Found& next, const Gemm<Element>& gemm, Pass pass) {
  if (next.function == nullptr) {
    return;
  }
  static Cpu& cpu = *new Cpu;  // calls may come during exit
  Front& front = Front::of_process(cpu);
  if (!InsideVendor::is_inside() && front.mode() != FrontMode::kOff) {
    threads_of_call = next.library.threads == nullptr ? 0 : next.library.threads();
    const FrontCall call = translated(gemm);
    FrontProduct* const product =
        gemm.m < 1 || gemm.n < 1 || gemm.k < 1 ? nullptr : front.product_of(call);
    if (product == nullptr) {
      front.count_untranslated();
    } else if (front.answer(*product, call.buffers, nullptr, next.library.vendor)) {
      return;
    }
  }
  const InsideVendor inside;
  pass(next.function);
}

constexpr int kRowMajor = 101, kNotTransposed = 111;

bool is_transposed(const char* transpose) {
  return *transpose != 'N' && *transpose != 'n';
}

}  // namespace
}  // namespace tunedgemm::internal

using namespace tunedgemm::internal;

// NOLINTBEGIN(readability-identifier-naming): names of BLAS
// NOLINTBEGIN(bugprone-macro-parentheses): declarations
#pragma GCC visibility push(default)
extern "C" {

// `Int` is 64 bits wide in libraries whose names end in 64_. Wrong arguments are passed on, since
// the library reports them in its own way.
#define TUNEDGEMM_CBLAS(name, Int, Element)                                                      \
  TUNEDGEMM_ANSWER(                                                                              \
      void, name,                                                                                \
      (int order, int transpose_a, int transpose_b, Int m, Int n, Int k, Element alpha,          \
       const Element* a, Int lda, const Element* b, Int ldb, Element beta, Element* c, Int ldc), \
      (order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),           \
      Gemm<Element>, order == kRowMajor, transpose_a != kNotTransposed,                          \
      transpose_b != kNotTransposed, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
TUNEDGEMM_CBLAS(cblas_sgemm, std::int32_t, float)
TUNEDGEMM_CBLAS(cblas_dgemm, std::int32_t, double)
TUNEDGEMM_CBLAS(cblas_sgemm64_, std::int64_t, float)
TUNEDGEMM_CBLAS(cblas_dgemm64_, std::int64_t, double)
TUNEDGEMM_CBLAS(scipy_cblas_sgemm, std::int32_t, float)
TUNEDGEMM_CBLAS(scipy_cblas_dgemm, std::int32_t, double)
TUNEDGEMM_CBLAS(scipy_cblas_sgemm64_, std::int64_t, float)
TUNEDGEMM_CBLAS(scipy_cblas_dgemm64_, std::int64_t, double)

// Fortran also passes the lengths of the texts, which no library reads.
#define TUNEDGEMM_FORTRAN(name, Int, Element)                                                      \
  TUNEDGEMM_ANSWER(                                                                                \
      void, name,                                                                                  \
      (const char* transpose_a, const char* transpose_b, const Int* m, const Int* n, const Int* k, \
       const Element* alpha, const Element* a, const Int* lda, const Element* b, const Int* ldb,   \
       const Element* beta, Element* c, const Int* ldc),                                           \
      (transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), Gemm<Element>,     \
      false, is_transposed(transpose_a), is_transposed(transpose_b), *m, *n, *k, *alpha, a, *lda,  \
      b, *ldb, *beta, c, *ldc)
TUNEDGEMM_FORTRAN(sgemm_, std::int32_t, float)
TUNEDGEMM_FORTRAN(dgemm_, std::int32_t, double)
TUNEDGEMM_FORTRAN(sgemm_64_, std::int64_t, float)
TUNEDGEMM_FORTRAN(dgemm_64_, std::int64_t, double)
TUNEDGEMM_FORTRAN(scipy_sgemm_, std::int32_t, float)
TUNEDGEMM_FORTRAN(scipy_dgemm_, std::int32_t, double)
TUNEDGEMM_FORTRAN(scipy_sgemm_64_, std::int64_t, float)
TUNEDGEMM_FORTRAN(scipy_dgemm_64_, std::int64_t, double)

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(bugprone-macro-parentheses)
// NOLINTEND(readability-identifier-naming)

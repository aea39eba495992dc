// OpenBLAS as a baseline.

#include <dlfcn.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "kernel_templates/base/environment.h"
#include "runtime/front/openblas_names.h"
#include "tools/baselines/baseline.h"

namespace tunedgemm::internal {
namespace {

// CBLAS's cblas_?gemm. Libraries with extents of 32 bits read the lower halves of these arguments:
// each has a register, or a place of 64 bits, of its own.
template <class Element>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n,
                      std::int64_t k, Element alpha, const Element* a, std::int64_t lda,
                      const Element* b, std::int64_t ldb, Element beta, Element* c,
                      std::int64_t ldc);

// The library is never closed, because its threads would crash.
struct Library {
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  OpenBlasNames names;
};

constexpr int kRowMajor = 101, kNotTransposed = 111, kTransposed = 112;

template <class Element>
class Product final : public CompiledKernel {
 public:
  Product(Gemm<Element> gemm, const Problem& problem) : gemm_(gemm), problem_(problem) {}

  int run(const Launch&, const Arguments& arguments, StreamHandle) const noexcept override {
    const auto* a = static_cast<const Element*>(arguments.a);
    const auto* b = static_cast<const Element*>(arguments.b);
    auto* d = static_cast<Element*>(arguments.d);
    for (long long index = 0; index < arguments.batch; ++index) {
      gemm_(kRowMajor, transposed(problem_.a), transposed(problem_.b), arguments.m, arguments.n,
            arguments.k, static_cast<Element>(arguments.alpha),
            a + index * arguments.batch_stride_a, arguments.lda,
            b + index * arguments.batch_stride_b, arguments.ldb,
            static_cast<Element>(arguments.beta), d + index * arguments.batch_stride_d,
            arguments.ldd);
    }
    return 0;
  }

 private:
  static int transposed(const Matrix& matrix) {
    return matrix.order == Order::kRowMajor ? kNotTransposed : kTransposed;
  }

  Gemm<Element> gemm_;
  Problem problem_;
};

std::string why_not_openblas(const Problem& problem) {
  if (problem.group_kind != GroupKind::kNone) {
    return "it has no grouped products";
  }
  const DataType type = problem.a.type;
  if (type != problem.b.type || type != problem.d.type ||
      (type != DataType::kF64 && (type != DataType::kF32 || problem.numerics != Numerics::kIeee))) {
    return "it has no multiplication of " + types_text(problem);
  }
  if (problem.bias != Bias::kNone || problem.activation != Activation::kNone) {
    return "it fuses neither bias nor activation";
  }
  if (problem.beta != ScalarClass::kZero && !problem.c_is_d) {
    return "it updates C in place, and this problem has a separate D";
  }
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  for (const std::int64_t extent : {problem.m, problem.n, problem.k, problem.a.leading_dimension,
                                    problem.b.leading_dimension, problem.d.leading_dimension}) {
    if (extent > kMost) {
      return std::to_string(extent) + " exceeds its 32-bit extents";
    }
  }
  return "";
}

class OpenBlas final : public Baseline {
 public:
  explicit OpenBlas(const Library& library) : library_(library) {}

  std::string name() const override { return "OpenBLAS"; }
  std::string version() const override { return library_.names.version(); }
  std::vector<Proposal> proposals(const VerifiedProblem& verified, int count,
                                  std::string* why_not) override;

 private:
  Library library_;
};

std::vector<Proposal> OpenBlas::proposals(const VerifiedProblem& verified, int count,
                                          std::string* why_not) {
  const Problem& problem = verified.problem;
  std::vector<Proposal> proposals;
  *why_not = why_not_openblas(problem);
  if (!why_not->empty() || count < 1) {
    return proposals;
  }
  std::unique_ptr<CompiledKernel> product;
  if (problem.a.type == DataType::kF32) {
    product = std::make_unique<Product<float>>(library_.sgemm, problem);
  } else {
    product = std::make_unique<Product<double>>(library_.dgemm, problem);
  }
  proposals.push_back({"openblas 0", std::move(product)});
  return proposals;
}

}  // namespace

std::unique_ptr<Baseline> open_openblas(int threads, std::string* why_not) {
  // OpenBLAS's idle threads spin for 2^28 cycles on cores that other contenders need. Let them spin
  // for 2^16 cycles, about 30 microseconds, as long as our threads.
  constexpr int kUnlessSet = 0;
  setenv("OPENBLAS_THREAD_TIMEOUT", "16", kUnlessSet);
  const std::string named = environment("TUNEDGEMM_OPENBLAS");
  const std::string path = named.empty() ? "libopenblas.so.0" : named;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    *why_not = path + " cannot be opened; install libopenblas0-pthread";
    return nullptr;
  }
  Library library;
  OpenBlasNames& names = library.names;
  if (!find_openblas(handle, names) || !names.find(handle, "cblas_sgemm", library.sgemm) ||
      !names.find(handle, "cblas_dgemm", library.dgemm)) {
    *why_not = path + " lacks a function of OpenBLAS; is it another library?";
    return nullptr;
  }
  names.set_threads(threads);
  return std::make_unique<OpenBlas>(library);
}

}  // namespace tunedgemm::internal

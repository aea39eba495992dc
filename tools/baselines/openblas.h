#pragma once

// OpenBlas: the CPU's BLAS as a contender of a benchmark, opened at run time where it is installed.

#include <memory>
#include <string>
#include <vector>

#include "tools/baselines/baseline.h"

namespace tunedgemm::internal {

/// Picks its kernels while it is loaded, by $OPENBLAS_CORETYPE or what it takes the CPU for.
class OpenBlas final : public Vendor {
 public:
  /// Null where libopenblas.so.0 cannot be opened; then `why_not` gets a sentence. It will compute
  /// with so many threads.
  static std::unique_ptr<OpenBlas> open(int threads, std::string* why_not);

  std::string name() const override { return "OpenBLAS"; }
  std::string version() const override;
  std::string short_name() const override { return "openblas"; }
  /// One, for f32 and f64 without a bias and an activation.
  std::vector<std::unique_ptr<CompiledKernel>> proposals(const Problem& problem, double scale,
                                                         int count, std::string* why_not) override;

 private:
  struct Library;
  explicit OpenBlas(std::shared_ptr<const Library> library) : library_(std::move(library)) {}

  std::shared_ptr<const Library> library_;
};

}  // namespace tunedgemm::internal

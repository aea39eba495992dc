#pragma once

// A product of two f32 matrices of small integers on the host, whose sums are exact; and a context
// on the host that tunes little.

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/calls/launch.h"
#include "runtime/context/context.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

inline std::unique_ptr<Context> host_context(const TemporaryFolder& folder, Policy policy) {
  ContextOptions options;
  options.backend = &host_backend();
  options.host_threads = 2;
  options.store.path = folder.path() / "cache.db";
  options.policy = policy;
  options.rigor = Rigor::kQuick;
  options.budget = {.seconds = 0.5, .candidates = 2};
  return Context::create(options);
}

class HostCall {
 public:
  HostCall(int m, int n, int k) : m_(m), n_(n), k_(k), a_(size(m, k)), b_(size(k, n)) {
    for (std::size_t index = 0; index < a_.size(); ++index) {
      a_[index] = static_cast<float>(index % 13) - 6;
    }
    for (std::size_t index = 0; index < b_.size(); ++index) {
      b_[index] = static_cast<float>(index % 7) - 3;
    }
    d_.resize(size(m, n));
  }

  /// Elements from memory that is aligned to 16 bytes to the matrices.
  std::ptrdiff_t offset = 0;

  tunedgemm_problem problem() const {
    tunedgemm_problem problem;
    tunedgemm_problem_init(&problem, m_, n_, k_, TUNEDGEMM_F32, TUNEDGEMM_F32, TUNEDGEMM_F32);
    return problem;
  }
  tunedgemm_buffers buffers() const {
    tunedgemm_buffers buffers;
    tunedgemm_buffers_init(&buffers);
    buffers.a = a_.data() + offset;
    buffers.b = b_.data() + offset;
    buffers.d = d_.data() + offset;
    return buffers;
  }
  CallKey key() const { return call_key(problem(), buffers()); }

  /// Launches the plan and looks at the result.
  bool is_right_with(const Plan& plan) const {
    std::fill(d_.begin(), d_.end(), std::nanf(""));
    return why_not_buffers(plan, buffers()).empty() && launch(plan, buffers(), nullptr) == 0 &&
           is_right();
  }
  bool is_right() const {
    const float *a = a_.data() + offset, *b = b_.data() + offset, *d = d_.data() + offset;
    for (int row = 0; row < m_; ++row) {
      for (int column = 0; column < n_; ++column) {
        double sum = 0;
        for (int inner = 0; inner < k_; ++inner) {
          sum += static_cast<double>(a[row * k_ + inner]) *
                 static_cast<double>(b[inner * n_ + column]);
        }
        if (!(static_cast<double>(d[row * n_ + column]) == sum)) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  static std::size_t size(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) + 4;
  }

  int m_, n_, k_;
  std::vector<float> a_, b_;
  mutable std::vector<float> d_;
};

}  // namespace tunedgemm::internal

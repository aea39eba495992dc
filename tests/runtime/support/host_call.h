#pragma once

// A product of two f32 matrices of small integers on the host, with exact sums; and a host context
// with a small tuning budget.

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/calls/arguments.h"
#include "runtime/calls/launch.h"
#include "runtime/context/context.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

inline ContextOptions host_options(const TemporaryFolder& folder, Policy policy) {
  ContextOptions options;
  options.backend = &host_backend();
  options.device.host_threads = 2;
  options.store.path = folder.path() / "cache.db";
  options.policy = policy;
  options.rigor = Rigor::kQuick;
  options.budget = {.seconds = 100, .candidates = 2};  // enough, however busy the machine is
  return options;
}

inline std::unique_ptr<Context> host_context(const TemporaryFolder& folder, Policy policy) {
  return Context::create(host_options(folder, policy));
}

class HostCall {
 public:
  HostCall(int m, int n, int k)
      : a(size(m, k)), b(size(k, n)), d(size(m, n), std::nanf("")), m_(m), n_(n), k_(k) {
    for (std::size_t index = 0; index < a.size(); ++index) {
      a[index] = static_cast<float>(index % 13) - 6;
    }
    for (std::size_t index = 0; index < b.size(); ++index) {
      b[index] = static_cast<float>(index % 7) - 3;
    }
  }

  std::vector<float> a, b;
  mutable std::vector<float> d;  ///< NaN before a launch
  /// The offset of the matrices, in elements, from an address aligned to 16 bytes.
  std::ptrdiff_t offset = 0;

  tunedgemm_problem problem() const { return {.m = m_, .n = n_, .k = k_}; }
  tunedgemm_buffers buffers() const {
    return {.a = a.data() + offset, .b = b.data() + offset, .d = d.data() + offset};
  }
  CallKey key() const { return call_key(problem(), buffers()); }
  CheckedCall checked() const { return checked_call(key()); }

  /// Launches the plan and checks the result.
  bool is_right_with(const Plan& plan) const {
    std::fill(d.begin(), d.end(), std::nanf(""));
    return why_not_buffers(plan, buffers()).empty() && launch(plan, buffers(), nullptr) == 0 &&
           is_right();
  }
  bool is_right() const {
    const tunedgemm_buffers given = buffers();
    const auto* left = static_cast<const float*>(given.a);
    const auto* right = static_cast<const float*>(given.b);
    const auto* result = static_cast<const float*>(given.d);
    for (int row = 0; row < m_; ++row) {
      for (int column = 0; column < n_; ++column) {
        double sum = 0;
        for (int inner = 0; inner < k_; ++inner) {
          sum += static_cast<double>(left[row * k_ + inner]) *
                 static_cast<double>(right[inner * n_ + column]);
        }
        if (!(static_cast<double>(result[row * n_ + column]) == sum)) {
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
};

}  // namespace tunedgemm::internal

#pragma once

// The C++20 face of tunedgemm.h: the same contracts, with defaults in place, owners that release
// and exceptions. Header-only over the C functions, so that it works with any compiler the library
// was not built with.
//
//     tunedgemm::tuned_matmul({.m = 512, .n = 128, .k = 256}, {.a = a, .b = b, .d = d});

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm {
// A namespace of its own, since the library has classes of the same names inside.
inline namespace v0 {

/// A status other than TUNEDGEMM_OK; what() is the sentence.
class Error : public std::runtime_error {
 public:
  explicit Error(tunedgemm_status status)
      : std::runtime_error(std::string(tunedgemm_status_name(status)) + ": " +
                           tunedgemm_error_message()),
        status_(status) {}
  tunedgemm_status status() const noexcept { return status_; }

 private:
  tunedgemm_status status_;
};

inline void check(tunedgemm_status status) {
  if (status != TUNEDGEMM_OK) {
    throw Error(status);
  }
}

/// The members of tunedgemm_context_options.
struct ContextOptions {
  tunedgemm_backend backend = TUNEDGEMM_BACKEND_AUTO;
  int ordinal = 0;
  int host_threads = 0;
  const char* cache_path = nullptr;
  tunedgemm_policy policy = TUNEDGEMM_POLICY_DEFAULT;
  tunedgemm_rigor rigor = TUNEDGEMM_RIGOR_DEFAULT;
  double tune_seconds = 0;
  int tune_candidates = 0;
};

/// The members of tunedgemm_problem: f32 and row-major, packed, unless set.
struct Problem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  tunedgemm_type type_a = TUNEDGEMM_F32, type_b = TUNEDGEMM_F32, type_d = TUNEDGEMM_F32;
  tunedgemm_order order_a = TUNEDGEMM_ROW_MAJOR, order_b = TUNEDGEMM_ROW_MAJOR;
  tunedgemm_order order_c = TUNEDGEMM_ROW_MAJOR, order_d = TUNEDGEMM_ROW_MAJOR;
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  std::int64_t batch_stride_a = 0, batch_stride_b = 0, batch_stride_c = 0, batch_stride_d = 0;
  tunedgemm_activation activation = TUNEDGEMM_ACTIVATION_NONE;
  tunedgemm_bias bias = TUNEDGEMM_BIAS_NONE;
  tunedgemm_numerics numerics = TUNEDGEMM_NUMERICS_DEFAULT;

  tunedgemm_problem c_struct() const noexcept {
    return {sizeof(tunedgemm_problem),
            m,
            n,
            k,
            batch,
            type_a,
            type_b,
            type_d,
            order_a,
            order_b,
            order_c,
            order_d,
            lda,
            ldb,
            ldc,
            ldd,
            batch_stride_a,
            batch_stride_b,
            batch_stride_c,
            batch_stride_d,
            activation,
            bias,
            numerics};
  }
};

/// The members of tunedgemm_buffers.
struct Buffers {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  double alpha = 1, beta = 0;
  float slope = 0.01f;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;

  tunedgemm_buffers c_struct() const noexcept {
    return {sizeof(tunedgemm_buffers),
            a,
            b,
            c,
            d,
            bias,
            scale_a,
            scale_b,
            alpha,
            beta,
            slope,
            workspace,
            workspace_bytes};
  }
};

/// Belongs to its context, which must outlive it. A plain value; shared by threads.
class Plan {
 public:
  explicit Plan(const tunedgemm_plan* plan) noexcept : plan_(plan) {}
  void run(const Buffers& buffers, void* stream = nullptr) const {
    const tunedgemm_buffers c_buffers = buffers.c_struct();
    check(tunedgemm_run(plan_, &c_buffers, stream));
  }
  std::size_t workspace_bytes() const noexcept { return tunedgemm_plan_workspace_bytes(plan_); }
  std::string_view description() const noexcept { return tunedgemm_plan_description(plan_); }

 private:
  const tunedgemm_plan* plan_;
};

/// One device and one cache. Move-only; shared by threads.
class Context {
 public:
  explicit Context(const ContextOptions& options = {}) {
    tunedgemm_context_options c_options;
    tunedgemm_context_options_init(&c_options);
    c_options.backend = options.backend;
    c_options.ordinal = options.ordinal;
    c_options.host_threads = options.host_threads;
    c_options.cache_path = options.cache_path;
    c_options.policy = options.policy;
    c_options.rigor = options.rigor;
    c_options.tune_seconds = options.tune_seconds;
    c_options.tune_candidates = options.tune_candidates;
    tunedgemm_context* made = nullptr;
    check(tunedgemm_context_create(&c_options, &made));
    context_.reset(made);
  }

  Plan plan(const Problem& problem, const Buffers& buffers) {
    const tunedgemm_problem c_problem = problem.c_struct();
    const tunedgemm_buffers c_buffers = buffers.c_struct();
    const tunedgemm_plan* made = nullptr;
    check(tunedgemm_plan_create(context_.get(), &c_problem, &c_buffers, &made));
    return Plan(made);
  }

  std::string report() {
    std::string text(tunedgemm_context_report(context_.get(), nullptr, 0), '\0');
    tunedgemm_context_report(context_.get(), text.data(), text.size());
    text.pop_back();
    return text;
  }

  tunedgemm_context* get() const noexcept { return context_.get(); }

 private:
  struct Destroy {
    void operator()(tunedgemm_context* context) const noexcept {
      tunedgemm_context_destroy(context);
    }
  };
  std::unique_ptr<tunedgemm_context, Destroy> context_;
};

/// D = act(alpha op(A) op(B) + beta C + bias) on the context's device; see tunedgemm_matmul.
inline void tuned_matmul(const Context& context, const Problem& problem, const Buffers& buffers,
                         void* stream = nullptr) {
  const tunedgemm_problem c_problem = problem.c_struct();
  const tunedgemm_buffers c_buffers = buffers.c_struct();
  check(tunedgemm_matmul(context.get(), &c_problem, &c_buffers, stream));
}

/// The same with the context of the process: the first GPU, or the host where there is none.
inline void tuned_matmul(const Problem& problem, const Buffers& buffers, void* stream = nullptr) {
  const tunedgemm_problem c_problem = problem.c_struct();
  const tunedgemm_buffers c_buffers = buffers.c_struct();
  check(tunedgemm_matmul(nullptr, &c_problem, &c_buffers, stream));
}

}  // namespace v0
}  // namespace tunedgemm

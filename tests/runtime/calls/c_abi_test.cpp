// Tests the binary interface of the C header, on which programs rely that were linked to an earlier
// version of the shared library.

#include <cstddef>
#include <string>
#include <type_traits>

#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.h"

// A member may be added at the end of a struct, which changes its size; nothing else may change. It
// begins at the old size and not in the padding before it, whose bytes an older caller did not set.

TEST_CASE("The layout of tunedgemm_context_options is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_context_options) == 56);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, backend) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, ordinal) == 12);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, host_threads) == 16);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, cache_path) == 24);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, policy) == 32);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, rigor) == 36);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, tune_seconds) == 40);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, tune_candidates) == 48);
  STATIC_REQUIRE(offsetof(tunedgemm_context_options, sm_limit) == 52);
}

TEST_CASE("The layout of tunedgemm_problem is stable") {
  STATIC_REQUIRE(std::has_unique_object_representations_v<tunedgemm_problem>);
  STATIC_REQUIRE(sizeof(tunedgemm_problem) == 168);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, m) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, n) == 16);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, k) == 24);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, batch) == 32);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, type_a) == 40);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, type_b) == 44);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, type_d) == 48);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, numerics) == 52);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_a) == 56);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_b) == 60);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_c) == 64);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_d) == 68);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, lda) == 72);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, ldb) == 80);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, ldc) == 88);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, ldd) == 96);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, batch_stride_a) == 104);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, batch_stride_b) == 112);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, batch_stride_c) == 120);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, batch_stride_d) == 128);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, activation) == 136);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, bias) == 140);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, invariant) == 144);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, sm_limit) == 148);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, scaling_a) == 152);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, scaling_b) == 156);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, group_kind) == 160);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, rows_per_group) == 164);
}

TEST_CASE("The layout of tunedgemm_buffers is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_buffers) == 160);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, a) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, b) == 16);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, c) == 24);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, d) == 32);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, bias) == 40);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_a) == 48);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_b) == 56);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, alpha) == 64);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, beta) == 72);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, slope) == 80);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, workspace) == 88);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, workspace_bytes) == 96);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_stride_a) == 104);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_stride_b) == 112);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_k_stride_a) == 120);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_k_stride_b) == 128);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_batch_stride_a) == 136);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, scale_batch_stride_b) == 144);
  STATIC_REQUIRE(offsetof(tunedgemm_buffers, groups) == 152);
}

TEST_CASE("The layout of tunedgemm_plan_info is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_plan_info) == 128);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, origin) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, candidates) == 12);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, median_us) == 16);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, low_us) == 24);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, high_us) == 32);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, default_us) == 40);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, naive_us) == 48);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, expected_loss) == 56);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, expected_us) == 64);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, tuned_m) == 72);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, workspace_bytes) == 80);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, tuned_at) == 88);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, spent_seconds) == 96);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, tuned_with) == 104);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, vendor_us) == 112);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_info, vendor) == 120);
}

TEST_CASE("The layout of tunedgemm_progress is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_progress) == 56);
  STATIC_REQUIRE(offsetof(tunedgemm_progress, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_progress, index) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_progress, count) == 16);
  STATIC_REQUIRE(offsetof(tunedgemm_progress, plan) == 24);
  STATIC_REQUIRE(offsetof(tunedgemm_progress, status) == 32);
  STATIC_REQUIRE(offsetof(tunedgemm_progress, message) == 40);
  STATIC_REQUIRE(offsetof(tunedgemm_progress, seconds) == 48);
}

TEST_CASE("The layout of tunedgemm_plan_options is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_plan_options) == 32);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, policy) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, launch_regime) == 12);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, name) == 16);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, accepted_loss) == 24);
}

namespace {

// Whether the structs are equal in each of the members.
template <class Struct, class... Members>
bool are_equal(const Struct& left, const Struct& right, Members Struct::*... members) {
  static_assert(std::is_standard_layout_v<Struct> && std::is_trivially_copyable_v<Struct>);
  return ((left.*members == right.*members) && ...);
}

}  // namespace

TEST_CASE("The members have the defaults in C++ that the _init functions set in C") {
  tunedgemm_problem problem{.batch = 7, .lda = 8};
  tunedgemm_problem_init(&problem, 2, 3, 4, TUNEDGEMM_TYPE_F16, TUNEDGEMM_TYPE_BF16,
                         TUNEDGEMM_TYPE_F32);
  using Problem = tunedgemm_problem;
  CHECK(are_equal(
      {.m = 2, .n = 3, .k = 4, .type_a = TUNEDGEMM_TYPE_F16, .type_b = TUNEDGEMM_TYPE_BF16},
      problem, &Problem::struct_size, &Problem::m, &Problem::n, &Problem::k, &Problem::batch,
      &Problem::type_a, &Problem::type_b, &Problem::type_d, &Problem::order_a, &Problem::order_b,
      &Problem::order_c, &Problem::order_d, &Problem::lda, &Problem::ldb, &Problem::ldc,
      &Problem::ldd, &Problem::batch_stride_a, &Problem::batch_stride_b, &Problem::batch_stride_c,
      &Problem::batch_stride_d, &Problem::activation, &Problem::bias, &Problem::numerics));
  CHECK(problem.struct_size == sizeof problem);
  CHECK(problem.batch == 1);
  CHECK(problem.lda == 0);
  CHECK(problem.numerics == TUNEDGEMM_NUMERICS_DEFAULT);

  tunedgemm_buffers buffers{.alpha = 7, .beta = 8};
  tunedgemm_buffers_init(&buffers);
  using Buffers = tunedgemm_buffers;
  CHECK(are_equal({}, buffers, &Buffers::struct_size, &Buffers::a, &Buffers::b, &Buffers::c,
                  &Buffers::d, &Buffers::bias, &Buffers::scale_a, &Buffers::scale_b,
                  &Buffers::alpha, &Buffers::beta, &Buffers::slope, &Buffers::workspace,
                  &Buffers::workspace_bytes));
  CHECK(buffers.struct_size == sizeof buffers);
  CHECK(buffers.alpha == 1);
  CHECK(buffers.beta == 0);
  CHECK(buffers.slope == 0.01f);

  tunedgemm_plan_options plan_options{.accepted_loss = 7};
  tunedgemm_plan_options_init(&plan_options);
  using PlanOptions = tunedgemm_plan_options;
  CHECK(are_equal({}, plan_options, &PlanOptions::struct_size, &PlanOptions::policy,
                  &PlanOptions::launch_regime, &PlanOptions::name, &PlanOptions::accepted_loss));
  CHECK(plan_options.struct_size == sizeof plan_options);

  tunedgemm_plan_info info{.median_us = 7, .tuned_with = nullptr, .vendor = nullptr};
  tunedgemm_plan_info_init(&info);
  using Info = tunedgemm_plan_info;
  CHECK(std::string(info.tuned_with).empty());
  CHECK(std::string(Info().tuned_with).empty());
  CHECK(std::string(info.vendor).empty());
  CHECK(std::string(Info().vendor).empty());
  CHECK(are_equal({}, info, &Info::struct_size, &Info::origin, &Info::candidates, &Info::median_us,
                  &Info::low_us, &Info::high_us, &Info::default_us, &Info::naive_us,
                  &Info::expected_loss, &Info::expected_us, &Info::tuned_m, &Info::workspace_bytes,
                  &Info::tuned_at, &Info::spent_seconds, &Info::vendor_us));
  CHECK(info.struct_size == sizeof info);

  tunedgemm_context_options options{.ordinal = 7, .cache_path = ""};
  tunedgemm_context_options_init(&options);
  using Options = tunedgemm_context_options;
  CHECK(are_equal({}, options, &Options::struct_size, &Options::backend, &Options::ordinal,
                  &Options::host_threads, &Options::cache_path, &Options::policy, &Options::rigor,
                  &Options::tune_seconds, &Options::tune_candidates));
  CHECK(options.struct_size == sizeof options);
}

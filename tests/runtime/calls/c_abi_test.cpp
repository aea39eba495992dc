// Tests the binary interface of the C header, on which programs rely that were linked to an earlier
// version of the shared library.

#include <cstddef>

#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.h"

// A member may be added at the end of a struct, which changes its size; nothing else may change.

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
}

TEST_CASE("The layout of tunedgemm_problem is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_problem) == 152);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, m) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, n) == 16);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, k) == 24);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, batch) == 32);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, type_a) == 40);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, type_b) == 44);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, type_d) == 48);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_a) == 52);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_b) == 56);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_c) == 60);
  STATIC_REQUIRE(offsetof(tunedgemm_problem, order_d) == 64);
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
  STATIC_REQUIRE(offsetof(tunedgemm_problem, numerics) == 144);
}

TEST_CASE("The layout of tunedgemm_buffers is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_buffers) == 104);
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
}

TEST_CASE("The layout of tunedgemm_plan_info is stable") {
  STATIC_REQUIRE(sizeof(tunedgemm_plan_info) == 112);
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

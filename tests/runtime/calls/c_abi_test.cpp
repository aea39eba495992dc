// The binary interface of the C header: what a program that was linked against an earlier version
// of the shared library relies on.

#include <cstddef>

#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.h"

// A member may be added at the end of a struct, which changes its size: nothing else here may
// change.

TEST_CASE("The options of a context lie where linked programs put them") {
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

TEST_CASE("A problem lies where linked programs put it") {
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

TEST_CASE("Buffers lie where linked programs put them") {
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

TEST_CASE("The options of a plan lie where linked programs put them") {
  STATIC_REQUIRE(sizeof(tunedgemm_plan_options) == 24);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, struct_size) == 0);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, policy) == 8);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, launches) == 12);
  STATIC_REQUIRE(offsetof(tunedgemm_plan_options, name) == 16);
}

TEST_CASE("The numbers of the C enumerations are those that linked programs pass") {
  STATIC_REQUIRE(TUNEDGEMM_OK == 0);
  STATIC_REQUIRE(TUNEDGEMM_INVALID_ARGUMENT == 1);
  STATIC_REQUIRE(TUNEDGEMM_UNSUPPORTED == 2);
  STATIC_REQUIRE(TUNEDGEMM_NOT_TUNED == 3);
  STATIC_REQUIRE(TUNEDGEMM_OUT_OF_MEMORY == 4);
  STATIC_REQUIRE(TUNEDGEMM_NO_DEVICE == 5);
  STATIC_REQUIRE(TUNEDGEMM_DEVICE_FAILED == 6);
  STATIC_REQUIRE(TUNEDGEMM_INTERNAL == 7);
  STATIC_REQUIRE(TUNEDGEMM_BACKEND_AUTO == 0);
  STATIC_REQUIRE(TUNEDGEMM_BACKEND_HOST == 1);
  STATIC_REQUIRE(TUNEDGEMM_BACKEND_CUDA == 2);
  STATIC_REQUIRE(TUNEDGEMM_F64 == 1);
  STATIC_REQUIRE(TUNEDGEMM_F32 == 2);
  STATIC_REQUIRE(TUNEDGEMM_F16 == 3);
  STATIC_REQUIRE(TUNEDGEMM_BF16 == 4);
  STATIC_REQUIRE(TUNEDGEMM_E4M3 == 5);
  STATIC_REQUIRE(TUNEDGEMM_E5M2 == 6);
  STATIC_REQUIRE(TUNEDGEMM_S8 == 7);
  STATIC_REQUIRE(TUNEDGEMM_S32 == 8);
  STATIC_REQUIRE(TUNEDGEMM_ROW_MAJOR == 0);
  STATIC_REQUIRE(TUNEDGEMM_COLUMN_MAJOR == 1);
  STATIC_REQUIRE(TUNEDGEMM_ACTIVATION_NONE == 0);
  STATIC_REQUIRE(TUNEDGEMM_RELU == 1);
  STATIC_REQUIRE(TUNEDGEMM_LEAKY_RELU == 2);
  STATIC_REQUIRE(TUNEDGEMM_GELU_TANH == 3);
  STATIC_REQUIRE(TUNEDGEMM_GELU_ERF == 4);
  STATIC_REQUIRE(TUNEDGEMM_SILU == 5);
  STATIC_REQUIRE(TUNEDGEMM_SIGMOID == 6);
  STATIC_REQUIRE(TUNEDGEMM_TANH == 7);
  STATIC_REQUIRE(TUNEDGEMM_RELU_SQUARED == 8);
  STATIC_REQUIRE(TUNEDGEMM_BIAS_NONE == 0);
  STATIC_REQUIRE(TUNEDGEMM_BIAS_PER_ROW == 1);
  STATIC_REQUIRE(TUNEDGEMM_BIAS_PER_COLUMN == 2);
  STATIC_REQUIRE(TUNEDGEMM_NUMERICS_DEFAULT == -1);
  STATIC_REQUIRE(TUNEDGEMM_IEEE == 0);
  STATIC_REQUIRE(TUNEDGEMM_TF32 == 1);
  STATIC_REQUIRE(TUNEDGEMM_EMULATED == 2);
  STATIC_REQUIRE(TUNEDGEMM_FAST == 3);
  STATIC_REQUIRE(TUNEDGEMM_PROMOTED == 4);
  STATIC_REQUIRE(TUNEDGEMM_POLICY_DEFAULT == 0);
  STATIC_REQUIRE(TUNEDGEMM_POLICY_TUNE == 1);
  STATIC_REQUIRE(TUNEDGEMM_POLICY_NEVER == 2);
  STATIC_REQUIRE(TUNEDGEMM_POLICY_REPLAY == 3);
  STATIC_REQUIRE(TUNEDGEMM_POLICY_STORED == 4);
  STATIC_REQUIRE(TUNEDGEMM_POLICY_BACKGROUND == 5);
  STATIC_REQUIRE(TUNEDGEMM_RIGOR_DEFAULT == 0);
  STATIC_REQUIRE(TUNEDGEMM_QUICK == 1);
  STATIC_REQUIRE(TUNEDGEMM_NORMAL == 2);
  STATIC_REQUIRE(TUNEDGEMM_EXHAUSTIVE == 3);
}

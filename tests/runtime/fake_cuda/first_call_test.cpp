// The first call on a GPU: opening it, planning, tuning, running.

#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/support/catch.h"

namespace tunedgemm::internal::fake_cuda {

TEST_CASE("A plan of the model is compiled, loaded and runs right") {
  const FakeGpu gpu;
  const SmallProduct product;
  const auto context = open_context();
  const Plan& plan = context->plan(call_key(product.problem(), product.buffers()), nullptr);
  CHECK(launch(plan, product.buffers(), nullptr) == 0);
  CHECK(product.is_right());
}

TEST_CASE("A tuned winner is checked, timed, stored and runs right") {
  const FakeGpu gpu;
  const SmallProduct product;
  const auto context = open_context(Policy::kTune);
  const Plan& plan = context->plan(call_key(product.problem(), product.buffers()), nullptr);
  INFO(plan.description);
  CHECK(context->store().health().winners == 1);
  CHECK(launch(plan, product.buffers(), nullptr) == 0);
  CHECK(product.is_right());
}

}  // namespace tunedgemm::internal::fake_cuda

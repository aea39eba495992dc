// If a kernel never ends, its resources must not be released, since the driver would then wait for
// the kernel.

#include "runtime/cuda/context.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/stream.h"
#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/runtime/support/c_program.h"
#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

// Puts the fake and the library into the state of a new process, before and after a test.
class NewProcess {
 public:
  NewProcess() { reset(); }
  ~NewProcess() { reset(); }
  NewProcess(const NewProcess&) = delete;
  NewProcess& operator=(const NewProcess&) = delete;

 private:
  static void reset() {
    control().reset();
    cuda::hung_devices() = 0;
  }
};

// Launches a kernel that never ends, and then destroys its stream, event and module. If `gives_up`,
// the context is given up first.
void hang(const cuda::PrimaryContext& context, bool gives_up = true) {
  const cuda::Active active(context);
  const cuda::Stream stream(context);
  const cuda::InterposedKernel kernel(context, 1, stream.handle());
  cuda::Event end(context);
  control().hang_next_launch();
  kernel.launch(stream.handle());
  end.record(stream.handle());
  CHECK_FALSE(end.wait(0.01));
  if (gives_up) {
    context.give_up();
  }
}

std::size_t waits_for_a_hung_kernel(bool gives_up) {
  const NewProcess process;
  const auto driver = cuda::Driver::open();
  hang(cuda::PrimaryContext(*std::get<0>(driver), 0), gives_up);
  CHECK(control().left().empty() == !gives_up);
  return control().complaints().size();
}

}  // namespace

TEST_CASE("The resources of a kernel that never ends are not released") {
  CHECK(waits_for_a_hung_kernel(false) > 0);
  CHECK(waits_for_a_hung_kernel(true) == 0);
}

TEST_CASE("A kernel that hangs in one context holds up no other context of the device") {
  const NewProcess process;
  const OnDevice device(0);
  const SmallProduct product;
  const tunedgemm_context_options options = c_options(TUNEDGEMM_POLICY_COMPILE);
  tunedgemm_context* context = nullptr;
  REQUIRE(tunedgemm_context_create(&options, &context) == TUNEDGEMM_STATUS_OK);
  const tunedgemm_buffers buffers = product.buffers();
  REQUIRE(tunedgemm_matmul(context, &product.problem(), &buffers, nullptr) == TUNEDGEMM_STATUS_OK);
  const auto driver = cuda::Driver::open();
  hang(cuda::PrimaryContext(*std::get<0>(driver), 0));

  tunedgemm_context* second = nullptr;
  CHECK(tunedgemm_context_create(&options, &second) == TUNEDGEMM_STATUS_DEVICE_FAILED);
  CHECK_THAT(tunedgemm_error_message(), Catch::Matchers::ContainsSubstring("has not ended"));
  tunedgemm_context_destroy(context);
  CHECK(control().complaints().empty());
}

TEST_CASE("A call whose kernel never ends fails, and its context is destroyed without waiting",
          "[slow]") {
  const NewProcess process;
  {
    const OnDevice device(0);
    const SmallProduct product;
    const tunedgemm_context_options options = c_options(TUNEDGEMM_POLICY_TUNE);
    tunedgemm_context* context = nullptr;
    REQUIRE(tunedgemm_context_create(&options, &context) == TUNEDGEMM_STATUS_OK);
    control().hang_next_launch();
    const tunedgemm_buffers buffers = product.buffers();
    for (int call = 0; call < 2; ++call) {
      CHECK(tunedgemm_matmul(context, &product.problem(), &buffers, nullptr) ==
            TUNEDGEMM_STATUS_DEVICE_FAILED);
      CHECK_THAT(tunedgemm_error_message(), Catch::Matchers::ContainsSubstring("has not ended"));
    }
    tunedgemm_context_destroy(context);
    CHECK(control().complaints().empty());
  }
}

}  // namespace tunedgemm::internal::fake_cuda

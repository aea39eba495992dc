#include "runtime/cuda/stream.h"

#include "runtime/cuda/check.h"

namespace tunedgemm::internal::cuda {

Stream::Stream(const PrimaryContext& context) : context_(context) {
  const Active active(context_);
  TUNEDGEMM_CHECK(context_.driver(), cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING),
                  "the stream of the tuner");
}

Stream::~Stream() {
  if (context_.driver().gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuStreamDestroy(handle_);
}

}  // namespace tunedgemm::internal::cuda

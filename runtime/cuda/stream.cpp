#include "runtime/cuda/stream.h"

#include <chrono>
#include <thread>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

Stream::Stream(const PrimaryContext& context) : context_(context) {
  const Active active(context_);
  TUNEDGEMM_CHECK(context_.driver(), cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING),
                  "the stream of the tuner");
}

Stream::~Stream() {
  if (context_.gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuStreamDestroy(handle_);
}

namespace {

using Clock = std::chrono::steady_clock;

// Event::wait() spins for kSpin before it sleeps, because a sleep costs some 60 us, as much as a
// short sample.
constexpr std::chrono::milliseconds kSpin{2};
constexpr std::chrono::microseconds kNap{200};

}  // namespace

Event::Event(const PrimaryContext& context) : context_(context) {
  const Active active(context_);
  TUNEDGEMM_CHECK(context_.driver(), cuEventCreate(&handle_, CU_EVENT_DEFAULT), "an event");
}

Event::~Event() {
  if (context_.gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuEventDestroy(handle_);
}

void Event::record(CUstream stream) {
  TUNEDGEMM_CHECK(context_.driver(), cuEventRecord(handle_, stream), "an event");
}

void Event::record_in_graph(CUstream stream) {
  TUNEDGEMM_CHECK(context_.driver(),
                  cuEventRecordWithFlags(handle_, stream, CU_EVENT_RECORD_EXTERNAL), "an event");
}

bool Event::wait(double limit_seconds) const {
  const Clock::time_point start = Clock::now();
  const auto limit = std::chrono::duration<double>(limit_seconds);
  while (true) {
    const CUresult result = context_.driver().cuEventQuery(handle_);
    if (result == CUDA_SUCCESS) {
      return true;
    }
    if (result != CUDA_ERROR_NOT_READY) {
      throw_device_error(context_.driver(), result, "cuEventQuery", "the work on the GPU");
    }
    const auto waited = Clock::now() - start;
    if (waited > limit) {
      return false;
    }
    if (waited > kSpin) {
      std::this_thread::sleep_for(kNap);
    }
  }
}

double seconds_between(const PrimaryContext& context, const Event& start, const Event& stop) {
  float ms = 0;
  TUNEDGEMM_CHECK(context.driver(), cuEventElapsedTime(&ms, start.handle(), stop.handle()),
                  "two events");
  return static_cast<double>(ms) * 1e-3;
}

}  // namespace tunedgemm::internal::cuda

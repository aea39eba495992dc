#include "runtime/cuda/threaded_nvrtc.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/start_thread.h"

namespace tunedgemm::internal::cuda {

struct ThreadedNvrtc::Shared {
  explicit Shared(const NvrtcLocation& location) : nvrtc(location) {}

  Nvrtc nvrtc;
  std::atomic<int> abandoned{0};  ///< the abandoned compilations that still run
};

struct ThreadedNvrtc::Job {
  std::mutex mutex;
  std::condition_variable has_ended;
  std::optional<std::variant<Binary, CompileFailure>> result;
  bool is_abandoned = false;
};

ThreadedNvrtc::ThreadedNvrtc(const NvrtcLocation& location)
    : shared_(std::make_shared<Shared>(location)) {}

std::string ThreadedNvrtc::why_not(int architecture) const {
  return shared_->abandoned > 0
             ? "NVRTC hangs in this process; programs with a compile process, such as tune-all, "
               "are not affected"
             : shared_->nvrtc.why_not(architecture);
}

std::variant<Binary, CompileFailure> ThreadedNvrtc::compile(const Source& source, int architecture,
                                                            std::chrono::milliseconds limit) const {
  if (std::string reason = why_not(architecture); !reason.empty()) {
    return CompileFailure{std::move(reason), CompileFailure::Cause::kEnvironment};
  }
  const auto job = std::make_shared<Job>();
  auto thread = start_thread([job, shared = shared_, source, architecture] {
    std::variant<Binary, CompileFailure> result;
    try {
      result = shared->nvrtc.compile(source, architecture);
    } catch (const std::exception& error) {  // no memory
      result = CompileFailure{error.what(), CompileFailure::Cause::kEnvironment};
    }
    const std::scoped_lock lock(job->mutex);
    job->result = std::move(result);
    if (job->is_abandoned) {
      --shared->abandoned;
    }
    job->has_ended.notify_all();
  });
  if (!thread) {
    return shared_->nvrtc.compile(source, architecture);
  }
  std::unique_lock lock(job->mutex);
  if (job->has_ended.wait_for(lock, limit, [&] { return job->result.has_value(); })) {
    lock.unlock();
    thread->join();
    return *std::move(job->result);
  }
  job->is_abandoned = true;
  ++shared_->abandoned;
  thread->detach();
  return CompileFailure{"NVRTC took more than " + std::to_string(limit.count()) + " ms for " +
                            source.entry + " and was abandoned",
                        CompileFailure::Cause::kTimeLimit};
}

}  // namespace tunedgemm::internal::cuda

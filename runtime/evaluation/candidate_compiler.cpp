#include "runtime/evaluation/candidate_compiler.h"

#include <algorithm>
#include <future>
#include <utility>

#include "runtime/start_thread.h"

namespace tunedgemm::internal {

namespace {

// The timeout of a compilation for the next problem, whose budget is not known yet.
constexpr std::chrono::seconds kNextTimeout{10};

}  // namespace

struct CandidateCompiler::Job {
  explicit Job(Source to_compile) : source(std::move(to_compile)), result(promise.get_future()) {}

  Source source;
  int candidates = 0;  // of this problem that need it; 0: made for the next problem, or forgotten
  std::promise<Made> promise;
  std::shared_future<Made> result;
};

CandidateCompiler::CandidateCompiler(Device& device, Store& store, BinaryCache* binaries)
    : device_(device), store_(store), binaries_(binaries) {}

CandidateCompiler::~CandidateCompiler() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    waiting_.clear();
    waiting_next_.clear();
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) {
    worker.join();
  }
}

// False if there is no thread to compile on.
bool CandidateCompiler::add_workers(std::size_t candidates) {
  const auto wanted =
      std::min(static_cast<std::size_t>(device_.compile_threads()), workers_.size() + candidates);
  workers_.reserve(wanted);
  while (workers_.size() < wanted) {
    auto started = start_thread([this] { work(); });
    if (!started) {
      break;
    }
    workers_.push_back(std::move(*started));
  }
  return !workers_.empty();
}

// The job of the candidate's source, and whether it is new. Precondition: mutex_ is held.
std::pair<std::shared_ptr<CandidateCompiler::Job>, bool> CandidateCompiler::job_of(
    const Instance& candidate) {
  Source source = candidate.source();
  std::shared_ptr<Job>& job = jobs_[fingerprint(source)];
  const bool is_new = job == nullptr;
  if (is_new) {
    job = std::make_shared<Job>(std::move(source));
  }
  return {job, is_new};
}

// Precondition: mutex_ is held.
void CandidateCompiler::drop_unclaimed() {
  waiting_next_.clear();
  std::erase_if(jobs_, [](const auto& entry) { return entry.second->candidates == 0; });
}

// Whether the compilation has ended without a binary, for a reason that may have passed.
bool CandidateCompiler::is_unavailable(const Job& job) {
  if (job.result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return false;
  }
  try {
    const auto* rejection = std::get_if<Rejection>(&job.result.get());
    return rejection != nullptr && rejection->reason == Reason::kUnavailable;
  } catch (const std::exception&) {  // of the compilation
    return false;
  }
}

// The next problem compiles the source again.
void CandidateCompiler::drop_unavailable(const Job& job, const Made& made) {
  const auto* rejection = std::get_if<Rejection>(&made);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (rejection != nullptr && rejection->reason == Reason::kUnavailable && job.candidates == 0) {
    jobs_.erase(fingerprint(job.source));
  }
}

void CandidateCompiler::start(std::span<const Instance> candidates) {
  if (!add_workers(candidates.size())) {
    return;  // binary() compiles
  }
  std::vector<std::shared_ptr<Job>> started;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Instance& candidate : candidates) {
      const auto [job, is_new] = job_of(candidate);
      if (is_new || std::erase(waiting_next_, job) > 0) {
        started.push_back(job);
        waiting_.push_back(job);
      }
      if (jobs_of_candidates_.emplace(to_text(candidate.candidate), job).second) {
        ++job->candidates;
      }
    }
    if (!std::exchange(has_started_, true)) {
      drop_unclaimed();
    }
  }
  changed_.notify_all();
  if (device_.compiling_disturbs_timing()) {
    for (const std::shared_ptr<Job>& job : started) {
      job->result.wait();
    }
  }
}

void CandidateCompiler::start_next(std::span<const Instance> candidates) {
  if (device_.compiling_disturbs_timing() || !add_workers(candidates.size())) {
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Instance& candidate : candidates) {
      const auto [job, is_new] = job_of(candidate);
      if (is_new) {
        waiting_next_.push_back(job);
      }
    }
  }
  changed_.notify_all();
}

void CandidateCompiler::end_problem() {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.clear();
  std::erase_if(jobs_, [](const auto& entry) { return entry.second->candidates > 0; });
  jobs_of_candidates_.clear();
  has_started_ = false;
}

bool CandidateCompiler::is_compiled(const Instance& candidate) {
  const std::shared_ptr<Job> job = find(candidate);
  return job && job->result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void CandidateCompiler::forget(const Instance& candidate) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = jobs_of_candidates_.find(to_text(candidate.candidate));
  if (known == jobs_of_candidates_.end()) {
    return;
  }
  const std::shared_ptr<Job> job = std::move(known->second);
  jobs_of_candidates_.erase(known);
  if (--job->candidates == 0 && (std::erase(waiting_, job) > 0 || is_unavailable(*job))) {
    jobs_.erase(fingerprint(job->source));
  }
}

std::variant<Binary, Rejection> CandidateCompiler::binary(const Instance& candidate) {
  const Clock::time_point deadline = deadline_;
  const std::shared_ptr<Job> job = find(candidate);
  return job ? job->result.get() : make(candidate.source(), deadline);
}

std::shared_ptr<CandidateCompiler::Job> CandidateCompiler::find(const Instance& candidate) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = jobs_of_candidates_.find(to_text(candidate.candidate));
  if (known != jobs_of_candidates_.end()) {
    return known->second;
  }
  const auto same_source = jobs_.find(fingerprint(candidate.source()));
  return same_source == jobs_.end() ? nullptr : same_source->second;
}

CandidateCompiler::Made CandidateCompiler::make(const Source& source, Clock::time_point deadline) {
  const std::string key = fingerprint(source);
  if (auto known = binaries_ == nullptr ? std::nullopt : binaries_->find(key)) {
    return std::move(*known);
  }
  const int architecture = device_.limits().arch;
  if (auto stored = store_.find_binary(source, device_.toolchain(), architecture)) {
    return std::move(*stored);
  }
  const std::chrono::duration<double> left = deadline - Clock::now();
  auto compiled = device_.compile_within(source, left.count());
  if (auto* failure = std::get_if<CompileFailure>(&compiled)) {
    return rejection_of(std::move(*failure));
  }
  if (binaries_ != nullptr) {
    binaries_->keep(key, std::get<Binary>(compiled));
  }
  return std::get<Binary>(std::move(compiled));
}

void CandidateCompiler::work() {
  while (true) {
    std::shared_ptr<Job> job;
    bool is_next = false;
    Clock::time_point deadline;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock,
                    [this] { return stopping_ || !waiting_.empty() || !waiting_next_.empty(); });
      if (stopping_) {
        return;
      }
      is_next = waiting_.empty();
      deadline = is_next ? Clock::now() + kNextTimeout : deadline_.load();
      Queue& queue = is_next ? waiting_next_ : waiting_;
      job = std::move(queue.front());
      queue.pop_front();
    }
    try {
      Made made = make(job->source, deadline);
      if (is_next) {
        drop_unavailable(*job, made);
      }
      job->promise.set_value(std::move(made));
    } catch (...) {
      job->promise.set_exception(std::current_exception());
    }
  }
}

}  // namespace tunedgemm::internal

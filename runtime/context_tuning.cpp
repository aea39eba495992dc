// Context's other half: what is slow. Tuning a problem, making and loading kernels, workspaces, the
// report.

#include <sstream>
#include <utility>

#include "kernel_templates/log.h"
#include "runtime/context.h"
#include "runtime/evaluation/device_evaluator.h"
#include "tuner/effort.h"

namespace tunedgemm {
namespace {

// How long a tuning waits for another process that tunes the same problem.
constexpr double kLeaseWaitSeconds = 60;

// Of a budget that ended before all candidates were tried: the same budget again would only go on
// where the cost model expects less and less.
constexpr double kShareThatIsEnough = 0.5;

TuneResult failed(std::string reason) {
  TuneResult result;
  result.tuning.failure = std::move(reason);
  return result;
}

}  // namespace

std::optional<Record> Context::find_tuned(const Problem& problem, const TuneOptions& options) {
  auto hit = store_->find(problem, device_->identity(), device_->toolchain(), device_->limits());
  if (!hit || hit->match != Match::kExact || hit->record.rigor < options.rigor) {
    return std::nullopt;
  }
  const Record& record = hit->record;
  const Effort effort = effort_of(options.rigor, options.budget);
  const bool enough =
      record.complete || record.spent_seconds >= kShareThatIsEnough * effort.seconds ||
      (record.rigor > options.rigor && record.candidates_tried >= effort.candidates);
  return enough ? std::optional(std::move(hit->record)) : std::nullopt;
}

TuneResult Context::tune(const Problem& problem, const TuneOptions& options) {
  const std::scoped_lock one_at_a_time(tuning_);
  const Problem canonical = tunedgemm::canonical(problem).problem;
  if (auto record = find_tuned(canonical, options)) {
    return {.origin = TuneResult::Origin::kCached, .record = std::move(record), .tuning = {}};
  }
  if (const std::string reason = device_->why_not_compile(); !reason.empty()) {
    return failed(reason);
  }
  const Lease lease =
      store_->acquire(canonical, device_->identity(), device_->toolchain(), kLeaseWaitSeconds);
  store_->refresh();
  if (auto record = find_tuned(canonical, options)) {
    return {.origin = TuneResult::Origin::kElsewhere, .record = std::move(record), .tuning = {}};
  }
  if (!lease) {
    return failed("another process has been tuning " + to_text(canonical) + " for more than " +
                  std::to_string(static_cast<int>(kLeaseWaitSeconds)) + " seconds");
  }
  return measure(canonical, options);
}

TuneResult Context::measure(const Problem& problem, const TuneOptions& options) {
  TuneResult result;
  try {
    const Device::Current current(*device_);
    DeviceEvaluator evaluator(*device_, *store_, problem);
    result.tuning = tunedgemm::tune(problem, device_->identity(), device_->toolchain(),
                                    device_->limits(), evaluator, *store_, options);
  } catch (const DeviceError& error) {
    // A problem too large to be tuned beside what the memory holds already can still be computed.
    if (error.kind() != DeviceError::Kind::kOutOfMemory) {
      throw;
    }
    return failed(error.what());
  }
  if (!result.tuning.record) {
    return result;
  }
  store_->put(*result.tuning.record, result.tuning.winner_source, result.tuning.winner_binary,
              result.tuning.trials);
  ++counters_.tuned;
  result.origin = TuneResult::Origin::kTuned;
  // As it is stored: with the time at which it was.
  const auto stored =
      store_->find(problem, device_->identity(), device_->toolchain(), device_->limits());
  result.record = stored ? stored->record : result.tuning.record;
  return result;
}

std::shared_ptr<const CompiledKernel> Context::loaded_kernel(
    const std::string& source_fingerprint) const {
  const std::scoped_lock lock(kernels_mutex_);
  const auto known = kernels_.find(source_fingerprint);
  return known == kernels_.end() ? nullptr : known->second;
}

std::variant<std::shared_ptr<const CompiledKernel>, Rejection> Context::kernel(
    const Problem& problem, const Candidate& candidate) {
  const DeviceLimits& limits = device_->limits();
  const Source source = candidate.family->source(problem, candidate.config, limits);
  const Launch launch = candidate.family->launch(problem, candidate.config, limits);
  const std::string key = fingerprint(source);
  if (auto known = loaded_kernel(key)) {
    return known;
  }
  const Device::Current current(*device_);
  auto made = make_kernel(source, launch);
  if (auto* rejection = std::get_if<Rejection>(&made)) {
    return std::move(*rejection);
  }
  std::shared_ptr<const CompiledKernel> kernel = std::get<0>(std::move(made));
  const std::scoped_lock lock(kernels_mutex_);
  return kernels_.emplace(key, std::move(kernel)).first->second;
}

std::variant<std::unique_ptr<CompiledKernel>, Rejection> Context::make_kernel(
    const Source& source, const Launch& launch) {
  const int architecture = device_->limits().arch;
  const Toolchain& toolchain = device_->toolchain();
  if (const auto stored = store_->find_binary(source, toolchain, architecture)) {
    auto loaded = device_->load(*stored, launch);
    if (std::holds_alternative<std::unique_ptr<CompiledKernel>>(loaded)) {
      return loaded;
    }
    log_warning("a stored binary of " + source.entry +
                " does not load and is made anew: " + std::get<Rejection>(loaded).detail);
    store_->forget_binary(source, toolchain, architecture);
  }
  if (const std::string reason = device_->why_not_compile(); !reason.empty()) {
    if (auto kernel = device_->built_in(source)) {
      return kernel;
    }
    return Rejection{Reason::kCompileFailed, reason};
  }
  ++counters_.compiled;
  const auto compiled = device_->compile(source);
  if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
    return Rejection{Reason::kCompileFailed, failure->log};
  }
  const Binary& binary = std::get<Binary>(compiled);
  store_->put_binary(source, toolchain, architecture, binary);
  return device_->load(binary, launch);
}

void* Context::find_workspace(std::int64_t bytes, StreamHandle stream) const noexcept {
  const Workspace* workspace = newest_workspace_.load(std::memory_order_acquire);
  while (workspace != nullptr &&
         !(workspace->stream == stream && workspace->memory->size_bytes() >= bytes)) {
    workspace = workspace->next;
  }
  return workspace == nullptr ? nullptr : workspace->memory->data();
}

void* Context::workspace(const Launch& launch, StreamHandle stream) {
  const std::int64_t bytes = launch.workspace_bytes;
  const std::scoped_lock lock(workspaces_mutex_);
  if (void* kept = find_workspace(bytes, stream)) {
    return kept;
  }
  const Device::Current current(*device_);
  if (device_->is_capturing(stream)) {
    return nullptr;
  }
  auto workspace = std::make_unique<Workspace>();
  workspace->stream = stream;
  try {
    workspace->memory = device_->allocate(bytes);
  } catch (const DeviceError&) {
    if (launch.workspace_is_optional) {
      return nullptr;
    }
    throw;
  }
  workspace->next = newest_workspace_.load(std::memory_order_relaxed);
  // Earlier launches may still use a smaller one, so that it is kept as long as the context.
  device_->set_bytes(workspace->memory->data(), 0, std::min(bytes, kWorkspaceCounterBytes));
  void* data = workspace->memory->data();
  newest_workspace_.store(workspace.get(), std::memory_order_release);
  workspaces_.push_back(std::move(workspace));
  return data;
}

std::string Context::report() const {
  const DeviceIdentity& identity = device_->identity();
  const StoreHealth health = store_->health();
  std::ostringstream text;
  text << "device     " << identity.name << " (" << name(identity.backend) << ")\n"
       << "toolchain  " << device_->toolchain().compiler << ", " << device_->toolchain().driver
       << "\n"
       << "cache      " << (health.path.empty() ? "in memory" : health.path.string()) << " ("
       << name(health.state) << ", " << health.winners << " winners)\n";
  for (const std::string& remark : health.remarks) {
    text << "           " << remark << "\n";
  }
  text << "plans      " << counters_.plans << ": " << counters_.hits << " tuned, "
       << counters_.stale << " stale, " << counters_.model << " chosen by the model; "
       << counters_.tuned << " tuned and " << counters_.compiled << " kernels compiled here; "
       << counters_.fallbacks << " fallbacks during stream capture\n";
  return text.str();
}

}  // namespace tunedgemm

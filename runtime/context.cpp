#include "runtime/context.h"

#include <sstream>
#include <utility>

#include "kernel_templates/log.h"

namespace tunedgemm {
namespace {

std::unique_ptr<Device> open_device(const ContextOptions& options) {
  const Backend& backend = options.backend != nullptr ? *options.backend : automatic_backend();
  return backend.open(options.ordinal, options.host_threads);
}

bool is_empty(const Problem& problem) {
  return problem.m == 0 || problem.n == 0 || problem.batch == 0;
}

std::string why_not_call(const Problem& problem) {
  const bool in_place = problem.c.order == problem.d.order &&
                        problem.c.leading_dimension == problem.d.leading_dimension &&
                        (problem.batch <= 1 || problem.c.batch_stride == problem.d.batch_stride);
  if (problem.c_is_d && !in_place) {
    return "C and D are the same memory, but differ in order, leading dimension or batch stride; "
           "make them equal or give D memory of its own";
  }
  return why_not(problem);
}

// What the store would answer for a record that has just been put or found there.
std::optional<Hit> hit_of(Record record, const Problem& problem, const DeviceLimits& limits,
                          Match match) {
  const Family* family = find_family(record.family);
  if (family == nullptr) {
    return std::nullopt;
  }
  Instantiation made = family->instantiate(problem, record.config, limits);
  if (!made) {
    return std::nullopt;
  }
  return Hit{.record = std::move(record), .match = match, .winner = std::move(made).value()};
}

std::string microseconds(double us) {
  const std::string text = std::to_string(us);
  return text.substr(0, text.find('.') + 3) + " us";
}

}  // namespace

std::optional<Policy> parse_policy(std::string_view text) {
  if (text == "tune") {
    return Policy::kTune;
  }
  if (text == "never") {
    return Policy::kNever;
  }
  return text == "replay" ? std::optional(Policy::kReplay) : std::nullopt;
}

std::unique_ptr<Context> Context::create(const ContextOptions& options) {
  return std::unique_ptr<Context>(
      new Context(options, open_device(options), Store::open(options.store)));
}

Context::Context(const ContextOptions& options, std::unique_ptr<Device> device,
                 std::unique_ptr<Store> store)
    : options_(options),
      device_(std::move(device)),
      store_(std::move(store)),
      kernels_(*device_, *store_),
      workspaces_(*device_),
      tuning_(*device_, *store_) {}

Context::~Context() = default;

const Plan& Context::plan(const CallKey& key, StreamHandle stream) {
  if (const Plan* known = plans_.find(key)) {
    return *known;
  }
  const Problem problem = to_problem(key);
  if (const std::string reason = why_not_call(problem); !reason.empty()) {
    throw CallError(CallError::Kind::kInvalidArgument, reason);
  }
  const Canonical canonical = tunedgemm::canonical(problem);
  if (!device_->stream_id(stream)) {
    return plan_during_capture(key, canonical);
  }
  std::unique_ptr<Plan> plan = make_plan(key, canonical);
  ++counters_.plans;
  return plans_.add(std::move(plan));
}

const Plan& Context::plan_during_capture(const CallKey& key, const Canonical& canonical) {
  if (const Plan* known = capture_plans_.find(key)) {
    return *known;
  }
  std::unique_ptr<Plan> plan = plan_from_loaded(key, canonical);
  if (plan == nullptr) {
    throw CallError(CallError::Kind::kNotTuned,
                    "the stream is being captured and no loaded kernel computes " +
                        to_text(canonical.problem) +
                        "; call once with this problem before the capture");
  }
  store_->note_request(canonical.problem, device_->identity());
  ++counters_.fallbacks;
  return capture_plans_.add(std::move(plan));
}

std::unique_ptr<Plan> Context::make_plan(const CallKey& key, const Canonical& canonical) {
  const Problem& problem = canonical.problem;
  if (is_empty(problem)) {
    return empty_plan(key, canonical);
  }
  const std::int64_t tuned_before = tuning_.tuned();
  std::optional<Hit> hit =
      store_->find(problem, device_->identity(), device_->toolchain(), device_->limits());
  if (!hit && options_.policy == Policy::kReplay) {
    throw CallError(CallError::Kind::kNotTuned,
                    "policy replay, and the cache " + store_->health().path.string() +
                        " has no winner on " + device_->identity().name + " for " +
                        to_text(problem) + "; tune it with tune-all, or use policy tune");
  }
  if (!hit && options_.policy == Policy::kTune) {
    TuneOptions tuning;
    tuning.rigor = options_.rigor;
    tuning.budget = options_.budget;
    TuneResult result = tuning_.tune_missing(problem, tuning, tuned_before);
    if (result.record) {
      hit = hit_of(std::move(*result.record), problem, device_->limits(), Match::kExact);
    } else {
      log_warning("not tuned: " + result.tuning.failure);
    }
  }
  if (!hit || hit->winner.lacks_gpcs) {
    tuning_.complete_probe();
  }
  if (hit && hit->winner.lacks_gpcs) {
    hit = hit_of(std::move(hit->record), problem, device_->limits(), hit->match);
  }
  if (hit) {
    if (std::unique_ptr<Plan> plan = plan_from_hit(key, canonical, *hit)) {
      ++(hit->match == Match::kExact ? counters_.hits : counters_.stale);
      return plan;
    }
  }
  store_->note_request(problem, device_->identity());
  ++counters_.model;
  return plan_from_model(key, canonical);
}

std::unique_ptr<Plan> Context::plan_from_hit(const CallKey& key, const Canonical& canonical,
                                             const Hit& hit) {
  auto kernel = kernels_.get(hit.winner.source(), hit.winner.launch, hit.record.toolchain.compiler);
  if (const auto* rejection = std::get_if<Rejection>(&kernel)) {
    log_warning("the winner " + to_text(hit.winner.candidate) +
                " cannot be used: " + rejection->detail);
    return nullptr;
  }
  const std::string origin = std::string(hit.match == Match::kExact ? "tuned" : "stale") + ", " +
                             microseconds(hit.record.measurement.median_us);
  return plan_of(key, canonical, hit.winner, std::get<0>(std::move(kernel)), origin);
}

std::unique_ptr<Plan> Context::plan_from_model(const CallKey& key, const Canonical& canonical) {
  const Problem& problem = canonical.problem;
  const DeviceLimits& limits = device_->limits();
  // One candidate that does not compile must not fail a call: there are others.
  constexpr std::size_t kAttempts = 8;
  std::string reasons;
  std::size_t attempts = 0;
  for (const Instance& instance : ranked_candidates(problem, limits)) {
    if (limits.is_gpu() && instance.launch.needs_workspace()) {
      continue;
    }
    if (attempts++ == kAttempts) {
      break;
    }
    auto kernel = this->kernel(instance);
    if (auto* usable = std::get_if<KernelCache::Kernel>(&kernel)) {
      return plan_of(key, canonical, instance, std::move(*usable), "chosen by the model");
    }
    reasons = std::get<Rejection>(kernel).detail;
  }
  throw CallError(CallError::Kind::kUnsupported,
                  "no kernel could be made for " + to_text(problem) + ": " + reasons);
}

std::unique_ptr<Plan> Context::plan_from_loaded(const CallKey& key, const Canonical& canonical) {
  const Problem& problem = canonical.problem;
  if (is_empty(problem)) {
    return empty_plan(key, canonical);
  }
  const DeviceLimits& limits = device_->limits();
  for (const Instance& instance : ranked_candidates(problem, limits)) {
    if (KernelCache::Kernel kernel = kernels_.find(fingerprint(instance.source()))) {
      return plan_of(key, canonical, instance, std::move(kernel), "loaded before a capture");
    }
  }
  return nullptr;
}

std::unique_ptr<Plan> Context::empty_plan(const CallKey& key, const Canonical& canonical) {
  auto plan = std::make_unique<Plan>(key, canonical);
  plan->context = this;
  return plan;
}

std::unique_ptr<Plan> Context::plan_of(const CallKey& key, const Canonical& canonical,
                                       const Instance& instance, KernelCache::Kernel kernel,
                                       std::string_view origin) {
  std::unique_ptr<Plan> plan = empty_plan(key, canonical);
  plan->launch = instance.launch;
  plan->description = to_text(instance.candidate) + " (" +
                      std::string(kernel->is_built_in() ? "linked in: nothing compiles" : origin) +
                      ")";
  plan->candidate = instance.candidate;
  plan->kernel = std::move(kernel);
  return plan;
}

std::string Context::report() const {
  const DeviceIdentity& identity = device_->identity();
  const StoreHealth health = store_->health();
  std::ostringstream text;
  text << "device     " << identity.name << " (" << identity.backend << ")\n"
       << "toolchain  " << device_->toolchain().compiler << ", " << device_->toolchain().driver
       << "\n"
       << "cache      " << (health.path.empty() ? "in memory" : health.path.string()) << " ("
       << name(health.state) << ", " << health.winners << " winners)\n";
  for (const std::string& warning : health.warnings) {
    text << "           " << warning << "\n";
  }
  text << "plans      " << counters_.plans << ": " << counters_.hits << " tuned, "
       << counters_.stale << " stale, " << counters_.model << " chosen by the model; "
       << tuning_.tuned() << " tuned and " << kernels_.counters().compiled
       << " kernels compiled here; " << counters_.fallbacks << " fallbacks during stream capture\n";
  return text.str();
}

}  // namespace tunedgemm

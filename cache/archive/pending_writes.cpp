#include "cache/archive/pending_writes.h"

#include "cache/tables/rows.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kMostTrials = 16;
constexpr std::size_t kManyRequests = 1024;
constexpr std::size_t kRequestsAtOnce = 64;
constexpr std::chrono::seconds kLongestWait{1};

}  // namespace

void PendingWrites::add_request(const Request& request, const DeviceIdentity& device) {
  const std::string key = fingerprint(request.problem) + fingerprint(device);
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = requests_.try_emplace(key, PendingRequest{request, device});
  if (!is_new) {
    Request& pending = entry->second.request;
    pending.calls += request.calls;
    pending.name = joined_names(std::move(pending.name), request.name);
  }
}

void PendingWrites::add_name(const WinnerKey& key, const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& [named, names] = names_[key.problem + key.device];
  named = key;
  names = joined_names(std::move(names), name);
}

void PendingWrites::add_trial(const TuningKey& key, const TrialRecord& trial,
                              const ProcessIdentity& process) {
  const std::lock_guard lock(mutex_);
  if (trials_.empty()) {
    oldest_trial_ = std::chrono::steady_clock::now();
  }
  trials_.push_back({key, trial, process});
}

void PendingWrites::add_toolchain(const DeviceIdentity& device, const Toolchain& toolchain) {
  const std::lock_guard lock(mutex_);
  toolchains_.emplace_back(device, toolchain);
}

void PendingWrites::add_family(const std::string& name, const std::string& fingerprint) {
  const std::lock_guard lock(mutex_);
  families_[name] = fingerprint;
}

Work PendingWrites::take_surplus_requests() {
  const std::lock_guard lock(mutex_);
  if (requests_.size() < kManyRequests) {
    return {};
  }
  std::vector<PendingRequest> some;
  for (std::size_t count = 0; count < kRequestsAtOnce; ++count) {
    some.push_back(std::move(requests_.extract(requests_.begin()).mapped()));
  }
  return [some = std::move(some)](sqlite::Connection& connection) {
    for (const PendingRequest& pending : some) {
      add_calls(connection, pending.request, pending.device);
    }
  };
}

bool PendingWrites::has_trials() const {
  const std::lock_guard lock(mutex_);
  return !trials_.empty();
}

bool PendingWrites::trials_are_due() const {
  const std::lock_guard lock(mutex_);
  return !trials_.empty() && (trials_.size() >= kMostTrials ||
                              std::chrono::steady_clock::now() - oldest_trial_ >= kLongestWait);
}

Work PendingWrites::take() {
  const std::lock_guard lock(mutex_);
  if (requests_.empty() && names_.empty() && trials_.empty() && toolchains_.empty() &&
      families_.empty()) {
    return {};
  }
  return [requests = std::exchange(requests_, {}), names = std::exchange(names_, {}),
          trials = std::exchange(trials_, {}), toolchains = std::exchange(toolchains_, {}),
          families = std::exchange(families_, {})](sqlite::Connection& connection) {
    for (const auto& [key, pending] : requests) {
      add_calls(connection, pending.request, pending.device);
    }
    for (const auto& [text, named] : names) {
      internal::add_name(connection, named.first, named.second);
    }
    for (const PendingTrial& pending : trials) {
      put_trial(connection, key_rows(connection, pending.key), pending.trial);
      renew_lease(connection, pending.key, pending.process);
    }
    for (const auto& [device, toolchain] : toolchains) {
      set_current_toolchain(connection, device, toolchain);
    }
    for (const auto& [name, fingerprint] : families) {
      set_current_family(connection, name, fingerprint);
    }
  };
}

}  // namespace tunedgemm::internal

// The members of Store for tuning: the winner, the trials, the candidate in flight and the lease.

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "cache/archive/archive.h"
#include "cache/store.h"
#include "cache/tables/rows.h"

namespace tunedgemm::internal {
namespace {

// Releases the lease, if its store is still open.
class HeldLease {
 public:
  HeldLease(const std::shared_ptr<Archive>& archive, TuningKey key, LeaseHolder holder)
      : archive_(archive), key_(std::move(key)), holder_(std::move(holder)) {}
  ~HeldLease() {
    if (const auto archive = archive_.lock()) {
      no_throw(*archive, [&] {
        archive->write(work_of(release_lease, key_, holder_), Archive::Otherwise::kWriteLater);
      });
    }
  }
  HeldLease(const HeldLease&) = delete;
  HeldLease& operator=(const HeldLease&) = delete;

 private:
  std::weak_ptr<Archive> archive_;
  TuningKey key_;
  LeaseHolder holder_;
};

bool claim(Archive& archive, const TuningKey& key, const LeaseHolder& holder) {
  // Read first: a process that waits for a lease must not block writers.
  bool held = false;
  archive.read(Archive::Having::kTables, [&](sqlite::Connection& connection) {
    held = held || is_held(connection, key);
    return held;
  });
  if (held) {
    return false;
  }
  const auto claimed = std::make_shared<bool>(false);
  archive.write(
      [=](sqlite::Connection& connection) { *claimed = claim_lease(connection, key, holder); },
      Archive::Otherwise::kForget);
  return *claimed;
}

}  // namespace

PutResult Store::put(const Record& record, const Source& winner_source, const Binary& winner_binary,
                     const std::vector<TrialRecord>& trials, Replace replace) {
  const auto put = [&] {
    Record winner = record;
    if (winner.tuned_at.empty()) {
      winner.tuned_at = utc_now();
    }
    const KernelKey kernel_key{fingerprint(winner_source), record.toolchain.compiler,
                               record.device.compute_capability};
    const auto stored = std::make_shared<bool>(false);
    archive_->write(
        [=, is_current = is_current_in(*archive_)](sqlite::Connection& connection) {
          // A kernel linked into the library has no binary.
          const auto kernel =
              winner_binary.code.empty()
                  ? std::nullopt
                  : std::optional(put_kernel(connection, kernel_key, winner_binary));
          *stored = false;
          const bool stays = put_winner(connection, winner, kernel, is_current, replace);
          const KeyRows key =
              key_rows(connection, {winner.problem, winner.device, winner.toolchain});
          // Times of different finals cannot be compared, so only the current winner's finals stay
          // marked.
          if (stays) {
            forget_finals(connection, key);
          }
          for (TrialRecord trial : trials) {
            trial.final_round = trial.final_round && stays;
            internal::put_trial(connection, key, trial);
          }
          set_current_toolchain(connection, winner.device, winner.toolchain);
          *stored = stays;
        },
        Archive::Otherwise::kWriteLater);
    archive_->count_change();
    if (*stored) {
      archive_->put_winner(winner);
      return PutResult{true, std::move(winner)};
    }
    // Another process may have stored the winner that stays.
    archive_->forget_found();
    PutResult kept{false, winner};
    for (Record& other :
         archive_->look_up_winners({fingerprint(winner.problem), fingerprint(winner.device)})) {
      if (other.toolchain == winner.toolchain) {
        kept.winner = std::move(other);
        break;
      }
    }
    return kept;
  };
  return no_throw(*archive_, put, PutResult{false, record});
}

void Store::put_comparison(const Record& winner) {
  no_throw(*archive_, [&] {
    archive_->write(work_of(internal::put_comparison, winner), Archive::Otherwise::kWriteLater);
    archive_->forget_found();
  });
}

void Store::put_trial(const TuningKey& key, const TrialRecord& trial) {
  no_throw(*archive_, [&] {
    archive_->pending().add_trial(key, trial, archive_->process());
    if (archive_->pending().trials_are_due()) {
      archive_->write_pending();
    }
  });
}

std::vector<TrialRecord> Store::trials(const TuningKey& key) const {
  return no_throw(*archive_, [&] {
    if (archive_->pending().has_trials()) {
      archive_->write_pending();
    }
    std::vector<TrialRecord> trials;
    for (TrialRecord& trial : archive_->read_all(Archive::Having::kTables, read_trials, key)) {
      // A database that was queried before has the newer outcome.
      const bool is_old = std::ranges::any_of(trials, [&](const TrialRecord& other) {
        return other.family == trial.family && other.config == trial.config;
      });
      if (!is_old) {
        trials.push_back(std::move(trial));
      }
    }
    return trials;
  });
}

void Store::mark_in_flight(const TuningKey& key, std::string_view family, const Config& config,
                           std::string_view family_fingerprint) {
  no_throw(*archive_, [&] {
    const CandidateInFlight candidate{std::string(family), config, std::string(family_fingerprint)};
    archive_->write(work_of(set_in_flight, key, archive_->process(), candidate),
                    Archive::Otherwise::kForget);
  });
}

void Store::clear_in_flight(const TuningKey& key) {
  no_throw(*archive_, [&] {
    archive_->write(work_of(internal::clear_in_flight, key, archive_->process()),
                    Archive::Otherwise::kWriteLater);
  });
}

Lease Store::acquire(const TuningKey& key, double wait_seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kBetweenLooks{50};
  const auto end = Clock::now() + std::chrono::duration<double>(wait_seconds);
  const std::shared_ptr<Archive> archive = archive_;
  return no_throw(*archive, [&] {
    const LeaseHolder holder = archive->new_lease_holder();
    const std::int64_t before = archive->winners_of_others();
    std::shared_ptr<HeldLease> held;
    while (held == nullptr) {
      if (claim(*archive, key, holder)) {
        held = std::make_shared<HeldLease>(archive, key, holder);
      } else if (Clock::now() >= end) {
        break;
      } else {
        std::this_thread::sleep_for(kBetweenLooks);
      }
    }
    archive->refresh();
    return Lease(std::move(held), archive->winners_of_others() != before);
  });
}

}  // namespace tunedgemm::internal

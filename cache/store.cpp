#include "cache/store.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>

#include "cache/archive/archive.h"
#include "cache/tables/rows.h"

namespace tunedgemm::internal {
namespace {

// A cache of a fleet has many devices that differ in their power limit alone.
constexpr std::size_t kSimilarDevices = 4;

KernelKey kernel_key(const Source& source, const Toolchain& toolchain, int architecture) {
  return {fingerprint(source), toolchain.compiler, architecture};
}

void add_up(const Request& request, std::vector<Request>& requests) {
  const auto same = std::find_if(requests.begin(), requests.end(), [&](const Request& other) {
    return other.problem == request.problem;
  });
  if (same == requests.end()) {
    requests.push_back(request);
  } else {
    same->calls += request.calls;
    same->name = joined_names(std::move(same->name), request.name);
  }
}

std::vector<std::vector<Cell>> read_view(const sqlite::Connection& connection,
                                         const CacheView& view, const Store::Equal& equal) {
  const std::vector<std::string> present = connection.column_names(view.name);
  const auto expression = [&](const auto& column) {
    const bool is_present = std::find(present.begin(), present.end(), column) != present.end();
    return is_present ? '"' + std::string(column) + '"' : std::string("NULL");
  };
  std::string columns, condition = "1";
  for (const ViewColumn& column : view.columns) {
    columns += (columns.empty() ? "" : ", ") + expression(column.name);
  }
  for (const auto& [column, value] : equal) {
    condition += " AND CAST(" + expression(column) + " AS TEXT) = ?";
  }
  sqlite::Statement rows(
      connection, "SELECT " + columns + " FROM " + std::string(view.name) + " WHERE " + condition);
  for (int parameter = 0; const auto& [column, value] : equal) {
    rows.bind_one(++parameter, value);
  }
  std::vector<std::vector<Cell>> all;
  while (rows.step()) {
    std::vector<Cell>& row = all.emplace_back();
    for (int column = 0; column < rows.column_count(); ++column) {
      row.push_back(rows.value(column));
    }
  }
  return all;
}

// Sorts a problem's winners into the order in which they are tried. The toolchain's winners come
// first, in the order of the files. The others follow, the newest first.
void sort_for(const Toolchain& toolchain, std::vector<Record>& winners) {
  const auto others =
      std::stable_partition(winners.begin(), winners.end(),
                            [&](const Record& winner) { return winner.toolchain == toolchain; });
  std::stable_sort(others, winners.end(), [](const Record& left, const Record& right) {
    return left.tuned_at > right.tuned_at;
  });
}

std::vector<Record> winners_near(Archive& archive, decltype(find_neighbours)& find_problems,
                                 const CanonicalProblem& problem, const DeviceIdentity& device,
                                 int count) {
  return no_throw(archive, [&] {
    const std::string device_fingerprint = fingerprint(device);
    std::vector<Record> winners;
    archive.read(Archive::Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
      std::string previous;
      for (const std::string& near :
           find_problems(connection, problem, device_fingerprint, count)) {
        if (near != previous) {
          std::vector<Record> stored = find_winners(connection, {near, device_fingerprint});
          std::move(stored.begin(), stored.end(), std::back_inserter(winners));
        }
        previous = near;
      }
      return false;
    });
    return winners;
  });
}

}  // namespace

IsCurrent is_current_in(const Archive& archive) {
  return [&archive](std::string_view family_name, std::string_view fingerprint) {
    const Family* family = archive.family(family_name);
    return family != nullptr && family->fingerprint() == fingerprint;
  };
}

std::string joined_names(std::string names, std::string_view more) {
  constexpr std::string_view kBetween = ", ";
  constexpr std::size_t kMostNameBytes = 200;
  while (!more.empty()) {
    const std::size_t end = std::min(more.find(kBetween), more.size());
    const std::string name(more.substr(0, end));
    more.remove_prefix(std::min(end + kBetween.size(), more.size()));
    const bool is_known =
        (std::string(kBetween) + names + std::string(kBetween))
            .find(std::string(kBetween) + name + std::string(kBetween)) != std::string::npos;
    if (names.empty()) {
      names = name;
    } else if (!is_known && !name.empty() &&
               names.size() + kBetween.size() + name.size() <= kMostNameBytes) {
      names.append(kBetween).append(name);
    }
  }
  return names;
}

std::string_view name(StoreState state) {
  switch (state) {
    case StoreState::kReadWrite:
      return "read and write";
    case StoreState::kReadOnly:
      return "read only";
    case StoreState::kMemoryOnly:
      return "memory only";
  }
  return "unknown";
}

Store::Store(std::shared_ptr<Archive> archive) : archive_(std::move(archive)) {}
Store::~Store() = default;

std::unique_ptr<Store> Store::open(const StoreOptions& options) {
  return std::unique_ptr<Store>(new Store(std::make_shared<Archive>(options)));
}

StoreHealth Store::health() const {
  return no_throw(*archive_, [&] { return archive_->health(); });
}

StoreState Store::state() const {
  return no_throw(
      *archive_, [&] { return archive_->state(); }, StoreState::kMemoryOnly);
}

std::int64_t Store::unsaved_winners() const {
  return no_throw(*archive_, [&] { return archive_->unsaved_winners(); });
}

std::filesystem::path Store::path() const {
  return no_throw(*archive_, [&] { return archive_->path(); });
}

std::optional<Hit> Store::find(const TuningKey& key, const DeviceLimits& limits) const {
  return no_throw(*archive_, [&] {
    const DeviceIdentity& device = key.device;
    const Toolchain& toolchain = key.toolchain;
    const CanonicalProblem& target = key.problem;
    const WinnerKey winner_key{fingerprint(target), fingerprint(device)};
    const IsCurrent is_current = is_current_in(*archive_);
    const auto hit_among = [&](std::vector<Record> winners) {
      std::optional<Hit> hit;
      sort_for(toolchain, winners);
      for (Record& record : winners) {
        // Compare the fields too, since others may have written wrong fingerprints.
        if (!is_current(record.family, record.family_fingerprint) || record.problem != target ||
            record.device != device) {
          continue;
        }
        Instantiation instance =
            archive_->family(record.family)->instantiate(target, record.config, limits);
        if (instance) {
          const Match found = match(record.toolchain, toolchain);
          hit = Hit{std::move(record), found, std::move(instance).value()};
          break;
        }
      }
      return hit;
    };
    archive_->count_lookup();
    std::optional<Hit> hit = hit_among(archive_->known_winners(winner_key));
    if (!hit) {
      hit = hit_among(archive_->look_up_winners(winner_key));
    }
    archive_->note_toolchain(winner_key.device, device, toolchain);
    return hit;
  });
}

std::optional<OutdatedWinner> Store::find_outdated(const TuningKey& key,
                                                   const DeviceLimits& limits) const {
  return no_throw(*archive_, [&] {
    const DeviceIdentity& device = key.device;
    const Toolchain& toolchain = key.toolchain;
    const CanonicalProblem& target = key.problem;
    std::vector<Record> winners =
        archive_->look_up_winners({fingerprint(target), fingerprint(device)});
    sort_for(toolchain, winners);
    std::optional<OutdatedWinner> outdated;
    for (Record& record : winners) {
      const Family* family = archive_->family(record.family);
      if (family == nullptr || record.problem != target || record.device != device ||
          record.toolchain.compiler != toolchain.compiler) {
        continue;
      }
      Instantiation instance = family->instantiate(target, record.config, limits);
      if (!instance) {
        continue;
      }
      const TuningKey key_of_winner{target, device, record.toolchain};
      archive_->read(Archive::Having::kTables, [&](sqlite::Connection& connection) {
        if (auto binary = find_binary_of_winner(connection, key_of_winner)) {
          const Match found = match(record.toolchain, toolchain);
          record.family_fingerprint = family->fingerprint();
          outdated = {Hit{std::move(record), found, std::move(instance).value()},
                      std::move(*binary)};
        }
        return outdated.has_value();
      });
      if (outdated) {
        break;
      }
    }
    return outdated;
  });
}

void Store::renew(const OutdatedWinner& winner) {
  no_throw(*archive_, [&] {
    const Record& record = winner.hit.record;
    const TuningKey key{record.problem, record.device, record.toolchain};
    archive_->write(work_of(renew_winner, key, record.family_fingerprint,
                            fingerprint(winner.hit.winner.source())),
                    Archive::Otherwise::kForget);
    archive_->forget_found();
  });
}

std::vector<Record> Store::winners(const CanonicalProblem& problem,
                                   const DeviceIdentity& device) const {
  return no_throw(*archive_, [&] {
    return archive_->look_up_winners({fingerprint(problem), fingerprint(device)});
  });
}

std::vector<Record> Store::neighbours(const CanonicalProblem& problem, const DeviceIdentity& device,
                                      int count) const {
  return winners_near(*archive_, find_neighbours, problem, device, count);
}

std::vector<Record> Store::distant_neighbours(const CanonicalProblem& problem,
                                              const DeviceIdentity& device, int count) const {
  return winners_near(*archive_, find_distant_neighbours, problem, device, count);
}

std::vector<TunedProblem> Store::tuned_at_other_m(const CanonicalProblem& problem,
                                                  const DeviceIdentity& device) const {
  return no_throw(*archive_, [&] {
    const std::string device_fingerprint = fingerprint(device);
    std::vector<TunedProblem> tuned;
    archive_->read(Archive::Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
      std::map<std::string, std::vector<TrialRecord>> timed =
          read_timed_at_other_m(connection, problem, device_fingerprint);
      for (Record& winner : find_winners_at_other_m(connection, problem, device_fingerprint)) {
        const std::vector<TrialRecord>& of_problem = timed[fingerprint(winner.problem)];
        tuned.push_back({std::move(winner), of_problem});
      }
      return false;
    });
    std::ranges::stable_sort(tuned, {},
                             [](const TunedProblem& one) { return one.winner.problem->m; });
    return tuned;
  });
}

std::vector<DeviceIdentity> Store::similar_devices(const DeviceIdentity& device) const {
  return no_throw(*archive_, [&] {
    std::vector<DeviceIdentity> similar;
    for (DeviceIdentity& other :
         archive_->read_all(Archive::Having::kTables, read_similar_devices, device)) {
      if (std::ranges::find(similar, other) == similar.end()) {
        similar.push_back(std::move(other));
      }
    }
    std::ranges::stable_sort(similar, {}, [&](const DeviceIdentity& other) {
      return std::tuple(other.name != device.name, std::abs(other.units - device.units),
                        std::abs(other.clock_mhz - device.clock_mhz),
                        std::abs(other.power_limit_watts - device.power_limit_watts));
    });
    similar.resize(std::min(similar.size(), kSimilarDevices));
    return similar;
  });
}

std::int64_t Store::changes() const {
  return archive_->changes();
}

std::int64_t Store::refresh() {
  no_throw(*archive_, [&] {
    archive_->write_surplus_requests();
    archive_->refresh();
  });
  return archive_->changes();
}

std::int64_t Store::lookups() const {
  return archive_->lookups();
}

std::optional<Binary> Store::find_binary(const Source& source, const Toolchain& toolchain,
                                         int architecture) const {
  std::vector<StoredBinary> binaries =
      find_binaries(source, toolchain, architecture, toolchain.compiler);
  return !binaries.empty() && binaries.front().compiler == toolchain.compiler
             ? std::optional(std::move(binaries.front().binary))
             : std::nullopt;
}

std::vector<StoredBinary> Store::find_binaries(const Source& source, const Toolchain& toolchain,
                                               int architecture, std::string_view compiler) const {
  return no_throw(*archive_, [&] {
    const KernelKey key = kernel_key(source, toolchain, architecture);
    FoundKernels all;
    archive_->read(Archive::Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
      FoundKernels stored = find_kernels(connection, key);
      std::move(stored.sound.begin(), stored.sound.end(), std::back_inserter(all.sound));
      std::move(stored.damaged.begin(), stored.damaged.end(), std::back_inserter(all.damaged));
      return false;  // a later file may have the binary of `compiler`
    });
    for (const KernelKey& damaged : all.damaged) {
      if (archive_->note_damaged_binary(damaged)) {
        archive_->write(work_of(delete_kernel, damaged), Archive::Otherwise::kForget);
      }
    }
    std::stable_partition(all.sound.begin(), all.sound.end(),
                          [&](const StoredBinary& each) { return each.compiler == compiler; });
    return all.sound;
  });
}

void Store::put_binary(const Source& source, const Toolchain& toolchain, int architecture,
                       const Binary& binary) {
  no_throw(*archive_, [&] {
    archive_->write(work_of(put_kernel, kernel_key(source, toolchain, architecture), binary),
                    Archive::Otherwise::kWriteLater);
    archive_->count_change();
  });
}

void Store::forget_binary(const Source& source, const Toolchain& toolchain, int architecture) {
  no_throw(*archive_, [&] {
    archive_->write(work_of(delete_kernel, kernel_key(source, toolchain, architecture)),
                    Archive::Otherwise::kWriteLater);
  });
}

std::string Store::find_note(std::string_view name) const {
  return no_throw(*archive_, [&] {
    std::string text;
    archive_->read(Archive::Having::kTables, [&](sqlite::Connection& connection) {
      text = internal::find_note(connection, std::string(name));
      return !text.empty();
    });
    return text;
  });
}

void Store::put_note(std::string_view name, std::string_view text) {
  no_throw(*archive_, [&] {
    archive_->write(work_of(set_note, std::string(name), std::string(text)),
                    Archive::Otherwise::kWriteLater);
  });
}

void Store::note_request(const CanonicalProblem& problem, const DeviceIdentity& device,
                         std::int64_t calls, std::string_view name) {
  no_throw(*archive_, [&] {
    archive_->pending().add_request({problem, calls, std::string(name)}, device);
  });
}

void Store::add_name(const CanonicalProblem& problem, const DeviceIdentity& device,
                     std::string_view name) {
  no_throw(*archive_, [&] {
    archive_->pending().add_name({fingerprint(problem), fingerprint(device)}, std::string(name));
  });
}

void Store::flush() {
  no_throw(*archive_, [&] { archive_->write_pending(); });
}

std::vector<Request> Store::requests(const DeviceIdentity& device, Requested which) const {
  return no_throw(*archive_, [&] {
    archive_->write_pending();
    std::vector<Request> requests;
    for (const Request& request :
         archive_->read_all(Archive::Having::kTables, read_requests, device, which)) {
      add_up(request, requests);
    }
    return requests;
  });
}

std::vector<Record> Store::winners() const {
  return no_throw(*archive_, [&] {
    std::vector<Record> records;
    for (WinnerWithState& winner :
         archive_->read_all(Archive::Having::kViewsForPrograms, read_winners)) {
      records.push_back(std::move(winner.record));
    }
    return records;
  });
}

std::unordered_set<std::string> Store::tuned_problems(const DeviceIdentity& device) const {
  return no_throw(*archive_, [&] {
    return archive_->read_all(Archive::Having::kViewsForPrograms, read_tuned_problems,
                              fingerprint(device));
  });
}

std::vector<WinnerWithState> Store::winners_with_state() const {
  return no_throw(*archive_, [&] {
    archive_->write_pending();
    std::vector<WinnerWithState> winners =
        archive_->read_all(Archive::Having::kViewsForPrograms, read_winners);
    // A file may name problems whose winners are in another file.
    std::map<std::string, std::string> names;
    for (const auto& [key, name] :
         archive_->read_all(Archive::Having::kTables, read_names, "main")) {
      std::string& known = names[key.problem + key.device];
      known = joined_names(std::move(known), name);
    }
    for (auto& [record, state, name] : winners) {
      if (const auto known = names.find(fingerprint(record.problem) + fingerprint(record.device));
          known != names.end()) {
        name = known->second;
      }
    }
    return winners;
  });
}

std::vector<std::vector<Cell>> Store::rows_of(const CacheView& view, const Equal& equal) const {
  return no_throw(*archive_, [&] {
    archive_->write_pending();
    return archive_->read_all(Archive::Having::kViewsForPrograms, read_view, view, equal);
  });
}

ForgetResult Store::forget(const std::vector<TuningKey>& keys) {
  const ForgetResult failed{.failure =
                                "cannot write " + path().string() + ", so nothing was forgotten"};
  const auto forget = [&] {
    const auto result = std::make_shared<ForgetResult>();
    const bool written = archive_->write(
        [result, keys](sqlite::Connection& connection) {
          *result = {};
          for (const TuningKey& key : keys) {
            result->winners += delete_winner(connection, key);
            result->trials += delete_trials(connection, key);
            delete_request_without_winner(connection, key);
          }
        },
        Archive::Otherwise::kForget);
    archive_->forget_found();
    return written ? *result : failed;
  };
  return no_throw(*archive_, forget, failed);
}

std::string Store::export_to(
    const std::filesystem::path& destination,
    const std::function<bool(const WinnerWithState& winner)>& selects) const {
  try {
    return archive_->export_to(destination, selects);
  } catch (const std::exception& error) {
    return "cannot write " + destination.string() + ": " + error.what();
  }
}

MergeResult Store::merge(const std::filesystem::path& from) {
  try {
    return archive_->merge(from);
  } catch (const std::exception& error) {
    return {.failure = "cannot merge " + from.string() + ": " + error.what()};
  }
}

GcResult Store::collect_garbage(const GcOptions& options) {
  try {
    return archive_->collect_garbage(options);
  } catch (const std::exception& error) {
    return {.failure = "cannot delete from " + archive_->path().string() + ": " + error.what()};
  }
}

}  // namespace tunedgemm::internal

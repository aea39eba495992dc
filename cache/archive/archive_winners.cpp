// The part of Archive that caches winners in memory.

#include <algorithm>
#include <iterator>

#include "cache/archive/archive.h"
#include "cache/file/location.h"
#include "cache/file/set_aside.h"

namespace tunedgemm::internal {

std::vector<Record> Archive::known_winners(const WinnerKey& key) const {
  const std::shared_lock lock(winners_lock_);
  const auto cached = found_.find(key.problem + key.device);
  return cached == found_.end() ? std::vector<Record>() : cached->second;
}

std::vector<Record> Archive::look_up_winners(const WinnerKey& key) {
  const DatabaseUse use;
  const std::lock_guard databases(databases_);
  // Check for changes before reading, so that a winner stored in between is noticed next time.
  follow_file();
  remember_toolchain_of(key.device);
  std::vector<Record> winners;
  read_locked(Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
    std::vector<Record> stored = find_winners(connection, key);
    std::move(stored.begin(), stored.end(), std::back_inserter(winners));
    return false;
  });
  if (!winners.empty()) {
    const std::unique_lock lock(winners_lock_);
    found_[key.problem + key.device] = winners;
  }
  return winners;
}

void Archive::put_winner(const Record& record) {
  const std::unique_lock lock(winners_lock_);
  const auto cached = found_.find(fingerprint(record.problem) + fingerprint(record.device));
  if (cached != found_.end()) {
    std::erase_if(cached->second,
                  [&](const Record& old) { return old.toolchain == record.toolchain; });
    cached->second.insert(cached->second.begin(), record);
  }
  toolchain_of_[fingerprint(record.device)] = fingerprint(record.toolchain);
}

void Archive::forget_found() {
  count_change();
  const std::unique_lock lock(winners_lock_);
  found_.clear();
  toolchain_of_.clear();
}

void Archive::refresh() {
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  follow_file();
}

void Archive::follow_file() {
  if (!file_) {
    return;
  }
  if (file_->was_replaced()) {
    if (file_->writable) {
      reopen();
      ++winners_of_others_;
    }
    return;
  }
  if (file_->newer) {
    return;
  }
  ask_one(*file_, Having::kTables, [&](sqlite::Connection& connection) {
    const std::int64_t version = connection.integer("PRAGMA data_version");
    if (version != data_version_) {
      // Every transaction of another process changes the version, but few transactions store a
      // winner.
      const std::int64_t newest = newest_winner(connection);
      winners_of_others_ += newest != newest_winner_ ? 1 : 0;
      newest_winner_ = newest;
      data_version_ = version;
      forget_found();
    }
    return true;
  });
}

void Archive::remember_toolchain_of(const std::string& device_fingerprint) {
  {
    const std::shared_lock lock(winners_lock_);
    if (!file_ || !file_->writable || toolchain_of_.count(device_fingerprint) > 0) {
      return;
    }
  }
  std::string toolchain;
  ask_one(*file_, Having::kTables, [&](sqlite::Connection& connection) {
    sqlite::Statement row(connection,
                          "SELECT t.fingerprint FROM device d JOIN toolchain t ON "
                          "t.id = d.toolchain WHERE d.fingerprint = ?");
    if (row.bind(device_fingerprint).step()) {
      row.read(toolchain);
    }
    return true;
  });
  const std::unique_lock lock(winners_lock_);
  toolchain_of_.emplace(device_fingerprint, toolchain);
}

void Archive::note_toolchain(const std::string& device_fingerprint, const DeviceIdentity& device,
                             const Toolchain& toolchain) {
  const std::string current = fingerprint(toolchain);
  const auto is_current = [&] {
    const auto seen = toolchain_of_.find(device_fingerprint);
    return seen == toolchain_of_.end() || seen->second.empty() || seen->second == current;
  };
  {
    const std::shared_lock lock(winners_lock_);
    if (is_current()) {
      return;
    }
  }
  const std::unique_lock lock(winners_lock_);
  if (!is_current()) {
    toolchain_of_[device_fingerprint] = current;
    pending_.add_toolchain(device, toolchain);
  }
}

std::filesystem::path Archive::path() const {
  return options_.access == StoreOptions::Access::kMemoryOnly ? std::filesystem::path()
                                                              : store_path(options_);
}

StoreState Archive::state() const {
  const std::lock_guard lock(databases_);
  return state_locked();
}

StoreState Archive::state_locked() const {
  if (!file_) {
    return StoreState::kMemoryOnly;
  }
  return file_->writable ? StoreState::kReadWrite : StoreState::kReadOnly;
}

std::int64_t Archive::unsaved_winners() {
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  return memory_ ? memory_->integer("SELECT count(*) FROM winner") : 0;
}

StoreHealth Archive::health() {
  StoreHealth health;
  read(Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
    health.winners += connection.integer("SELECT count(*) FROM winner_v1");
    return false;
  });
  health.path = path();
  if (!health.path.empty() && std::filesystem::exists(aside_of(health.path))) {
    health.recovery_command = recovery_command(health.path);
  }
  health.sqlite_version = sqlite3_libversion();
  health.unsaved_winners = unsaved_winners();
  {
    const DatabaseUse use;
    const std::lock_guard lock(databases_);
    health.state = state_locked();
    if (file_) {
      ask_one(*file_, Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
        health.journal_mode = connection.text("PRAGMA journal_mode");
        return true;
      });
      health.is_on_local_disk = is_on_local_file_system(file_->path.parent_path());
      std::error_code error;
      const auto bytes = std::filesystem::file_size(health.path, error);
      health.file_bytes = error ? 0 : static_cast<std::int64_t>(bytes);
    }
    for (StoreFile& file : system_files_) {
      ask_one(file, Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
        health.system_files.push_back(
            {file.path, connection.integer("SELECT count(*) FROM winner_v1")});
        return true;
      });
    }
  }
  const std::lock_guard lock(warnings_lock_);
  health.warnings = warnings_;
  if (!damaged_binaries_.empty()) {
    health.warnings.push_back(std::to_string(damaged_binaries_.size()) +
                              " stored binaries did not match their stored hash; they are not "
                              "used, and were deleted from the file if it can be written");
  }
  return health;
}

}  // namespace tunedgemm::internal

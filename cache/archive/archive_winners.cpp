// The part of Archive that keeps the winners in memory.

#include "cache/archive/archive.h"
#include "cache/file/location.h"

namespace tunedgemm {
namespace {

struct OneWinner {
  std::string problem, device;
  StoredWinner winner;
};

std::vector<OneWinner> winners_of(const sqlite::Connection& connection) {
  std::vector<OneWinner> winners;
  read_winners(connection, WithState::kNo,
               [&](const std::string& problem, const std::string& device, StoredWinner winner) {
                 winners.push_back({problem, device, std::move(winner)});
               });
  return winners;
}

}  // namespace

void Archive::use_winners(const std::function<void(const WinnerIndex&)>& use) {
  if (!loaded_) {
    const std::lock_guard lock(databases_);
    if (!loaded_) {
      load_winners();
    }
  }
  const std::shared_lock lock(winners_lock_);
  use(winners_);
}

void Archive::load_winners() {
  // Before reading: what is stored meanwhile is seen at the next refresh.
  remember_state_of_file();
  WinnerIndex loaded;
  read_locked(Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
    for (OneWinner& one : winners_of(connection)) {
      loaded.add(one.problem, one.device, std::move(one.winner));
    }
    return false;
  });
  std::unordered_map<std::string, std::string> toolchains;
  if (file_ && file_->writable) {
    ask_one(*file_, Having::kTables, [&](sqlite::Connection& connection) {
      sqlite::Statement rows(connection,
                             "SELECT d.fingerprint, t.fingerprint FROM device d "
                             "JOIN toolchain t ON t.id = d.toolchain");
      std::string device, toolchain;
      while (rows.step()) {
        rows.read(device, toolchain);
        toolchains[device] = toolchain;
      }
      return true;
    });
  }
  const std::unique_lock lock(winners_lock_);
  winners_ = std::move(loaded);
  toolchain_of_ = std::move(toolchains);
  loaded_ = true;
}

void Archive::remember_state_of_file() {
  data_version_ = 0;
  if (file_ && !file_->newer) {
    ask_one(*file_, Having::kTables, [&](sqlite::Connection& connection) {
      data_version_ = connection.integer("PRAGMA data_version");
      stamp_ = winners_stamp(connection);
      return true;
    });
  }
}

void Archive::put_winner(const Record& record) {
  const std::unique_lock lock(winners_lock_);
  if (loaded_) {
    winners_.replace(fingerprint(record.problem), fingerprint(record.device), stored(record));
  }
}

bool Archive::refresh() {
  const std::lock_guard lock(databases_);
  if (!file_) {
    return false;
  }
  if (file_->was_replaced()) {
    if (file_->writable) {
      reopen();
    }
    return !loaded_;
  }
  if (file_->newer || !loaded_) {
    return !loaded_;
  }
  // Every transaction of another process changes the version; few of them store a winner.
  ask_one(*file_, Having::kTables, [&](sqlite::Connection& connection) {
    const std::int64_t version = connection.integer("PRAGMA data_version");
    if (version != data_version_) {
      data_version_ = version;
      loaded_ = winners_stamp(connection) == stamp_;
    }
    return true;
  });
  return !loaded_;
}

void Archive::note_toolchain(const std::string& device_fingerprint, const DeviceIdentity& device,
                             const Toolchain& toolchain) {
  const std::string current = fingerprint(toolchain);
  const auto is_known = [&] {
    const auto known = toolchain_of_.find(device_fingerprint);
    return known == toolchain_of_.end() || known->second == current;
  };
  {
    const std::shared_lock lock(winners_lock_);
    if (is_known()) {
      return;
    }
  }
  const std::unique_lock lock(winners_lock_);
  if (!is_known()) {
    toolchain_of_[device_fingerprint] = current;
    pending_.add_toolchain(device, toolchain);
  }
}

StoreHealth Archive::health() {
  StoreHealth health;
  use_winners([&](const WinnerIndex& winners) { health.winners = winners.size(); });
  health.path = store_path(options_);
  health.sqlite_version = sqlite3_libversion();
  {
    const std::lock_guard lock(databases_);
    if (file_) {
      health.state = file_->writable ? StoreState::kReadWrite : StoreState::kReadOnly;
      ask_one(*file_, Having::kViewsForPrograms, [&](sqlite::Connection& connection) {
        health.journal_mode = connection.text("PRAGMA journal_mode");
        return true;
      });
      std::error_code error;
      const auto bytes = std::filesystem::file_size(health.path, error);
      health.file_bytes = error ? 0 : static_cast<std::int64_t>(bytes);
    }
  }
  const std::lock_guard lock(warnings_lock_);
  health.warnings = warnings_;
  if (damaged_binaries_ > 0) {
    health.warnings.push_back(std::to_string(damaged_binaries_) +
                              " stored binaries did not have the hash that was stored with them "
                              "and were forgotten");
  }
  return health;
}

}  // namespace tunedgemm

#include "cache/archive/archive.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "cache/file/location.h"
#include "cache/file/set_aside.h"
#include "cache/sqlite/schema.h"
#include "kernel_templates/base/log.h"

namespace tunedgemm::internal {
namespace {

// The pause before the next attempt to write, if the file was busy for the whole busy timeout or
// the disk was full. After the same pause, a writer waits again at a queue that was blocked.
constexpr std::chrono::seconds kPauseAfterFailure{10};
constexpr std::size_t kMostUnsaved = 256;
constexpr std::size_t kMostWarnings = 100;
// A damaged file is replaced at most this often. If it is damaged again, its disk must be bad.
constexpr int kMostReplacements = 3;

std::string random_prefix() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random()) + "/";
}

}  // namespace

Archive::Archive(const StoreOptions& options)
    : options_(options), process_(this_process()), lease_prefix_(random_prefix()) {
  const DatabaseUse use;
  const auto path = store_path(options_);
  switch (options_.access) {
    case StoreOptions::Access::kReadWrite:
      if (path.empty()) {
        warn(
            "there is no home folder, so results are kept in memory only. Set TUNEDGEMM_CACHE to a "
            "file in a folder that you can write");
      } else {
        file_ = open_to_write(path, options_, warn_function());
      }
      break;
    case StoreOptions::Access::kReadOnly:
      if (!path.empty()) {
        file_ = open_to_read(path, options_, warn_function());
      }
      break;
    case StoreOptions::Access::kMemoryOnly:
      break;
  }
  note_families();
  for (const auto& system_path : system_store_paths(options_)) {
    if (auto opened = open_to_read(system_path, options_, warn_function())) {
      system_files_.push_back(std::move(*opened));
    }
  }
}

Archive::~Archive() {
  const DatabaseUse use;
  if (file_ && file_->writable) {
    write_what_is_left();
  }
  file_.reset();
  memory_.reset();
  system_files_.clear();
}

void Archive::write_what_is_left() {
  try {
    write_pending();
    if (leases_ > 0) {
      write(
          [prefix = lease_prefix_](sqlite::Connection& connection) {
            sqlite::Statement(connection, "DELETE FROM lease WHERE token GLOB ? || '*'")
                .bind(prefix)
                .run();
          },
          Otherwise::kForget);
    }
  } catch (const std::exception& error) {
    log_warning(error.what());
  }
}

const Family* Archive::family(std::string_view name) const {
  return options_.find_family ? options_.find_family(name) : find_family(name);
}

// The views use the families' rows in `meta` to decide which winners are void.
void Archive::note_families() {
  if (!file_ || !file_->writable) {
    return;
  }
  ask_one(*file_, Having::kTables, [&](sqlite::Connection& connection) {
    sqlite::Statement rows(connection,
                           "SELECT substr(name, length('family ') + 1), value FROM meta "
                           "WHERE name GLOB 'family *'");
    std::string name, fingerprint;
    while (rows.step()) {
      rows.read(name, fingerprint);
      const Family* registered = family(name);
      if (registered != nullptr && registered->fingerprint() != fingerprint) {
        pending_.add_family(name, registered->fingerprint());
      }
    }
    return true;
  });
}

void Archive::write_pending() {
  {
    const DatabaseUse use;
    const std::lock_guard lock(databases_);
    if (!unsaved_.empty()) {
      write_again_at_ = Clock::time_point::min();
      write_to_file({});
    }
  }
  if (const Work pending = pending_.take()) {
    write(pending, Otherwise::kWriteLater);
  }
}

void Archive::write_surplus_requests() {
  while (const Work surplus = pending_.take_surplus_requests()) {
    {
      const DatabaseUse use;
      const std::lock_guard lock(databases_);
      if (file_ && file_->writable) {
        write_or_keep({surplus}, Otherwise::kWriteLater);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a look-up that waits goes first
  }
}

bool Archive::write(const Work& work, Otherwise otherwise) {
  std::vector<Work> works;
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  const Work pending = pending_.take();
  if (pending) {
    works.push_back(pending);
  }
  works.push_back(work);
  return write_or_keep(std::move(works), otherwise);
}

bool Archive::write_or_keep(std::vector<Work> works, Otherwise otherwise) {
  if (write_to_file(works)) {
    return true;
  }
  write_to_memory(works);
  if (file_ && file_->writable) {
    if (otherwise == Otherwise::kForget) {
      works.pop_back();
    }
    unsaved_.insert(unsaved_.end(), works.begin(), works.end());
    if (unsaved_.size() > kMostUnsaved) {
      unsaved_.erase(unsaved_.begin(), unsaved_.end() - kMostUnsaved);
    }
  }
  return false;
}

bool Archive::write_to_file(const std::vector<Work>& works) {
  constexpr int kAttempts = 4;
  bool is_ours = true;
  for (int attempt = 0; attempt < kAttempts && can_write(); ++attempt) {
    try {
      if (!is_ours || file_->was_replaced()) {
        reopen();
        is_ours = true;
        continue;
      }
      std::optional<sqlite::Transaction> transaction;
      {
        // A writer that blocks the queue for the whole timeout is stuck. Don't wait for it again
        // and again.
        const bool is_moving = Clock::now() >= queue_again_at_;
        const LockFile::Held held(*file_->writers_lock, is_moving ? options_.busy_timeout_ms : 0);
        if (is_moving && !held) {
          queue_again_at_ = Clock::now() + kPauseAfterFailure;
        }
        transaction.emplace(file_->connection);
      }
      // Nobody can replace the file from here on, since we hold the write lock (replace_damaged()).
      // But the file may have been replaced before, or migrated by a newer library.
      is_ours = !file_->was_replaced() &&
                file_->connection.integer("PRAGMA user_version") == kSchemaVersion;
      if (!is_ours) {
        continue;
      }
      const auto violations = is_known_whole_ ? Violations::kLeftOut : Violations::kThrown;
      run(unsaved_, file_->connection, violations);
      run(works, file_->connection, violations);
      transaction->commit();
      forget_unsaved();
      return true;
    } catch (const sqlite::Error& error) {
      // A violated constraint shows that a referenced row was lost, or that a value is wrong.
      if (error.code() == SQLITE_CONSTRAINT && is_whole(file_->path, options_.busy_timeout_ms)) {
        is_known_whole_ = true;
        continue;
      }
      if (error.is_damage() || error.code() == SQLITE_CONSTRAINT) {
        replace_damaged_file();
        continue;
      }
      write_again_at_ = Clock::now() + kPauseAfterFailure;
      warn(file_->path.string() +
           " could not be written, so results are kept in memory for now: " + error.what());
    }
  }
  return false;
}

void Archive::run(const std::vector<Work>& works, sqlite::Connection& connection,
                  Violations violations) {
  for (const Work& work : works) {
    sqlite::Savepoint savepoint(connection);
    try {
      work(connection);
      savepoint.release();
    } catch (const sqlite::Error& error) {
      if (error.code() != SQLITE_CONSTRAINT || violations == Violations::kThrown) {
        throw;
      }
      warn(std::string("a result was not stored, because a value in it is not allowed: ") +
           error.what() + ". This is a bug of the library: please report it");
    }
  }
}

// Called when the file has everything that was only in memory.
void Archive::forget_unsaved() {
  if (!unsaved_.empty()) {
    unsaved_.clear();
    memory_.reset();
    forget_found();
  }
}

void Archive::write_to_memory(const std::vector<Work>& works) {
  if (!memory_) {
    memory_ = sqlite::Connection::in_memory();
    create_schema(*memory_);
  }
  sqlite::Transaction transaction(*memory_);
  run(works, *memory_, Violations::kLeftOut);
  transaction.commit();
}

void Archive::reopen() {
  const auto path = file_->path;
  file_.reset();
  data_version_ = 0;
  is_known_whole_ = false;
  file_ = open_to_write(path, options_, warn_function());
  forget_found();
}

void Archive::replace_damaged_file() {
  const auto path = file_->path;
  file_.reset();
  data_version_ = 0;
  is_known_whole_ = false;
  forget_found();
  if (++replacements_ <= kMostReplacements) {
    file_ = replace_and_open(path, options_, warn_function());
  } else {
    warn(path.string() + " is damaged again; results are kept in memory only");
  }
}

void Archive::read(Having having, const std::function<bool(sqlite::Connection&)>& ask) {
  const DatabaseUse use;
  const std::lock_guard lock(databases_);
  read_locked(having, ask);
}

void Archive::read_locked(Having having, const std::function<bool(sqlite::Connection&)>& ask) {
  if (memory_ && ask(*memory_)) {
    return;
  }
  if (file_ && ask_one(*file_, having, ask)) {
    return;
  }
  for (StoreFile& file : system_files_) {
    if (ask_one(file, having, ask)) {
      return;
    }
  }
}

bool Archive::ask_one(StoreFile& file, Having having,
                      const std::function<bool(sqlite::Connection&)>& ask) {
  if (having == Having::kTables && file.newer) {
    return false;
  }
  try {
    return ask(file.connection);
  } catch (const sqlite::Error& error) {
    if (error.is_damage() && file_ && &file == &*file_ && file.writable) {
      replace_damaged_file();
      return file_ && !file_->newer && ask(file_->connection);
    }
    warn(file.path.string() + " could not be read: " + error.what());
    return false;
  }
}

LeaseHolder Archive::new_lease_holder() {
  return {process_, lease_prefix_ + std::to_string(++leases_)};
}

Warn Archive::warn_function() {
  return [this](std::string sentence) { warn(std::move(sentence)); };
}

void Archive::warn(std::string sentence) {
  const std::lock_guard lock(warnings_lock_);
  if (warnings_.size() < kMostWarnings &&
      std::find(warnings_.begin(), warnings_.end(), sentence) == warnings_.end()) {
    log_warning(sentence);
    warnings_.push_back(std::move(sentence));
  }
}

bool Archive::note_damaged_binary(const KernelKey& key) {
  const std::lock_guard lock(warnings_lock_);
  return damaged_binaries_.insert(key).second;
}

void Archive::warn_of_failure(const char* what) noexcept {
  try {
    warn(std::string("a store operation failed: ") + what);
  } catch (const std::exception&) {
    log_warning(what);
  }
}

}  // namespace tunedgemm::internal

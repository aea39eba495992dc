#pragma once

// LockFile: "<database>.lock", a lock beside SQLite's own. Private to cache. It is not the lease
// that keeps two processes from tuning the same problem, which is a row (tables/lease_rows.cpp).
//
// Writers queue at the lock file: each locks the file, then asks SQLite for the write lock, and
// unlocks the file once it has the write lock. Without the queue, a process that writes
// continuously would take the write lock again before any waiter wakes up, and waiters would exceed
// their busy timeout. The lock file also ensures that only one process replaces a damaged database.

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace tunedgemm::internal {

/// Closes the file when destroyed. Move-only; used by one thread at a time.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of a result of open(2); a negative number stands for no file.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Gives up the descriptor without closing it.
  void keep_open() { number_ = -1; }

 private:
  int number_ = -1;
};

/// Move-only; used by one thread at a time.
class LockFile {
 public:
  /// Creates the file if it is missing. If it cannot be created, locking fails.
  explicit LockFile(const std::filesystem::path& database);
  /// For readers: does not create the file. A missing file counts as unlocked.
  static LockFile if_there(const std::filesystem::path& database);

  /// Waits up to `busy_timeout_ms` for the lock and holds it until destroyed. Converts to false if
  /// the lock was not taken.
  class Held {
   public:
    [[nodiscard]] Held(const LockFile& file, int busy_timeout_ms);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    explicit operator bool() const { return handle_ >= 0; }

   private:
    int handle_;
  };

 private:
  LockFile(const std::filesystem::path& database, int flags);

  Descriptor file_;
};

}  // namespace tunedgemm::internal

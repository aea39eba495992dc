#pragma once

// LockFile: "<database>.lock", where processes wait for what SQLite's own locks do not give.
// Private to cache.
//
// Writers queue at it: each takes it before it asks SQLite for the right to write, and gives it
// back when it has that right. Without it, a process that writes all the time takes the right again
// before those who wait for it have woken up, and on a loaded machine they would wait until their
// busy timeout ends. And it makes one process alone replace a damaged file.

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace tunedgemm::internal {

/// Closes the file when destroyed. Move-only; used by one thread at a time.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over what open(2) gave; negative: none.
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
  /// Leaves it open for ever.
  void keep_open() { number_ = -1; }

 private:
  int number_ = -1;
};

/// Move-only; used by one thread at a time.
class LockFile {
 public:
  /// Made if it is not there. Where that cannot be, locking fails.
  explicit LockFile(const std::filesystem::path& database);
  /// For those who change nothing: where it is not there, nobody has ever locked it.
  static LockFile if_there(const std::filesystem::path& database);

  /// Waits for at most `busy_timeout_ms` until nobody else holds the lock, and holds it until
  /// destroyed.
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

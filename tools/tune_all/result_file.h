#pragma once

// ResultFile: the winners of one process of a cluster job, as an exported cache in a folder that
// all its processes share. The processes tune in caches of their own on local disks, because
// SQLite's locks do not work on every network file system; an exported file needs none.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.h"
#include "runtime/context/context.h"
#include "runtime/process/private_folder.h"
#include "tools/tune_all/shard.h"

namespace tunedgemm::internal {

/// A new cache on a local disk for a run with --results. The destructor removes it.
class LocalCache {
 public:
  std::filesystem::path path() const { return folder_.path() / "tunedgemm.db"; }
  PrivateFolder& folder() { return folder_; }

 private:
  PrivateFolder folder_;
};

/// publish() is thread-safe.
class ResultFile {
 public:
  /// Shows whether a path still has the same file with the same contents.
  struct FileState {
    std::uint64_t device = 0, inode = 0;
    std::int64_t bytes = 0, seconds = 0, nanoseconds = 0;

    friend bool operator==(const FileState&, const FileState&) = default;
  };

  /// Throws std::runtime_error if the folder cannot be used: its files contain machine code, so
  /// nobody else may have write permission.
  /// `list` is the whole list. Its problems and the device are part of the file's name, so that one
  /// folder can hold the results of several lists and kinds of devices.
  ResultFile(const std::filesystem::path& folder, Shard shard, const WorkList& list,
             LocalCache& local, const DeviceIdentity& device);

  const std::filesystem::path& path() const { return path_; }

  /// Finds what is tuned already. Imports an earlier file of the same name into the context's
  /// cache, since publish() will replace it; throws std::runtime_error if that is impossible.
  /// Removes the shapes for which another process's file in the folder has a sufficient winner of
  /// the context's device, and returns their number. An audited shape is removed only if a file of
  /// this shard has it, written on another machine. With automatic ladders, which continue from the
  /// winners of their layers, imports every file instead. With TuneOptions::force no shape is
  /// removed.
  std::size_t resume(ShardOfList& part, Context& context, const TuneOptions& options);

  /// Creates the folder if it is missing. Throws std::runtime_error if files cannot be created
  /// there.
  void make_folder() const;

  /// Replaces the file by the present contents of the store. Does nothing if too little time has
  /// passed since the last call, or if another thread is just doing it. After a failure finish()
  /// tries again; the first failure is also reported at once, and the local cache is kept until a
  /// later attempt succeeds.
  ///
  /// Never replaces winners that the store does not have: a file that something else has written
  /// meanwhile, and every file after a loss of the local cache, is imported first.
  void publish(Store& store);
  /// Replaces the file. Returns a sentence if that fails, else "".
  std::string finish(Store& store);

  /// The number of these keys that have a winner in the file.
  std::size_t winners_of(const std::vector<TuningKey>& keys, const DeviceLimits& limits) const;

 private:
  std::vector<std::filesystem::path> other_files() const;
  std::string replace(Store& store);
  void try_replace(Store& store);
  void import_own_file(Store& store);

  std::filesystem::path folder_;
  std::string own_prefix_;  // of all files of this shard
  std::filesystem::path path_;
  LocalCache& local_;
  std::filesystem::path export_path_;
  /// The file that this process has imported or written last, and its winners then.
  std::optional<FileState> known_;
  std::int64_t known_winners_ = 0;
  bool has_warned_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

}  // namespace tunedgemm::internal

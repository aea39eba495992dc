#pragma once

// ResultFile: the winners of one process of a cluster job, as an exported cache in a folder that
// all its processes share. The processes tune in caches of their own on local disks, because
// SQLite's locks do not work on every network file system; an exported file needs none.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
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
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  PrivateFolder folder_;
};

/// publish() is thread-safe.
class ResultFile {
 public:
  /// Throws std::runtime_error if the folder cannot be used: its files contain machine code, so
  /// nobody else may have write permission.
  /// `list` is the whole list. Its problems and the device are part of the file's name, so that one
  /// folder can hold the results of several lists and kinds of devices.
  ResultFile(const std::filesystem::path& folder, Shard shard, const WorkList& list,
             const LocalCache& local, const DeviceIdentity& device);

  const std::filesystem::path& path() const { return path_; }

  /// Finds what is tuned already. Imports an earlier file of the same name into the context's
  /// cache, since publish() will replace it. Removes the shapes for which another process's file in
  /// the folder has a sufficient winner of the context's device, and returns their number. An
  /// audited shape is removed only if a file of this shard has it, written on another machine. With
  /// automatic ladders, which continue from the winners of their layers, imports every file
  /// instead. With TuneOptions::force no shape is removed.
  std::size_t resume(ShardOfList& part, Context& context, const TuneOptions& options) const;

  /// Creates the folder if it is missing. Throws std::runtime_error if files cannot be created
  /// there.
  void make_folder() const;

  /// Replaces the file by the present contents of the store. Does nothing if too little time has
  /// passed since the last call, or if another thread is just doing it. If it fails, finish()
  /// tries again.
  void publish(const Store& store);
  /// Replaces the file. Returns a sentence if that fails, else "".
  std::string finish(const Store& store);

 private:
  std::vector<std::filesystem::path> other_files() const;
  std::string replace(const Store& store) const;

  std::filesystem::path folder_;
  std::string own_prefix_;  // of all files of this shard
  std::filesystem::path path_;
  std::filesystem::path export_path_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

}  // namespace tunedgemm::internal

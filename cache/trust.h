#pragma once

// Decides whether a file with code (a cache, a compiler or a library) may be used. As SSH does for
// keys, accepts a file only if nobody but this user and root can write it.

#include <filesystem>
#include <string>

namespace tunedgemm::internal {

struct Trust {
  /// The path without links. If nothing exists there yet, the path where it would be.
  std::filesystem::path real_path;
  /// Empty if the file may be used. Otherwise the problem and the remedy, in words that follow the
  /// file's name: "belongs to user 1000 ...".
  std::string why_not;

  explicit operator bool() const { return why_not.empty(); }
};

/// Checks the file, its folder, and all folders above, following links: each must belong to this
/// (effective) user or to root, and nobody else may have write permission. A folder that others can
/// write is accepted if its sticky bit is set (as in /tmp), it is above the file's own folder, and
/// the path follows no link in it. Nobody else can change an accepted file, so it may be opened.
///
/// Anything at or below a path of $TUNEDGEMM_TRUST (':'-separated) is accepted unchecked; a program
/// with more privileges than its user (set-uid) ignores the environment. Thread-safe. Opens
/// nothing, so a FIFO cannot block it.
Trust examine_trust(const std::filesystem::path& path);

}  // namespace tunedgemm::internal

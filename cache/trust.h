#pragma once

// The only place that decides whether a file that is executed or holds code may be used: a cache, a
// compiler, a library. As SSH does for keys, it accepts only a file that nobody but this user and
// root can have written.

#include <filesystem>
#include <string>

namespace tunedgemm::internal {

struct Trust {
  /// The path without links. If nothing exists there yet, the path where it would be.
  std::filesystem::path real_path;
  /// Empty if the file may be used, else what is wrong and what to do, phrased to follow the file's
  /// name: "belongs to user 1000 ...".
  std::string why_not;

  explicit operator bool() const { return why_not.empty(); }
};

/// Checks the file, its folder, and all folders above, following links: each must belong to this
/// (effective) user or to root, and nobody else may have write permission. A world-writable folder
/// above the file's own folder is accepted if it is sticky (/tmp), unless a link in it has to be
/// followed. After a positive answer nobody else can change the file, so it may be opened.
///
/// Anything at or below a path of $TUNEDGEMM_TRUST (':'-separated) is accepted unchecked; a program
/// with more privileges than its user (set-uid) ignores the environment. Any thread may call it; it
/// opens nothing, so it never waits.
Trust examine_trust(const std::filesystem::path& path);

}  // namespace tunedgemm::internal

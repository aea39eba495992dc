#pragma once

// The one place that decides whether a file may be used that holds code, or is executed: a cache, a
// compiler, a library. As SSH does with keys, it takes what nobody but this user and root can have
// put there.

#include <filesystem>
#include <string>

namespace tunedgemm::internal {

struct Trust {
  /// Without links. Where nothing is there yet, the place where it would be.
  std::filesystem::path real_path;
  /// Empty if it may be used, else what is wrong with it and what to do, to follow the name of the
  /// file: "belongs to user 1000 ...".
  std::string why_not;

  explicit operator bool() const { return why_not.empty(); }
};

/// Looks at the file, the folder that it is in, and all above that, links followed: each belongs to
/// this (effective) user or to root, and nobody else can write it. Above the file's own folder one
/// that all can write is accepted if it is sticky (/tmp), unless a link in it has to be followed. So
/// after this answer nobody else can change what lies there, and the file may be opened.
///
/// What lies at or below a path of $TUNEDGEMM_TRUST (':'-separated) is taken as it is; a program
/// that runs with more rights than its user does not ask the environment. Any thread may call it; it
/// opens nothing, so that it never waits.
Trust examine_trust(const std::filesystem::path& path);

}  // namespace tunedgemm::internal

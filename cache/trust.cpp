#include "cache/trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

bool is_at_or_below(const fs::path& path, const fs::path& folder) {
  const auto [rest, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  // A trailing slash in the folder's name makes an empty last part.
  return rest == folder.end() || (rest->empty() && std::next(rest) == folder.end());
}

bool is_trusted_by_user(const fs::path& path) {
  const std::string paths = environment("TUNEDGEMM_TRUST");
  for (const std::string_view each : split(paths, ':')) {
    std::error_code error;
    const fs::path whole = fs::absolute(each, error);
    if (!each.empty() && !error && is_at_or_below(path, whole.lexically_normal())) {
      return true;
    }
  }
  return false;
}

bool others_can_write(const struct stat& status) {
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

constexpr const char* kRemedy =
    ", who could plant code there. Use a folder that only you can write, or name the path in "
    "TUNEDGEMM_TRUST if you trust them";

enum class Role { kFile, kFolderOfFile, kFolderAbove, kLink };

std::string why_not(const fs::path& path, const struct stat& status, Role role) {
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return path.string() + " belongs to user " + std::to_string(status.st_uid) + kRemedy;
  }
  const bool sticky = role == Role::kFolderAbove && (status.st_mode & S_ISVTX) != 0;
  if (role != Role::kLink && others_can_write(status) && !sticky) {
    return path.string() + " can be written by others" + kRemedy;
  }
  return {};
}

// Follows a path from the root, name by name.
class Walk {
 public:
  /// The path is absolute.
  explicit Walk(const fs::path& path) { prepend(path); }

  Trust run() {
    if (std::string bad = check_folder(); !bad.empty()) {
      return {at_, std::move(bad)};
    }
    while (!rest_.empty()) {
      if (std::string bad = step(); !bad.empty()) {
        return {at_, std::move(bad)};
      }
    }
    return {at_, {}};
  }

 private:
  void prepend(const fs::path& path) {
    std::vector<fs::path> names;
    for (const fs::path& name : path.relative_path()) {
      if (!name.empty() && name != ".") {
        names.push_back(name);
      }
    }
    rest_.insert(rest_.begin(), names.begin(), names.end());
  }

  // If at most one name is left, this is the file's own folder, else one above it.
  std::string check_folder() {
    if (stat(at_.c_str(), &folder_) != 0) {
      return at_.string() + " cannot be examined: " + std::strerror(errno);
    }
    return why_not(at_, folder_, rest_.size() <= 1 ? Role::kFolderOfFile : Role::kFolderAbove);
  }

  std::string step() {
    const fs::path name = rest_.front();
    rest_.pop_front();
    if (name == "..") {
      at_ = at_.parent_path();
      return check_folder();
    }
    const fs::path next = at_ / name;
    struct stat status {};
    if (lstat(next.c_str(), &status) != 0) {
      if (errno != ENOENT) {
        return next.string() + " cannot be examined: " + std::strerror(errno);
      }
      // The rest of the path is missing, and will be created for this user alone.
      at_ = next;
      for (; !rest_.empty(); rest_.pop_front()) {
        at_ /= rest_.front();
      }
      return {};
    }
    if (S_ISLNK(status.st_mode)) {
      return follow(next, status);
    }
    at_ = next;
    if (!rest_.empty()) {
      return check_folder();
    }
    return why_not(next, status, Role::kFile);
  }

  std::string follow(const fs::path& link, const struct stat& status) {
    if (others_can_write(folder_)) {
      return link.string() + " is a link in a folder that can be written by others" + kRemedy;
    }
    if (std::string bad = why_not(link, status, Role::kLink); !bad.empty()) {
      return bad;
    }
    constexpr int kMostLinks = 40;  // the limit of Linux
    std::error_code error;
    const fs::path target = fs::read_symlink(link, error);
    if (error || ++links_ > kMostLinks) {
      return link.string() + " is a link that cannot be followed";
    }
    prepend(target);
    if (target.is_absolute()) {
      at_ = "/";
    }
    // The link's target has added names, so this folder's role may have changed: check it again.
    return check_folder();
  }

  std::deque<fs::path> rest_;
  fs::path at_ = "/";
  struct stat folder_ {};  // of at_, while names remain
  int links_ = 0;
};

}  // namespace

Trust examine_trust(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) {
    return {path, path.string() + " has no absolute path: " + error.message()};
  }
  if (is_trusted_by_user(whole.lexically_normal())) {
    const fs::path real = fs::weakly_canonical(whole, error);
    return {error ? whole : real, {}};
  }
  return Walk(whole).run();
}

}  // namespace tunedgemm::internal

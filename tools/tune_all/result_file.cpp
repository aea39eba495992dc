#include "tools/tune_all/result_file.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "cache/replace_file.h"
#include "cache/trust.h"
#include "kernel_templates/base/sha256.h"
#include "tools/shared/cache_files.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The least pause after a publication, relative to the time that it took: 5 % of the run's time.
constexpr int kPause = 20;

// The machine's name up to the first dot, with the characters that every file system allows.
std::string host_name() {
  utsname names{};
  uname(&names);
  std::string host(names.nodename);
  host.resize(std::min(host.size(), host.find('.')));
  const auto is_odd = [](unsigned char character) {
    return std::isalnum(character) == 0 && character != '-';
  };
  std::ranges::replace_if(host, is_odd, '_');
  return host;
}

std::string fingerprint_of(const WorkList& list, const DeviceIdentity& device) {
  std::vector<std::string> problems;
  for (const NamedProblem& shape : list.shapes) {
    problems.push_back(fingerprint(canonical(shape.problem)));
  }
  std::ranges::sort(problems);
  std::string all = fingerprint(device);
  for (const std::string& problem : problems) {
    all += problem;
  }
  return sha256_hex(all, 8);
}

// Empty if there is no file. Anything else but a regular file has a state too.
std::optional<ResultFile::FileState> state_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return ResultFile::FileState{.device = status.st_dev,
                               .inode = status.st_ino,
                               .bytes = status.st_size,
                               .seconds = status.st_mtim.tv_sec,
                               .nanoseconds = status.st_mtim.tv_nsec};
}

fs::path trusted(const fs::path& folder) {
  if (const Trust trust = examine_trust(folder / "shard.db"); !trust) {
    throw std::runtime_error("--results " + folder.string() + " is not used: " + trust.why_not);
  }
  return fs::absolute(folder);
}

}  // namespace

ResultFile::ResultFile(const fs::path& folder, Shard shard, const WorkList& list, LocalCache& local,
                       const DeviceIdentity& device)
    : folder_(trusted(folder)),
      own_prefix_("shard-" + std::to_string(shard.index) + "-of-" + std::to_string(shard.count) +
                  "-"),
      path_(folder_ / (own_prefix_ + host_name() + "-" + fingerprint_of(list, device) + ".db")),
      local_(local),
      export_path_(local.folder().path() / "export.db") {}

std::vector<fs::path> ResultFile::other_files() const {
  if (!fs::exists(folder_)) {
    return {};
  }
  std::vector<fs::path> files = cache_files_in(folder_);
  std::erase(files, path_);
  return files;
}

std::size_t ResultFile::resume(ShardOfList& part, Context& context, const TuneOptions& options) {
  const auto import = [&](const fs::path& file) {
    if (const std::string failure = context.store().merge(file).failure; !failure.empty()) {
      std::cerr << "tune-all: " << failure << "; its shapes are tuned again\n";
    }
  };
  import_own_file(context.store());
  if (options.force) {
    return 0;
  }
  if (!part.work.layers.empty()) {
    std::ranges::for_each(other_files(), import);
    return 0;
  }
  Device& device = context.device();
  const std::vector<NamedProblem>& shapes = part.work.shapes;
  std::vector<bool> is_tuned(shapes.size());
  for (const fs::path& file : other_files()) {
    const bool is_own = file.filename().string().starts_with(own_prefix_);
    const auto store = open_file_for_reading(file);
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      if (!is_tuned[shape] && (is_own || !part.is_audited[shape])) {
        const auto hit =
            store->find({canonical(shapes[shape].problem), device.identity(), device.toolchain()},
                        device.limits());
        is_tuned[shape] = hit && suffices(*hit, options);
      }
    }
  }
  std::size_t flag = 0, shape = 0;
  std::erase_if(part.is_audited, [&](bool) { return is_tuned[flag++]; });
  return std::erase_if(part.work.shapes, [&](const NamedProblem&) { return is_tuned[shape++]; });
}

void ResultFile::make_folder() const {
  std::error_code error;
  if (fs::create_directory(folder_, error)) {
    // Whatever the umask: only this user may write there.
    fs::permissions(folder_, fs::perms::group_write | fs::perms::others_write,
                    fs::perm_options::remove, error);
  }
  if (error || access(folder_.c_str(), W_OK | X_OK) != 0) {
    const std::string why = error ? error.message() : "no permission";
    throw std::runtime_error("--results " + folder_.string() + " cannot be written: " + why);
  }
}

void ResultFile::publish(Store& store) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const Clock::time_point begin = Clock::now();
  if (!lock || begin < next_) {
    return;
  }
  const std::string failure = replace(store);
  if (!failure.empty() && !has_warned_) {
    has_warned_ = true;
    std::cerr << "tune-all: " << failure << "; the winners are kept in " << local_.path().string()
              << " until the file can be written\n";
  }
  const Clock::time_point end = Clock::now();
  next_ = end + kPause * (end - begin);
}

std::string ResultFile::finish(Store& store) {
  const std::lock_guard lock(mutex_);
  return replace(store);
}

std::string ResultFile::replace(Store& store) {
  try {
    try_replace(store);
  } catch (const std::exception& error) {
    local_.folder().keep();
    return error.what();
  }
  local_.folder().keep_no_longer();
  return "";
}

// SQLite writes on the local disk only.
void ResultFile::try_replace(Store& store) {
  const bool is_lost = local_.folder().restore();
  store.refresh();
  const std::int64_t winners = store.health().winners;
  if (is_lost || winners < known_winners_ || state_of(path_) != known_) {
    import_own_file(store);
  }
  if (is_lost || winners < known_winners_) {
    std::cerr << "tune-all: something has removed the cache " << local_.path().string()
              << " during the run; the winners in " << path_.string()
              << " were read back, and later ones are lost\n";
  }
  const std::int64_t exported = store.health().winners;  // at least
  std::error_code ignored;
  fs::remove(export_path_, ignored);
  if (const std::string failure = store.export_to(export_path_); !failure.empty()) {
    throw std::runtime_error(failure);
  }
  try {
    replace_by_copy(export_path_, path_);
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error(path_.string() + " could not be written: " + error.code().message());
  }
  known_ = state_of(path_);
  known_winners_ = exported;
}

// Precondition of replacing the file: the store has its winners.
void ResultFile::import_own_file(Store& store) {
  const std::optional<FileState> state = state_of(path_);
  if (state) {
    if (const std::string failure = store.merge(path_).failure; !failure.empty()) {
      throw std::runtime_error(
          "the results are not written over the earlier file of this shard, "
          "which cannot be read: " +
          failure + "; make it readable, or move it elsewhere to begin anew");
    }
  }
  known_ = state;
  known_winners_ = store.health().winners;
}

std::size_t ResultFile::winners_of(const std::vector<TuningKey>& keys,
                                   const DeviceLimits& limits) const {
  const auto file = open_file_for_reading(path_);
  return static_cast<std::size_t>(std::ranges::count_if(
      keys, [&](const TuningKey& key) { return file->find(key, limits).has_value(); }));
}

}  // namespace tunedgemm::internal

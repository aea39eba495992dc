#include "tools/tune_all/result_file.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <stdexcept>
#include <system_error>
#include <vector>

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
  for (const Shape& shape : list.shapes) {
    problems.push_back(fingerprint(shape.problem));
  }
  std::ranges::sort(problems);
  std::string all = fingerprint(device);
  for (const std::string& problem : problems) {
    all += problem;
  }
  return sha256_hex(all, 8);
}

fs::path trusted(const fs::path& folder) {
  if (const Trust trust = examine_trust(folder / "shard.db"); !trust) {
    throw std::runtime_error("--results " + folder.string() + " is not used: " + trust.why_not);
  }
  return fs::absolute(folder);
}

}  // namespace

ResultFile::ResultFile(const fs::path& folder, Shard shard, const WorkList& list,
                       const LocalCache& local, const DeviceIdentity& device)
    : folder_(trusted(folder)),
      own_prefix_("shard-" + std::to_string(shard.index) + "-of-" + std::to_string(shard.count) +
                  "-"),
      path_(folder_ / (own_prefix_ + host_name() + "-" + fingerprint_of(list, device) + ".db")),
      export_path_(local.folder() / "export.db") {}

std::vector<fs::path> ResultFile::other_files() const {
  if (!fs::exists(folder_)) {
    return {};
  }
  std::vector<fs::path> files = cache_files_in(folder_);
  std::erase(files, path_);
  return files;
}

std::size_t ResultFile::resume(ShardOfList& part, Context& context,
                               const TuneOptions& options) const {
  const auto import = [&](const fs::path& file) {
    if (const std::string failure = context.store().merge(file).failure; !failure.empty()) {
      std::cerr << "tune-all: " << failure << '\n';
    }
  };
  if (fs::exists(path_)) {
    import(path_);
  }
  if (options.force) {
    return 0;
  }
  if (!part.work.layers.empty()) {
    std::ranges::for_each(other_files(), import);
    return 0;
  }
  Device& device = context.device();
  const std::vector<Shape>& shapes = part.work.shapes;
  std::vector<bool> is_tuned(shapes.size());
  for (const fs::path& file : other_files()) {
    const bool is_own = file.filename().string().starts_with(own_prefix_);
    const auto store = open_file_for_reading(file);
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      if (!is_tuned[shape] && (is_own || !part.is_audited[shape])) {
        const auto hit = store->find({shapes[shape].problem, device.identity(), device.toolchain()},
                                     device.limits());
        is_tuned[shape] = hit && suffices(*hit, options);
      }
    }
  }
  std::size_t flag = 0, shape = 0;
  std::erase_if(part.is_audited, [&](bool) { return is_tuned[flag++]; });
  return std::erase_if(part.work.shapes, [&](const Shape&) { return is_tuned[shape++]; });
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

void ResultFile::publish(const Store& store) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const Clock::time_point begin = Clock::now();
  if (!lock || begin < next_) {
    return;
  }
  replace(store);  // finish() tries again, and reports
  const Clock::time_point end = Clock::now();
  next_ = end + kPause * (end - begin);
}

std::string ResultFile::finish(const Store& store) {
  const std::lock_guard lock(mutex_);
  return replace(store);
}

// Other processes see the old file or the new one. SQLite writes on the local disk only.
std::string ResultFile::replace(const Store& store) const {
  std::error_code error;
  fs::remove(export_path_, error);
  if (std::string failure = store.export_to(export_path_); !failure.empty()) {
    return failure;
  }
  const fs::path hidden =
      folder_ / ("." + path_.filename().string() + "." + std::to_string(getpid()));
  fs::remove(hidden, error);
  fs::copy_file(export_path_, hidden, error);
  if (!error) {
    fs::rename(hidden, path_, error);
  }
  if (error) {
    std::string failure = path_.string() + " could not be written: " + error.message();
    fs::remove(hidden, error);
    return failure;
  }
  return "";
}

}  // namespace tunedgemm::internal

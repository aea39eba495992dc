#include "runtime/cuda/nvrtc.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libnvrtc.so";
constexpr std::string_view kBuiltins = "libnvrtc-builtins.so";

// The version after "<stem>." in a file name, such as "13.0.88"; empty if there is none.
std::string version_suffix(const fs::path& path, std::string_view stem) {
  const std::string name = path.filename().string();
  if (name.size() <= stem.size() + 1 || name.compare(0, stem.size(), stem) != 0 ||
      name[stem.size()] != '.') {
    return "";
  }
  const std::string suffix = name.substr(stem.size() + 1);
  return suffix.find_first_not_of("0123456789.") == std::string::npos ? suffix : "";
}

std::vector<int> numbers(const std::string& version) {
  std::vector<int> result;
  std::istringstream stream(version);
  for (std::string part; std::getline(stream, part, '.');) {
    result.push_back(std::atoi(part.c_str()));
  }
  return result;
}

std::string major_and_minor(const std::string& version) {
  const std::vector<int> parts = numbers(version);
  if (parts.empty()) {
    return version;
  }
  std::string text = std::to_string(parts[0]);
  return parts.size() == 1 ? text : text + "." + std::to_string(parts[1]);
}

// The entries of a folder whose names begin with the prefix, sorted; none if the folder cannot be
// read. The folders of the loader have thousands of other entries, so paths are copied only for
// matches.
std::vector<fs::path> entries(const fs::path& folder, std::string_view prefix) {
  std::error_code error;
  std::vector<fs::path> result;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string& path = entry->path().native();
    if (path.compare(path.rfind('/') + 1, prefix.size(), prefix) == 0) {
      result.push_back(entry->path());
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

// The name of the library often has only the major version. The target of a symbolic link, or the
// name of the builtins library in the same folder, also has the minor version.
std::string version_of(const fs::path& library) {
  std::error_code error;
  const fs::path target = fs::canonical(library, error);
  std::string best = version_suffix(error ? library : target, kLibrary);
  if (numbers(best).size() >= 2) {
    return major_and_minor(best);
  }
  const std::string major = version_suffix(library, kLibrary);
  for (const fs::path& entry : entries(library.parent_path(), kBuiltins)) {
    const std::string version = version_suffix(entry, kBuiltins);
    if (version.empty()) {
      continue;
    }
    const bool same_major = major.empty() || numbers(version).front() == numbers(major).front();
    if (same_major && numbers(version) > numbers(best)) {
      best = version;
    }
  }
  return major_and_minor(best);
}

void add_loader_folders(std::vector<fs::path>& folders) {
  std::istringstream listed(environment("LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(listed, folder, ':');) {
    if (!folder.empty()) {
      folders.emplace_back(folder);
    }
  }
  for (const fs::path& file : entries("/etc/ld.so.conf.d", "")) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line.front() == '/') {
        folders.emplace_back(line);
      }
    }
  }
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
}

// Wheels install to nvidia/<package>/lib of a site-packages folder.
void add_wheels(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const fs::path& python : entries(prefix / "lib", "python")) {
    for (const char* site : {"site-packages", "dist-packages"}) {
      for (const char* package : {"cu13", "cuda_nvrtc"}) {
        folders.push_back(python / site / "nvidia" / package / "lib");
      }
    }
  }
}

}  // namespace

std::vector<fs::path> nvrtc_folders() {
  std::vector<fs::path> folders;
  add_loader_folders(folders);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const fs::path home = environment(variable); !home.empty()) {
      folders.push_back(home / "lib64");
      folders.push_back(home / "lib");
    }
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  const std::array<std::string, 4> prefixes{environment("VIRTUAL_ENV"), environment("CONDA_PREFIX"),
                                            "/usr/local", "/usr"};
  for (const std::string& prefix : prefixes) {
    if (!prefix.empty()) {
      folders.push_back(fs::path(prefix) / "lib");
      add_wheels(prefix, folders);
    }
  }
  return folders;
}

std::optional<NvrtcLocation> find_nvrtc_in(const fs::path& folder) {
  std::optional<NvrtcLocation> best;
  for (const fs::path& entry : entries(folder, kLibrary)) {
    if (version_suffix(entry, kLibrary).empty()) {
      continue;
    }
    NvrtcLocation found{entry, version_of(entry)};
    if (!best || numbers(found.version) > numbers(best->version)) {
      best = std::move(found);
    }
  }
  return best;
}

std::optional<NvrtcLocation> find_nvrtc() {
  if (const fs::path chosen = environment("TUNEDGEMM_NVRTC"); !chosen.empty()) {
    std::error_code error;
    if (fs::is_directory(chosen, error)) {
      return find_nvrtc_in(chosen);
    }
    return fs::exists(chosen, error) ? std::optional(NvrtcLocation{chosen, version_of(chosen)})
                                     : std::nullopt;
  }
  for (const fs::path& folder : nvrtc_folders()) {
    if (std::optional<NvrtcLocation> found = find_nvrtc_in(folder)) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace tunedgemm::internal::cuda

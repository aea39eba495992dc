#include "runtime/host/loaded_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tunedgemm {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string failure(const std::string& call) {
  return call + ": " + std::strerror(errno);
}

int nameless_file() {
  const int in_memory = memfd_create("tunedgemm kernel", MFD_CLOEXEC);
  if (in_memory >= 0) {
    return in_memory;
  }
  std::error_code ignored;
  std::string name = std::filesystem::temp_directory_path(ignored) / "tunedgemm-XXXXXX";
  const int on_disk = mkstemp(name.data());
  if (on_disk >= 0) {
    fchmod(on_disk, S_IRUSR | S_IWUSR | S_IXUSR);
    unlink(name.c_str());
  }
  return on_disk;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes = bytes.subspan(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return true;
}

// The loader takes equal paths for one object, and descriptors come again once they are closed. So
// each load spells its path differently: by the number of slashes, which the system ignores.
std::string unique_path(int file) {
  static std::atomic<unsigned> loads{0};
  const unsigned number = loads.fetch_add(1);
  const auto slashes = [number](unsigned divisor) {
    return std::string(1 + number / divisor % 64, '/');
  };
  return slashes(1) + "proc" + slashes(64) + "self" + slashes(64 * 64) + "fd" +
         slashes(64 * 64 * 64) + std::to_string(file);
}

}  // namespace

std::variant<std::unique_ptr<LoadedObject>, std::string> LoadedObject::load(
    std::span<const std::byte> bytes) {
  const File file(nameless_file());
  if (file.descriptor() < 0) {
    return failure("no file for a compiled kernel could be made");
  }
  if (!write_all(file.descriptor(), bytes)) {
    return failure("a compiled kernel could not be written");
  }
  void* handle = dlopen(unique_path(file.descriptor()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return std::string(dlerror());
  }
  return std::make_unique<LoadedObject>(handle);
}

LoadedObject::~LoadedObject() {
  dlclose(handle_);
}

void* LoadedObject::symbol(const std::string& name) const {
  return dlsym(handle_, name.c_str());
}

}  // namespace tunedgemm

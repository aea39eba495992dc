#include "runtime/host/loaded_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "kernel_templates/base/file_size_signal.h"
#include "runtime/process/private_folder.h"

namespace tunedgemm::internal {
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

// dlopen treats equal paths as one object, and descriptors are reused after close. Therefore each
// load has a different number of slashes in its path. The system ignores repeated slashes.
std::string unique_path(int file) {
  static std::atomic<unsigned> loads{0};
  const unsigned number = loads.fetch_add(1);
  const auto slashes = [number](unsigned divisor) {
    return std::string(1 + number / divisor % 64, '/');
  };
  return slashes(1) + "proc" + slashes(64) + "self" + slashes(64 * 64) + "fd" +
         slashes(64 * 64 * 64) + std::to_string(file);
}

#ifdef __aarch64__
constexpr ElfW(Half) kThisMachine = EM_AARCH64;
#else
constexpr ElfW(Half) kThisMachine = EM_X86_64;
#endif

// All segments must be inside the file, because an access to a mapped page beyond the file's end
// raises SIGBUS.
std::string why_malformed(std::span<const std::byte> bytes) {
  ElfW(Ehdr) header{};
  if (bytes.size() < sizeof header) {
    return "it is not an ELF file";
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0) {
    return "it is not an ELF file";
  }
  if (header.e_machine != kThisMachine) {
    return "it is for another kind of processor";
  }
  const auto is_inside = [&](std::uint64_t begin, std::uint64_t size) {
    return begin <= bytes.size() && size <= bytes.size() - begin;
  };
  std::string truncated = "it is truncated: it has " + std::to_string(bytes.size()) + " bytes";
  if (!is_inside(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize) ||
      !is_inside(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize)) {
    return truncated;
  }
  for (std::size_t number = 0; number < header.e_phnum; ++number) {
    ElfW(Phdr) segment{};
    std::memcpy(&segment, bytes.data() + header.e_phoff + number * sizeof segment, sizeof segment);
    if (!is_inside(segment.p_offset, segment.p_filesz)) {
      return truncated;
    }
  }
  return "";
}

using Loaded = std::variant<std::unique_ptr<LoadedObject>, std::string>;  // or an error message

Loaded load_from(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* sentence = dlerror();
    return std::string(sentence != nullptr ? sentence : "dlopen failed");
  }
  return std::make_unique<LoadedObject>(handle);
}

Loaded load_in_memory(std::span<const std::byte> bytes) {
  const File file(memfd_create("tunedgemm kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.descriptor() < 0) {
    return failure("memfd_create");
  }
  if (!write_all(file.descriptor(), bytes)) {
    return failure("a compiled kernel could not be written");
  }
  // Seal the file, so that nobody can truncate it, not even through /proc.
  (void)fcntl(file.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return load_from(unique_path(file.descriptor()));
}

// The fallback if load_in_memory() fails, for example without memory files or /proc.
Loaded load_from_disk(std::span<const std::byte> bytes) {
  const PrivateFolder folder;
  const std::string path = folder.path() / "kernel.so";
  {
    const File file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (file.descriptor() < 0 || !write_all(file.descriptor(), bytes)) {
      return failure("a compiled kernel could not be written to " + path);
    }
  }
  return load_from(path);
}

}  // namespace

std::variant<std::unique_ptr<LoadedObject>, Rejection> LoadedObject::load(
    std::span<const std::byte> bytes) {
  const auto refused = [](Reason reason, const std::string& why) {
    return Rejection{reason, "a compiled kernel cannot be loaded: " + why};
  };
  if (const std::string reason = why_malformed(bytes); !reason.empty()) {
    return refused(Reason::kLoadFailed, reason);
  }
  const FileSizeSignalBlocked guard;
  Loaded in_memory = load_in_memory(bytes);
  if (auto* object = std::get_if<std::unique_ptr<LoadedObject>>(&in_memory)) {
    return std::move(*object);
  }
  std::string why = std::get<std::string>(in_memory) + "; ";
  try {
    Loaded on_disk = load_from_disk(bytes);
    if (auto* object = std::get_if<std::unique_ptr<LoadedObject>>(&on_disk)) {
      return std::move(*object);
    }
    why += std::get<std::string>(on_disk);
  } catch (const std::system_error& error) {
    why += error.what();
  }
  return refused(Reason::kUnavailable, why);
}

LoadedObject::~LoadedObject() {
  dlclose(handle_);
}

void* LoadedObject::symbol(const std::string& name) const {
  return dlsym(handle_, name.c_str());
}

}  // namespace tunedgemm::internal

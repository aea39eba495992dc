#pragma once

// KernelCache: the kernels loaded on a device. The key is the fingerprint of the source and the
// requested compiler.
//
// Thread-safe. get() may compile, which takes seconds. It holds no lock meanwhile, so two threads
// may compile the same kernel; the cache keeps one of the two. Device and store must outlive the
// cache. The cache and the holders of a kernel share its ownership.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "cache/store.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

class KernelCache {
 public:
  using Kernel = std::shared_ptr<const CompiledKernel>;

  /// `compile_seconds` is the timeout of a compilation if the compiler can be stopped.
  KernelCache(Device& device, Store& store, double compile_seconds)
      : device_(device), store_(store), compile_seconds_(compile_seconds) {}
  ~KernelCache() = default;
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// A loaded kernel of this source, whichever compiler made it. Null if none is loaded.
  Kernel find(const std::string& source_fingerprint) const;

  /// The kernel: from this cache, from the store, or compiled now. If all of these fail, the
  /// linked-in kernel, which is not cached. Prefers a stored binary that `compiler` made. Throws
  /// DeviceError.
  std::variant<Kernel, Rejection> get(const Instance& instance, const std::string& compiler);

  /// The kernel if it is loaded or stored, else null. Does not compile. Throws DeviceError.
  Kernel find_stored(const Instance& instance, const std::string& compiler);

  struct Counters {
    std::atomic<std::int64_t> loaded{0}, compiled{0};
    std::atomic<std::int64_t> not_loaded{0};  ///< stored binaries that were found but did not load
  };
  const Counters& counters() const { return counters_; }

 private:
  using Loaded = std::variant<std::unique_ptr<CompiledKernel>, Rejection>;

  using Key = std::pair<std::string, std::string>;  ///< the source's fingerprint, the compiler

  Kernel find(const Key& key) const;
  Kernel keep(const Key& key, Kernel kernel);
  Loaded make(const Source& source, const Launch& launch);
  /// Null if no stored binary loads.
  Kernel load_stored(const Source& source, const Launch& launch, const std::string& compiler);
  Loaded load(const Binary& binary, const Launch& launch);

  Device& device_;
  Store& store_;
  double compile_seconds_;
  Counters counters_;
  mutable std::mutex mutex_;
  std::map<Key, Kernel> kernels_;
};

}  // namespace tunedgemm::internal

#include "runtime/context/kernel_cache.h"

#include <utility>

#include "kernel_templates/base/log.h"

namespace tunedgemm::internal {
namespace {

// The longest excerpt of a rejection's detail in a log message.
constexpr std::size_t kMostLoggedCharacters = 500;

}  // namespace

KernelCache::Kernel KernelCache::find(const std::string& source_fingerprint) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = kernels_.lower_bound({source_fingerprint, ""});
  const bool is_match = entry != kernels_.end() && entry->first.first == source_fingerprint;
  return is_match ? entry->second : nullptr;
}

KernelCache::Kernel KernelCache::find(const Key& key) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = kernels_.find(key);
  return entry == kernels_.end() ? nullptr : entry->second;
}

KernelCache::Kernel KernelCache::keep(const Key& key, Kernel kernel) {
  const std::scoped_lock lock(mutex_);
  return kernels_.emplace(key, std::move(kernel)).first->second;
}

KernelCache::Kernel KernelCache::find_stored(const Instance& instance,
                                             const std::string& compiler) {
  const Source source = instance.source();
  const Key key{fingerprint(source), compiler};
  if (Kernel cached = find(key)) {
    return cached;
  }
  const Device::Current current(device_);
  Kernel loaded = load_stored(source, instance.launch, compiler);
  return loaded == nullptr ? nullptr : keep(key, std::move(loaded));
}

std::variant<KernelCache::Kernel, Rejection> KernelCache::get(const Instance& instance,
                                                              const std::string& compiler) {
  const Source source = instance.source();
  const Key key{fingerprint(source), compiler};
  if (Kernel cached = find(key)) {
    return cached;
  }
  const Device::Current current(device_);
  if (Kernel loaded = load_stored(source, instance.launch, compiler)) {
    return keep(key, std::move(loaded));
  }
  Loaded loaded = make(source, instance.launch);
  if (auto* rejection = std::get_if<Rejection>(&loaded)) {
    if (std::unique_ptr<CompiledKernel> built_in = device_.built_in(instance)) {
      log_warning("using the linked-in kernel in place of " + source.entry + ": " +
                  rejection->detail.substr(0, kMostLoggedCharacters));
      return Kernel(std::move(built_in));
    }
    return std::move(*rejection);
  }
  return keep(key, std::get<0>(std::move(loaded)));
}

KernelCache::Kernel KernelCache::load_stored(const Source& source, const Launch& launch,
                                             const std::string& compiler) {
  const int architecture = device_.limits().arch;
  const Toolchain& toolchain = device_.toolchain();
  for (const StoredBinary& stored :
       store_.find_binaries(source, toolchain, architecture, compiler)) {
    Loaded loaded = load(stored.binary, launch);
    if (auto* kernel = std::get_if<std::unique_ptr<CompiledKernel>>(&loaded)) {
      return std::move(*kernel);
    }
    const Rejection& rejection = std::get<Rejection>(loaded);
    ++counters_.not_loaded;
    log_warning("loading a stored binary of " + source.entry + " by " + stored.compiler +
                " failed: " + rejection.detail);
    // Keep the binaries of other compilers, because another driver may load them.
    if (rejection.reason == Reason::kLoadFailed && stored.compiler == toolchain.compiler) {
      store_.forget_binary(source, toolchain, architecture);
    }
  }
  return nullptr;
}

KernelCache::Loaded KernelCache::make(const Source& source, const Launch& launch) {
  if (const std::string reason = device_.why_not_compile(); !reason.empty()) {
    return Rejection{Reason::kUnavailable, reason};
  }
  ++counters_.compiled;
  log_info("compiling " + source.entry + " for a call: it is in no cache");
  auto compiled = device_.compile_within(source, compile_seconds_);
  if (auto* failure = std::get_if<CompileFailure>(&compiled)) {
    return rejection_of(std::move(*failure));
  }
  const Binary& binary = std::get<Binary>(compiled);
  store_.put_binary(source, device_.toolchain(), device_.limits().arch, binary);
  return load(binary, launch);
}

KernelCache::Loaded KernelCache::load(const Binary& binary, const Launch& launch) {
  Loaded loaded = device_.load(binary, launch);
  if (std::holds_alternative<std::unique_ptr<CompiledKernel>>(loaded)) {
    ++counters_.loaded;
  }
  return loaded;
}

}  // namespace tunedgemm::internal

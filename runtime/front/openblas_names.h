#pragma once

// The functions of an OpenBLAS, whose names depend on who built it: the wheels of numpy and scipy
// have a prefix, and a suffix if extents have 64 bits.

#include <dlfcn.h>

#include <cstddef>
#include <string>

namespace tunedgemm::internal {

struct OpenBlasNames {
  std::string prefix, suffix;  ///< "scipy_", "64_"
  int (*threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  char* (*config)() = nullptr;  ///< "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
  char* (*core)() = nullptr;

  /// Sets the function of this name in the library of the handle; false if there is none.
  template <class Function>
  bool find(void* library, const std::string& name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(library, (prefix + name + suffix).c_str()));
    return function != nullptr;
  }

  /// "0.3.21, Haswell"
  std::string version() const {
    const std::string text = config();
    const std::size_t begin = text.find(' ') + 1;
    return text.substr(begin, text.find(' ', begin) - begin) + ", " + core();
  }
};

/// False if the library of this handle, with those that it depends on, is no OpenBLAS.
inline bool find_openblas(void* library, OpenBlasNames& names) {
  for (const char* prefix : {"", "scipy_"}) {
    for (const char* suffix : {"", "64_"}) {
      names.prefix = prefix, names.suffix = suffix;
      if (names.find(library, "openblas_get_num_threads", names.threads) &&
          names.find(library, "openblas_set_num_threads", names.set_threads) &&
          names.find(library, "openblas_get_config", names.config) &&
          names.find(library, "openblas_get_corename", names.core)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace tunedgemm::internal

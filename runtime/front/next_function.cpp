#include "runtime/front/next_function.h"

#include <dlfcn.h>
#include <link.h>

namespace tunedgemm::internal {
namespace {

// Whether the address is in this library.
bool is_own(const void* address) {
  Dl_info info, own;
  return dladdr(address, &info) != 0 &&
         dladdr(reinterpret_cast<const void*>(&find_next_function), &own) != 0 &&
         info.dli_fbase == own.dli_fbase;
}

}  // namespace

void* library_with(const void* function) {
  Dl_info info;
  return function != nullptr && dladdr(function, &info) != 0
             ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
             : nullptr;
}

void* find_next_function(const char* name, const void* caller) {
  Dl_info info;
  link_map* map = nullptr;
  // The program itself has no name; its libraries are those of RTLD_NEXT.
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 &&
      map->l_name != nullptr && map->l_name[0] != '\0') {
    if (void* const object = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD)) {
      void* const function = dlsym(object, name);
      dlclose(object);
      if (function != nullptr && !is_own(function)) {
        return function;
      }
    }
  }
  return dlsym(RTLD_NEXT, name);
}

}  // namespace tunedgemm::internal

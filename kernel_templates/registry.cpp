// The families of all backends. Each backend's folder lists its families in families.cpp; the build
// generates all_families() from these files.

#include <algorithm>
#include <cassert>

#include "kernel_templates/family.h"

namespace tunedgemm::internal {
namespace {

template <class Predicate>
const BackendFamilies* find(Predicate matches) {
  const auto all = all_families();
  const auto found = std::find_if(all.begin(), all.end(), matches);
  return found == all.end() ? nullptr : *found;
}

}  // namespace

const BackendFamilies* find_families(std::string_view backend) {
  return find([&](const BackendFamilies* each) { return each->backend == backend; });
}

std::span<const Family* const> families(std::string_view backend) {
  const BackendFamilies* found = find_families(backend);
  return found == nullptr ? std::span<const Family* const>() : found->families;
}

int backend_number(std::string_view backend) {
  const BackendFamilies* found = find_families(backend);
  return found == nullptr ? 0 : found->number;
}

std::string_view backend_name(int number) {
  const auto* found = find([&](const BackendFamilies* each) { return each->number == number; });
  return found == nullptr ? "" : found->backend;
}

const Family& baseline_family(std::string_view backend) {
  const BackendFamilies* found = find_families(backend);
  assert(found != nullptr);
  return *found->baseline;
}

const Family* find_family(std::string_view name) {
  for (const BackendFamilies* each : all_families()) {
    for (const Family* family : each->families) {
      if (family->name() == name) {
        return family;
      }
    }
  }
  return nullptr;
}

}  // namespace tunedgemm::internal

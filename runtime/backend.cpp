#include "runtime/backend.h"

#include <algorithm>
#include <array>

namespace tunedgemm::internal {
namespace {

template <class Predicate>
const Backend* find_if(Predicate matches) {
  const auto all = backends();
  const auto match = std::find_if(all.begin(), all.end(), matches);
  return match == all.end() ? nullptr : *match;
}

}  // namespace

std::span<const Backend* const> backends() {
  static const std::array<const Backend*, 2> all{
      &cuda_backend(),
      &host_backend(),
  };
  return all;
}

const Backend& automatic_backend() {
  return *find_if([](const Backend* backend) { return backend->device_count(nullptr) > 0; });
}

const Backend* find_backend(std::string_view name) {
  return find_if([&](const Backend* backend) { return backend->name() == name; });
}

const Backend* find_backend(int number) {
  return find_if([&](const Backend* backend) { return backend->number() == number; });
}

}  // namespace tunedgemm::internal

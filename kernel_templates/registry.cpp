#include <array>
#include <vector>

#include "kernel_templates/families.h"

namespace tunedgemm {
namespace {

const std::vector<const Family*>& cuda_families() {
  static const std::vector<const Family*> families{
      &naive_1d_family(),     &naive_2d_family(), &row_per_block_family(), &row_shared_family(),
      &tiled_shared_family(), &simt_family(),     &mma_family(),           &wgmma_family(),
  };
  return families;
}

const std::vector<const Family*>& host_families() {
  static const std::vector<const Family*> families{
      &naive_mnk_family(),
      &reordered_mkn_family(),
      &transposed_b_family(),
      &blocked_family(),
  };
  return families;
}

}  // namespace

std::span<const Family* const> families(Backend backend) {
  return backend == Backend::kCuda ? cuda_families() : host_families();
}

const Family& baseline_family(Backend backend) {
  return backend == Backend::kCuda ? naive_2d_family() : naive_mnk_family();
}

const Family* find_family(std::string_view name) {
  for (const Backend backend : {Backend::kCuda, Backend::kHost}) {
    for (const Family* family : families(backend)) {
      if (family->name() == name) {
        return family;
      }
    }
  }
  return nullptr;
}

}  // namespace tunedgemm

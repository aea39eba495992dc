// Compiles random configs of all families and prints a line for each: the SHA-256 of the machine
// code, its registers, the candidate and the problem. Two builds that print equal lines run the
// same kernels.
//
//     tunedgemm_machine_code CONFIGS_OF_A_CUDA_FAMILY CONFIGS_OF_A_HOST_FAMILY

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/base/sha256.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/host/host_device.h"
#include "tests/runtime/support/gemm_cases.h"
#include "tests/support/gpus.h"

using namespace tunedgemm::internal;

namespace {

constexpr int kMostDraws = 1000;

void print(const Instance& instance, const std::variant<Binary, CompileFailure>& compiled) {
  const auto* binary = std::get_if<Binary>(&compiled);
  std::string code = "does not compile";
  if (binary != nullptr) {
    code =
        sha256_hex({reinterpret_cast<const char*>(binary->code.data()), binary->code.size()}, 32) +
        ' ' + std::to_string(binary->registers);
  }
  std::cout << code << ' ' << to_text(instance.candidate) << " | " << to_text(instance.problem)
            << std::endl;
}

// Calls `use` with `count` random instances of the family.
template <class Use>
void draw(const Family& family, int count, const DeviceLimits& limits, Use&& use) {
  Random random(2026);
  const std::vector<TypeCase> types = all_type_cases();
  for (int drawn = 0, tries = 0; drawn < count && tries < kMostDraws; ++tries) {
    const auto layout = std::vector<std::string_view>{"nn", "nt", "tn", "tt"}[random() % 4];
    const Problem problem =
        with_sizes(random_class(types[random() % types.size()], layout, tries, random),
                   random() % 2 == 0 ? 100 : 1000, 1000, 1000);
    const std::vector<Instance> legal = family.candidates(problem, limits);
    if (!legal.empty()) {
      use(legal[random() % legal.size()]);
      ++drawn;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int of_cuda = argc > 1 ? std::atoi(argv[1]) : 0;
  const int of_host = argc > 2 ? std::atoi(argv[2]) : 0;
  if (const auto location = cuda::find_nvrtc(); location && of_cuda > 0) {
    const cuda::Nvrtc nvrtc(*location);
    for (const Family* family : families("cuda")) {
      draw(*family, of_cuda, h200(), [&](const Instance& instance) {
        print(instance, nvrtc.compile(instance.source(), 90));
      });
    }
  } else if (of_cuda > 0) {
    std::cout << "no NVRTC" << std::endl;
  }
  HostDevice host(1);
  if (!host.why_not_compile().empty()) {
    std::cout << host.why_not_compile() << std::endl;
    return EXIT_SUCCESS;
  }
  for (const Family* family : families("host")) {
    draw(*family, of_host, host.limits(),
         [&](const Instance& instance) { print(instance, host.compile(instance.source())); });
  }
  return EXIT_SUCCESS;
}

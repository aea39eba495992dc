#include "tools/baselines/baseline.h"

namespace tunedgemm::internal {

std::string_view name_of_baseline(std::string_view backend) {
  return backend == "cuda" ? "cublas" : backend == "host" ? "openblas" : "";
}

std::unique_ptr<Baseline> open_baseline(Device& device, std::string* why_not) {
  const std::string& backend = device.limits().backend;
  if (backend == "cuda") {
    const Device::Current current(device);
    return open_cublaslt(device, why_not);
  }
  if (backend == "host") {
    return open_openblas(device.limits().threads, why_not);
  }
  *why_not = "no baseline library is known for a " + backend + " device";
  return nullptr;
}

}  // namespace tunedgemm::internal

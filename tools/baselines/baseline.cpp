#include "tools/baselines/baseline.h"

#include "tools/baselines/cublaslt.h"
#include "tools/baselines/openblas.h"

namespace tunedgemm::internal {

std::unique_ptr<Vendor> open_vendor(Device& device, std::string* why_not) {
  const std::string& backend = device.limits().backend;
  if (backend == "cuda") {
    const Device::Current current(device);
    return CublasLt::open(device, why_not);
  }
  if (backend == "host") {
    return OpenBlas::open(device.limits().threads, why_not);
  }
  *why_not = "no library is known that multiplies matrices on a " + backend + " device";
  return nullptr;
}

}  // namespace tunedgemm::internal

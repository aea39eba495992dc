#include "tools/vendor/vendor.h"

#include "tools/vendor/cublaslt.h"
#include "tools/vendor/openblas.h"

namespace tunedgemm {

std::unique_ptr<Vendor> open_vendor(Device& device, std::string* why_not) {
  if (!device.limits().is_gpu()) {
    return OpenBlas::open(device.limits().threads, why_not);
  }
  const Device::Current current(device);
  return CublasLt::open(device, why_not);
}

}  // namespace tunedgemm

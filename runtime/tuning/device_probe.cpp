#include "runtime/tuning/device_probe.h"

#include <string>

namespace tunedgemm::internal {

DeviceProbe::DeviceProbe(Device& device, Store& store) : device_(device), store_(store) {
  // Another process may have changed the text, and a text that is not understood is probed anew.
  if (const std::string key = device_.probe_key(); !key.empty()) {
    device_.use_probe(store_.find_probe(key));
  }
}

void DeviceProbe::complete() {
  const std::lock_guard lock(one_at_a_time_);
  const std::string key = device_.probe_key();
  if (key.empty()) {
    return;
  }
  if (const std::string seen = device_.probe(); !seen.empty()) {
    store_.put_probe(key, seen);
  }
}

}  // namespace tunedgemm::internal

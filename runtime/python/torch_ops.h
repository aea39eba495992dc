#pragma once

// The operators torch.ops.tunedgemm.*. They use PyTorch's stable C interface (LibTorch stable ABI),
// whose functions are found in the running process: the package is built without PyTorch.

#include <string>

namespace tunedgemm::python {

/// Defines the operators in the PyTorch of this process, whose libraries lie in `folder`. Later
/// calls do nothing. Needs the GIL. Throws ImportError if this PyTorch lacks a function.
void register_torch_operators(const std::string& folder);

/// Fields of the calls of all operators that begin later.
struct TorchFields {
  bool invariant = false;
  int sm_limit = 0;
};
void set_torch_fields(TorchFields fields);

}  // namespace tunedgemm::python

// Addresses in shared memory as the instructions of this folder take them.
#pragma once

// "Data Movement and Conversion Instructions: cvta". The address of a generic pointer inside the
// shared state space.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

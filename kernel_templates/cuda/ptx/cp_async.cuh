// Asynchronous copies from global to shared memory (sm_80 and later). Each function is one
// instruction. The names in quotes are sections of the PTX ISA manual.
#pragma once

#include "data_movement.cuh"

// "Data Movement and Conversion Instructions: cp.async". Reads the first `present` of 4, 8
// or 16 bytes, and writes zeros for the others. If `present` is 0, `from` may point anywhere.
__device__ __forceinline__ void copy_4_bytes(void* to, const void* from, int present) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(present)
               : "memory");
}
__device__ __forceinline__ void copy_8_bytes(void* to, const void* from, int present) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(present)
               : "memory");
}
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from, int present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(present)
               : "memory");
}

// The same for all bytes, to an address in shared memory.
__device__ __forceinline__ void copy_4_bytes(unsigned to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_16_bytes(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// "Data Movement and Conversion Instructions: cp.async.commit_group". Makes a group of the copies
// that this thread has started since its last group.
__device__ __forceinline__ void end_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// "Data Movement and Conversion Instructions: cp.async.wait_group". Waits until at most `pending`
// (a constant, 0 to 5) of this thread's groups are in flight.
__device__ __forceinline__ void wait_for_copies(int pending) {
  switch (pending) {
    case 0:
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      break;
    case 1:
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      break;
    case 3:
      asm volatile("cp.async.wait_group 3;" ::: "memory");
      break;
    case 4:
      asm volatile("cp.async.wait_group 4;" ::: "memory");
      break;
    case 5:
      asm volatile("cp.async.wait_group 5;" ::: "memory");
      break;
  }
}

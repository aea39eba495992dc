// Copies from global to shared memory that run while the threads go on (sm_80 and later). One
// instruction a function; the names in quotes are sections of the PTX ISA manual.
#pragma once

#include "data_movement.cuh"

// "Data Movement and Conversion Instructions: cp.async". `present` of 4, 8 or 16 bytes are read,
// zeros stand for the others. With none present nothing is read, and `from` may point anywhere.
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

// "Data Movement and Conversion Instructions: cp.async.commit_group". The copies that this thread
// has begun since the last one are a group.
__device__ __forceinline__ void end_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// "Data Movement and Conversion Instructions: cp.async.wait_group". Until at most `pending` (a
// constant, 0 to 5) of this thread's groups run.
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

// Loads from global memory. The name in quotes is a section of the PTX ISA manual.
#pragma once

// "Data Movement and Conversion Instructions: ld.global.nc". Loads 16 bytes that the kernel reads
// once, without a place in L1. No thread may write them during the launch.
__device__ __forceinline__ uint4 load_global_once(const void* from) {
  uint4 x;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
      : "l"(from));
  return x;
}

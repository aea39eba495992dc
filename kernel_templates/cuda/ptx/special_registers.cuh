// Special registers: the SM of a thread, and clocks. Each function reads one register. The names in
// quotes are sections of the PTX ISA manual.
#pragma once

// "Special Registers: %smid". The number of the SM that runs this thread.
__device__ __forceinline__ unsigned sm_id() {
  unsigned number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
// "Special Registers: %nsmid". Every SM id is less than this number, which may exceed the number of
// SMs.
__device__ __forceinline__ unsigned sm_id_count() {
  unsigned count;
  asm("mov.u32 %0, %%nsmid;" : "=r"(count));
  return count;
}
// "Special Registers: %globaltimer". Nanoseconds, the same on all SMs.
__device__ __forceinline__ unsigned long long global_nanoseconds() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}
// "Special Registers: %clock64". Cycles of this SM.
__device__ __forceinline__ unsigned long long sm_cycles() {
  unsigned long long cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  return cycles;
}

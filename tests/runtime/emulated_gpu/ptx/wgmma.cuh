// wgmma itself is not emulated: kernels that need it do not compile.
#pragma once

#define DEFINE_WGMMA(n, tnsp_a, tnsp_b)
template <class TypeA, class TypeB, int kWidth>
struct Wgmma;
template <int kWidth>
struct WgmmaAFromRegisters;
struct FragmentA {
  unsigned long long pair[2];
};
unsigned long long make_descriptor(unsigned address, int stride_bytes, int leading_bytes);
unsigned descriptor_address(unsigned address);
void wgmma_fence();
void wgmma_commit_group();
void wgmma_wait_group(int pending);
template <int kCount, class Type>
void fence_registers(Type (&)[kCount]) {}

// What every kernel of every family is given, on the GPU as on the CPU: one struct, by value.
// The host code that fills it includes this very file, so it is plain C++ without includes.
#pragma once

struct Arguments {
  const void* a;
  const void* b;
  const void* c;  // read only if the problem's beta is not of class zero; may be d
  void* d;
  const void* bias;  // of D's type: m values (per row of D) or n values (per column); may be null
  const float* scale_a;  // one value, or null for 1
  const float* scale_b;
  void* workspace;  // 256-byte aligned

  long long m, n, k, batch;

  // Elements from one row start to the next (row-major) or from one column start to the next
  // (column-major). C is given by two strides, since its order may differ from D's, which is
  // row-major here but where the host has exchanged A and B (swap_ab of wgmma).
  long long lda, ldb, ldd;
  long long c_stride_m, c_stride_n;

  // Elements from one batch entry to the next.
  long long batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d;

  double alpha, beta;
  float slope;  // of leaky_relu
};

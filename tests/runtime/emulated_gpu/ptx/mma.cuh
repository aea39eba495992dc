// mma.sync, from the positions of the elements in its fragments.
#pragma once

#include "../common/number.cuh"

inline double exact(f64 x) {
  return x;
}
inline double exact(f32 x) {
  return x;
}
inline double exact(f16 x) {
  return widen(x);
}
inline double exact(bf16 x) {
  return widen(x);
}
inline double exact(e4m3 x) {
  return widen(x);
}
inline double exact(e5m2 x) {
  return widen(x);
}
inline double exact(s8 x) {
  return x;
}

inline void add_to(double& to, double sum) {
  to += sum;
}
inline void add_to(float& to, double sum) {
  to = static_cast<float>(static_cast<double>(to) + sum);
}
inline void add_to(int& to, double sum) {  // modulo 2^32
  to = static_cast<int>(static_cast<unsigned>(to) +
                        static_cast<unsigned>(static_cast<long long>(sum)));
}

// `count` registers of A along k and row; those of B are half of them. An element of register i of
// A has row g + 8 (i % 2) and is in the register t + 4 (i / 2) along k.
template <class TypeA, class TypeB, class Register, class Accumulator>
void multiply_warp(const Register* a, const Register* b, int count, Accumulator* d) {
  struct Operands {
    const Register* a;
    const Register* b;
    Accumulator* d;
  } own{a, b, d};
  constexpr int kPerRegister = sizeof(Register) / sizeof(TypeA);
  emulation::as_warp(own, [count](Operands** all) {
    const auto element = [](const Register& from, int index, auto type) {
      decltype(type) x;
      std::memcpy(&x, reinterpret_cast<const char*>(&from) + index * sizeof(x), sizeof(x));
      return exact(x);
    };
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        double sum = 0;
        for (int k = 0; k < 4 * (count / 2); ++k) {  // a register
          const int of_lane = k / 4, t = k % 4;
          const Register& from_a = all[row % 8 * 4 + t]->a[2 * of_lane + row / 8];
          const Register& from_b = all[column * 4 + t]->b[of_lane];
          for (int index = 0; index < kPerRegister; ++index) {
            sum += element(from_a, index, TypeA()) * element(from_b, index, TypeB());
          }
        }
        add_to(all[lane]->d[i], sum);
      }
    }
  });
}

template <class TypeA, class TypeB>
struct Mma {
  template <class Register, class Accumulator>
  static void mma_sync(const Register (&a)[4], const Register (&b)[2], Accumulator (&d)[4]) {
    multiply_warp<TypeA, TypeB>(a, b, 4, d);
  }
};
inline void mma_sync_k16(const double (&a)[8], const double (&b)[4], double* d) {
  multiply_warp<f64, f64>(a, b, 8, d);
}

// wgmma, from descriptors of operands in shared memory. It reads them and writes the accumulators
// as late as it may: when a thread of the warpgroup waits for its group.
#pragma once

#include "data_movement.cuh"
#include "mma.cuh"

#define NOT_OF(order) !(order)

inline unsigned descriptor_address(unsigned address) {
  return (address & 0x3ffff) >> 4;
}
inline unsigned long long make_descriptor(unsigned address, int stride_bytes, int leading_bytes) {
  return address | static_cast<unsigned long long>(leading_bytes >> 4) << 16 |
         static_cast<unsigned long long>(stride_bytes >> 4) << 32 | 1ULL << 62;
}

struct FragmentA {
  unsigned long long pair[2];
};

/// An operand in the shared memory of the CTA with this rank.
template <class Type>
struct DescribedOperand {
  unsigned long long descriptor;
  bool is_mn_major;
  unsigned rank;

  double at(int row, int k) const {
    constexpr unsigned kMask = 0x3fff, kAtomRows = 8, kAtomBytes = 128;
    const unsigned start = (descriptor & kMask) << 4;
    const unsigned leading = (descriptor >> 16 & kMask) << 4;
    const unsigned stride = (descriptor >> 32 & kMask) << 4;
    const unsigned mn_of_atom = kAtomBytes / sizeof(Type);
    const auto r = static_cast<unsigned>(row), kk = static_cast<unsigned>(k);
    const unsigned address = is_mn_major
                                 ? start + r / mn_of_atom * leading + kk / kAtomRows * stride +
                                       kk % kAtomRows * kAtomBytes + r % mn_of_atom * sizeof(Type)
                                 : start + r / kAtomRows * stride + r % kAtomRows * kAtomBytes +
                                       kk * static_cast<unsigned>(sizeof(Type));
    const unsigned swizzled_address = address ^ (address >> 3 & 0x70);
    return exact(load_from_shared<Type>(rank << emulation::kRankShift | swizzled_address));
  }
};

template <class Accumulator>
struct WgmmaOperands {
  int scale_d;
  unsigned long long a, b;
  const FragmentA* fragment;  ///< null: A is in shared memory
  Accumulator* d;
};

// Row 16 w + g of A has the registers k = t and t + 4 of the lanes of g; the upper halves of the
// pairs have row 16 w + g + 8.
inline double element_of_fragment(const FragmentA (&fragments)[128], int row, int k) {
  const int thread = row / 16 * 32 + row % 8 * 4 + k % 4;
  const auto bits = static_cast<unsigned>(fragments[thread].pair[k / 4] >> (row % 16 < 8 ? 0 : 32));
  return __uint_as_float(bits);
}

template <class TypeA, class TypeB, int kWidth, bool kTransposesA, bool kTransposesB,
          class Accumulator>
void mma_async_of_warpgroup(WgmmaOperands<Accumulator> own) {
  emulation::Fiber& fiber = emulation::self();
  emulation::Cta& cta = *fiber.cta;
  const unsigned thread = threadIdx.x % 128;
  struct Meeting {
    WgmmaOperands<Accumulator> operands;
    FragmentA fragment;
    std::shared_ptr<std::function<void()>> product;
  } meeting{own, own.fragment != nullptr ? *own.fragment : FragmentA{}, nullptr};
  const bool has_fragments = own.fragment != nullptr;
  const unsigned rank = cta.rank;
  emulation::meet(cta.warpgroups[threadIdx.x / 128], thread, 128, meeting, [=](Meeting** all) {
    struct Shared {
      Accumulator* d[128];
      FragmentA fragments[128];
    };
    auto shared = std::make_shared<Shared>();
    for (int i = 0; i < 128; ++i) {
      shared->d[i] = all[i]->operands.d;
      shared->fragments[i] = all[i]->fragment;
    }
    const WgmmaOperands<Accumulator> first = all[0]->operands;
    auto multiply = std::make_shared<std::function<void()>>([=] {
      constexpr int kDepth = 32 / sizeof(TypeA);
      const DescribedOperand<TypeA> a{first.a, kTransposesA && sizeof(TypeA) == 2, rank};
      const DescribedOperand<TypeB> b{first.b, kTransposesB && sizeof(TypeB) == 2, rank};
      std::vector<double> of_a(64 * kDepth), of_b(static_cast<std::size_t>(kWidth) * kDepth);
      for (int i = 0; i < 64 * kDepth; ++i) {
        of_a[i] = has_fragments ? element_of_fragment(shared->fragments, i / kDepth, i % kDepth)
                                : a.at(i / kDepth, i % kDepth);
      }
      for (int i = 0; i < kWidth * kDepth; ++i) {
        of_b[i] = b.at(i / kDepth, i % kDepth);
      }
      for (int row = 0; row < 64; ++row) {
        for (int column = 0; column < kWidth; ++column) {
          double sum = 0;
          for (int k = 0; k < kDepth; ++k) {
            sum += of_a[row * kDepth + k] * of_b[column * kDepth + k];
          }
          const int of_thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
          Accumulator& d = shared->d[of_thread][column / 8 * 4 + row % 16 / 8 * 2 + column % 2];
          d = first.scale_d == 0 ? Accumulator{} : d;
          add_to(d, sum);
        }
      }
    });
    for (int i = 0; i < 128; ++i) {
      all[i]->product = multiply;
    }
  });
  fiber.started_products.push_back([product = meeting.product] {
    if (*product) {
      (*product)();
      *product = nullptr;
    }
  });
}

inline void wgmma_fence() {}
inline void wgmma_commit_group() {
  emulation::Fiber& fiber = emulation::self();
  fiber.product_groups.push_back(std::move(fiber.started_products));
  fiber.started_products.clear();
}
inline void wgmma_wait_group(int pending) {
  emulation::execute_groups(emulation::self().product_groups, pending);
}
template <int kCount, class Type>
void fence_registers(Type (&)[kCount]) {}

template <class TypeA, class TypeB, int kWidth>
struct Wgmma;
template <int kWidth>
struct WgmmaAFromRegisters;
#define DEFINE_WGMMA(n, tnsp_a, tnsp_b)                                                 \
  template <class TypeOfA, class TypeOfB, int kWidth>                                   \
  struct Wgmma {                                                                        \
    template <class Type>                                                               \
    static void mma_async(int scale_d, unsigned long long a, unsigned long long b,      \
                          Type (&d)[kWidth / 2]) {                                      \
      mma_async_of_warpgroup<TypeOfA, TypeOfB, kWidth, (tnsp_a), (tnsp_b)>(             \
          WgmmaOperands<Type>{scale_d, a, b, nullptr, d});                              \
    }                                                                                   \
  };                                                                                    \
  template <int kWidth>                                                                 \
  struct WgmmaAFromRegisters {                                                          \
    static void mma_async(FragmentA& a, unsigned long long b, float (&d)[kWidth / 2]) { \
      mma_async_of_warpgroup<f32, f32, kWidth, false, false>(                           \
          WgmmaOperands<float>{1, 0, b, &a, d});                                        \
    }                                                                                   \
  };

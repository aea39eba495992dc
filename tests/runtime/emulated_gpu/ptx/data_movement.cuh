#pragma once

inline unsigned shared_address(const void* pointer) {
  return emulation::address_of(pointer);
}

template <class Type>
Type load_from_shared(unsigned from) {
  Type x;
  std::memcpy(&x, emulation::pointer_to(from, sizeof(Type)), sizeof(Type));
  return x;
}
template <class Type>
void store_to_shared(unsigned to, const Type& x) {
  std::memcpy(emulation::pointer_to(to, sizeof(Type)), &x, sizeof(Type));
}
template <class Type, int kCount>
struct Several {
  Type element[kCount];
};

inline unsigned load_shared(unsigned from) {
  return load_from_shared<unsigned>(from);
}
inline double load_shared_f64(unsigned from) {
  return load_from_shared<double>(from);
}
inline void store_shared(unsigned to, double x) {
  store_to_shared(to, x);
}
inline void store_shared(unsigned to, double x, double y) {
  store_to_shared(to, Several<double, 2>{x, y});
}
inline void store_shared(unsigned to, unsigned x) {
  store_to_shared(to, x);
}
inline void store_shared(unsigned to, unsigned x, unsigned y) {
  store_to_shared(to, Several<unsigned, 2>{x, y});
}
struct SharedVector {
  unsigned element[4];
};
inline SharedVector load_shared_vector(unsigned from) {
  return load_from_shared<SharedVector>(from);
}
inline void store_shared(unsigned to, unsigned x, unsigned y, unsigned z, unsigned w) {
  store_to_shared(to, SharedVector{x, y, z, w});
}

// ---- ldmatrix, stmatrix -------------------------------------------------------------------------
struct MatrixOperands {
  unsigned address;
  unsigned registers[4];
};
// The element of 16 bits at a row and column of matrix `index`.
inline char* element_of_matrix(MatrixOperands** all, int index, int row, int column) {
  return emulation::pointer_to(all[8 * index + row]->address, 16) + 2 * column;
}
template <bool kTransposes, bool kStores>
void move_matrices(MatrixOperands& own) {
  emulation::as_warp(own, [](MatrixOperands** all) {
    for (int index = 0; index < 4; ++index) {
      for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 2; ++i) {
          const int row = lane / 4, column = lane % 4 * 2 + i;
          char* const shared = kTransposes ? element_of_matrix(all, index, column, row)
                                           : element_of_matrix(all, index, row, column);
          char* const half = reinterpret_cast<char*>(&all[lane]->registers[index]) + 2 * i;
          std::memcpy(kStores ? shared : half, kStores ? half : shared, 2);
        }
      }
    }
  });
}
template <bool kTransposes>
void load_matrices_from(const void* from, unsigned (&registers)[4]) {
  MatrixOperands own{shared_address(from), {}};
  move_matrices<kTransposes, false>(own);
  std::memcpy(registers, own.registers, sizeof(registers));
}
inline void load_matrices(const void* from, unsigned (&registers)[4]) {
  load_matrices_from<false>(from, registers);
}
inline void load_matrices_transposed(const void* from, unsigned (&registers)[4]) {
  load_matrices_from<true>(from, registers);
}
template <bool kTransposes>
void store_matrices_to(unsigned row, const unsigned (&pairs)[4]) {
  MatrixOperands own{row, {pairs[0], pairs[1], pairs[2], pairs[3]}};
  move_matrices<kTransposes, true>(own);
}
inline void store_matrices(unsigned row, const unsigned (&pairs)[4]) {
  store_matrices_to<false>(row, pairs);
}
inline void store_matrices_transposed(unsigned row, const unsigned (&pairs)[4]) {
  store_matrices_to<true>(row, pairs);
}

inline unsigned permute_bytes(unsigned first, unsigned second, unsigned selector) {
  return __byte_perm(first, second, selector);
}

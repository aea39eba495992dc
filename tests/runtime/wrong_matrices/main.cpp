// Does not compile: the test looks for the two reasons.

#include <tunedgemm/tunedgemm.hpp>

int main() {
  const tunedgemm::Matrix<bool> of_bool(nullptr, 4, 4);
  const tunedgemm::Matrix<const float> constant(nullptr, 4, 4);
  tunedgemm::tuned_matmul(constant, constant, constant);
}

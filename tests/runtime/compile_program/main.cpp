// compile_process_test.cpp starts this program to compile.

#include "runtime/cuda/compile_process.h"

int main(int argc, char** argv) {
  return tunedgemm::internal::cuda::run_compiler(
      std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
}

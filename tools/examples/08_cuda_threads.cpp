// On a GPU: several threads, each with its own stream, share one context. The first call tunes
// while the others wait; later calls do not wait for each other.

#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: there is no GPU\n");
    return 77;
  }
  const std::int64_t size = 512;
  const std::vector<float> ones(size * size, 1.0f);
  tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_CUDA, .rigor = TUNEDGEMM_RIGOR_QUICK});
  std::atomic<int> right{0};
  const auto serve = [&] {
    float *a = nullptr, *d = nullptr;
    cudaStream_t stream = nullptr;
    cudaMalloc(&a, ones.size() * sizeof(float));
    cudaMalloc(&d, ones.size() * sizeof(float));
    cudaStreamCreate(&stream);
    cudaMemcpyAsync(a, ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
    const tunedgemm::Matrix input(a, size, size), output(d, size, size);
    for (int call = 0; call < 100; ++call) {
      tunedgemm::tuned_matmul(context, input, input, output, {}, stream);
    }
    float last = 0;
    cudaMemcpyAsync(&last, d + ones.size() - 1, sizeof last, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    right += last == static_cast<float>(size);
    cudaStreamDestroy(stream);
    cudaFree(a);
    cudaFree(d);
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back(serve);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::printf("%d of 4 threads got the right result\n", right.load());
  return right == 4 ? 0 : 1;
}

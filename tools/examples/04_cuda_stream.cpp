// On a GPU: device memory, a stream, and a graph captured from a warm call. This example needs the
// CUDA toolkit to build; the library does not.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  using tunedgemm::Matrix;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: there is no GPU\n");
    return 77;
  }
  const std::int64_t m = 1024, n = 512, k = 256;
  const std::vector<__half> ones(m * k, __float2half(1.0f));
  __half *a = nullptr, *b = nullptr, *d = nullptr;
  cudaMalloc(&a, m * k * sizeof(__half));
  cudaMalloc(&b, k * n * sizeof(__half));
  cudaMalloc(&d, m * n * sizeof(__half));
  cudaMemcpy(a, ones.data(), m * k * sizeof(__half), cudaMemcpyHostToDevice);
  cudaMemcpy(b, ones.data(), k * n * sizeof(__half), cudaMemcpyHostToDevice);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);

  tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_CUDA});
  const auto [problem, buffers] =
      tunedgemm::call_of(Matrix(a, m, k), Matrix(b, k, n), Matrix(d, m, n));
  const tunedgemm::Plan plan = context.plan(problem, buffers);
  std::printf("%s\n", std::string(plan.description()).c_str());

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  plan.run(buffers, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, stream);

  __half first{};
  cudaMemcpyAsync(&first, d, sizeof first, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("d[0] = %g\n", static_cast<double>(__half2float(first)));
  return __half2float(first) == static_cast<float>(k) ? 0 : 1;
}

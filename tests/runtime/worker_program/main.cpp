// tuning_worker_test.cpp starts this program as a worker.

#include "runtime/tuning/worker_conversation.h"
#include "runtime/worker/worker_process.h"

int main(int argc, char** argv) {
  return argc < 2 || argv[1] != tunedgemm::internal::kWorkerFlag
             ? 1
             : tunedgemm::internal::run_worker(
                   std::span(argv, static_cast<std::size_t>(argc)).subspan(2), {});
}

// This program's kernels have an additional activation. The program looks up each winner of a
// cache, and fails if a winner is not found.
//
//     tunedgemm_grown_calls CACHE BACKEND

#include <cstdlib>
#include <iostream>

#include "runtime/context/context.h"

using namespace tunedgemm::internal;

int main(int argc, char** argv) {
  if (argc != 3) {
    return EXIT_FAILURE;
  }
  ContextOptions options;
  options.store.path = argv[1];
  options.backend = find_backend(argv[2]);
  const auto context = Context::create(options);
  const auto winners = context->store().winners();
  std::size_t outdated = 0, lost = 0;
  for (const Record& winner : winners) {
    const bool is_outdated = find_family(winner.family)->fingerprint() != winner.family_fingerprint;
    outdated += is_outdated ? 1 : 0;
    TuneOptions tuning;
    tuning.rigor = winner.rigor;
    if (!context->find_tuned(winner.problem, tuning)) {
      std::cout << "lost: " << to_text(winner.problem) << std::endl;
      ++lost;
    }
  }
  std::cout << winners.size() << " winners, " << outdated << " of an older template, " << lost
            << " lost" << std::endl;
  return winners.empty() || outdated != winners.size() || lost > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

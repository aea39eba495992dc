#pragma once

// TunedShell: a Shell for tests that need something in the cache.

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {

/// A shell whose cache has one winner: f32, 40 x 24 x 16 on the host.
class TunedShell : public Shell {
 public:
  TunedShell() {
    const ProgramResult tuned =
        run(TUNE_ALL
            " --device host --rigor quick --candidates 3 --budget-seconds 100 --m 40 --n 24 "
            "--k 16");
    CAPTURE(tuned.output, tuned.errors);
    REQUIRE(tuned.status == 0);
  }
};

}  // namespace tunedgemm::internal

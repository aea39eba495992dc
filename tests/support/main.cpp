// The main function of every test program: prints the seed, gives the tests a cache other than the
// user's, and tells CTest if all test cases were skipped.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
namespace Catch {
using EventListenerBase = TestEventListenerBase;
}
#endif

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "tests/support/seed.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace {

// CTest reports this status as "Skipped" (SKIP_RETURN_CODE in tests/CMakeLists.txt).
constexpr int kAllSkipped = 77;

// Global, since Catch creates its listeners itself.
bool this_case_skipped = false;
std::size_t cases_skipped = 0;
std::size_t cases_run = 0;

class SkipCounter : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& /*run*/) override {  // not if cases are listed
    std::cout << "seed: " << tunedgemm::internal::test_seed() << " (TUNEDGEMM_TEST_SEED sets it)"
              << std::endl;
  }

  void testCaseStarting(const Catch::TestCaseInfo& /*test_case*/) override {
    this_case_skipped = false;
  }

  void testCaseEnded(const Catch::TestCaseStats& /*stats*/) override {
    ++cases_run;
    cases_skipped += this_case_skipped ? 1 : 0;
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(SkipCounter)

namespace tunedgemm::internal {

std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("TUNEDGEMM_TEST_SEED");
    return text != nullptr ? std::stoull(text) : std::uint64_t{std::random_device{}()};
  }();
  return seed;
}

void note_skip(std::string_view reason) {
  this_case_skipped = true;
  std::cout << "skipped: " << reason << std::endl;
}

}  // namespace tunedgemm::internal

int main(int argc, char** argv) {
  const tunedgemm::internal::TemporaryFolder folder;
  setenv("TUNEDGEMM_CACHE", (folder.path() / "tunedgemm.db").c_str(), 1);
  const int failures = Catch::Session().run(argc, argv);
  if (cases_skipped > 0) {
    std::cout << cases_skipped << " of " << cases_run << " test cases skipped" << std::endl;
  }
  return failures == 0 && cases_skipped > 0 && cases_skipped == cases_run ? kAllSkipped : failures;
}

// The preloaded library beside a fake cuBLAS on the fake GPU: what it records, answers and passes
// on. The program (front/program.cpp) is linked to cuBLAS alone.

#include <map>
#include <sstream>

#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* kFakes =
    "env LD_LIBRARY_PATH=" TUNEDGEMM_FAKES " TUNEDGEMM_NVRTC=" TUNEDGEMM_FAKES "/libnvrtc.so.13.0 ";
constexpr const char* kProgram = TUNEDGEMM_FRONT_PROGRAM;

// The products that the front may answer, and those that only cuBLAS may.
const std::vector<std::string> kAnswered{"beside_capture",
                                         "beside_capture_again",
                                         "nn",
                                         "tn",
                                         "conjugate",
                                         "scalars",
                                         "sgemm",
                                         "batch",
                                         "lt",
                                         "lt_relu_bias",
                                         "lt_again",
                                         "lt_proposed",
                                         "captured"};
const std::vector<std::string> kPassed{
    "device_scalars",      "pedantic",        "compute_16f",  "algorithm",
    "lt_device_scalars",   "lt_aux",          "lt_row_order", "lt_unknown_algorithm",
    "lt_timed_by_program", "first_in_capture"};

// What became of each product: "passed wrong 0", "answered right 0".
std::map<std::string, std::string> outcomes(const ProgramResult& result) {
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  std::map<std::string, std::string> by_name;
  std::istringstream lines(result.output);
  std::string name, rest;
  while (lines >> name && std::getline(lines, rest)) {
    by_name[name] = rest.substr(1);
  }
  REQUIRE(by_name.size() == kAnswered.size() + kPassed.size());
  return by_name;
}

void check_all_passed(const ProgramResult& result) {
  for (const auto& [name, outcome] : outcomes(result)) {
    CAPTURE(name);
    CHECK(outcome == "passed wrong 0");
  }
}

ProgramResult start(const Shell& shell, const std::string& verb) {
  return shell.run(kFakes + std::string(TUNEDGEMM " ") + verb + " -- " + kProgram);
}

// Records the program's products and tunes them.
void record_and_tune(const Shell& shell) {
  const ProgramResult recorded = start(shell, "record --time");
  check_all_passed(recorded);
  CHECK_THAT(recorded.errors,
             ContainsSubstring("8 products recorded in 23 calls of cuBLASLt 13.1.0 (0 us), 1 first "
                               "seen in a capture, 9 of other kinds; next: TUNEDGEMM_CUBLASLT="));
  CHECK_THAT(recorded.errors, ContainsSubstring("tune-all --from-requests --against cublas"));
  const ProgramResult tuned = shell.run(
      kFakes + std::string(TUNE_ALL " --from-requests --rigor quick --candidates 2 --device cuda"));
  CAPTURE(tuned.output, tuned.errors);
  REQUIRE(tuned.status == 0);
}

// As if tune-all had raced the winners against a cuBLAS of this version.
void compare(const Shell& shell, const std::string& version, double speedup) {
  const ProgramResult set =
      shell.run("sqlite3 '" + shell.cache().string() + "' \"UPDATE winner SET vendor = '" +
                version + "', vendor_us = " + std::to_string(speedup) + " * median_us\"");
  REQUIRE(set.status == 0);
}

TEST_CASE("The front answers what was tuned and is faster than cuBLAS, and passes the rest") {
  const Shell shell;
  record_and_tune(shell);
  compare(shell, "cuBLASLt 13.1.0", 1.5);
  const ProgramResult run = start(shell, "run --time");
  auto by_name = outcomes(run);
  for (const std::string& name : kAnswered) {
    CAPTURE(name);
    CHECK(by_name[name] == "answered right 0");
  }
  for (const std::string& name : kPassed) {
    CAPTURE(name);
    CHECK(by_name[name] == "passed wrong 0");
  }
  CHECK_THAT(run.errors, ContainsSubstring("13 of 23 calls of cuBLASLt 13.1.0 served (100.0 % of "
                                           "their time), 1 first seen in a capture, 9 of other "
                                           "kinds"));
}

TEST_CASE("The front reads the descriptors of a version that has shorter ones") {
  const Shell shell;
  record_and_tune(shell);
  compare(shell, "cuBLASLt 12.1.3", 1.5);
  const ProgramResult run = shell.run("env FAKE_CUBLAS_VERSION=120103 " +
                                      (kFakes + std::string(TUNEDGEMM " run -- ")) + kProgram);
  auto by_name = outcomes(run);
  for (const std::string& name : kAnswered) {
    CAPTURE(name);
    CHECK(by_name[name] == "answered right 0");
  }
}

TEST_CASE("The front passes what is not known to be faster than this cuBLAS") {
  const Shell shell;
  record_and_tune(shell);
  SECTION("not compared") {
    const ProgramResult run = start(shell, "run");
    check_all_passed(run);
    CHECK_THAT(run.errors, ContainsSubstring("13 not compared with this version"));
  }
  SECTION("compared with another version") {
    compare(shell, "cuBLASLt 12.1.3", 1.5);
    check_all_passed(start(shell, "run"));
  }
  SECTION("not faster") {
    compare(shell, "cuBLASLt 13.1.0", 1.01);
    const ProgramResult run = start(shell, "run");
    check_all_passed(run);
    CHECK_THAT(run.errors, ContainsSubstring("13 not faster"));
  }
  SECTION("off") {
    compare(shell, "cuBLASLt 13.1.0", 1.5);
    const ProgramResult off = shell.run(
        kFakes + std::string("LD_PRELOAD=" TUNEDGEMM_FRONT_LIBRARY " TUNEDGEMM_FRONT=off ") +
        kProgram);
    check_all_passed(off);
    CHECK(off.errors.empty());
  }
}

TEST_CASE("The front passes everything if it cannot work") {
  const Shell shell;
  SECTION("nothing is tuned") {
    const ProgramResult run = start(shell, "run");
    check_all_passed(run);
    CHECK_THAT(run.errors, ContainsSubstring("13 not tuned"));
  }
  SECTION("libtunedgemm is missing") {
    const std::filesystem::path alone = shell.folder() / "alone.so";
    std::filesystem::copy_file(TUNEDGEMM_FRONT_LIBRARY, alone);
    const ProgramResult run =
        shell.run(kFakes + std::string("LD_PRELOAD=") + alone.string() + " " + kProgram);
    check_all_passed(run);
    CHECK_THAT(run.errors, ContainsSubstring("libtunedgemm.so.0"));
  }
  SECTION("an unknown mode") {
    const ProgramResult run = shell.run(
        kFakes + std::string("LD_PRELOAD=" TUNEDGEMM_FRONT_LIBRARY " TUNEDGEMM_FRONT=serv ") +
        kProgram);
    check_all_passed(run);
    CHECK_THAT(run.errors, ContainsSubstring("TUNEDGEMM_FRONT is \"serv\""));
  }
}

TEST_CASE("tunedgemm run says which program is missing") {
  const Shell shell;
  require_wrong_use(shell, TUNEDGEMM " run -- no_such_program", "there is no program");
  require_wrong_use(shell, TUNEDGEMM " run", "command is required");
}

}  // namespace
}  // namespace tunedgemm::internal

// The verb sweep, run on the host.

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kSweep = TUNEDGEMM " sweep --device host --rounds 2 --sample-ms 0.1 ";

nlohmann::json rows_of(const Shell& shell) {
  return nlohmann::json::parse(std::ifstream(shell.folder() / "sweep.json"))["rows"];
}

/// The contenders of the only shape.
nlohmann::json contenders_of(const Shell& shell) {
  const auto rows = rows_of(shell);
  REQUIRE(rows.size() == 1);
  return rows[0]["contenders"];
}

TEST_CASE("sweep times the configs that the family's cost model ranks first") {
  const Shell shell;
  const ProgramResult result = shell.run(
      kSweep + "40 24 16 --family blocked --top 2 --wide --json sweep.json --csv sweep.csv");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.errors, ContainsSubstring("2 configs of blocked"));
  const auto contenders = contenders_of(shell);
  REQUIRE(contenders.size() == 2);
  CHECK(contenders[0]["median_us"] <= contenders[1]["median_us"]);
  for (const auto& contender : contenders) {
    CHECK(contender["contender"] == "blocked");
    CHECK(contender["predicted_us"] > 0);
    CHECK(contender["compile_ms"] > 0);
    CHECK(contender["max_error"] <= 1);
    CHECK(contender["rejection"].is_null());
    CHECK_THAT(result.output, ContainsSubstring(contender["kernel"].get<std::string>()));
  }
  std::ifstream csv(shell.folder() / "sweep.csv");
  std::string line;
  REQUIRE(std::getline(csv, line));
  CHECK_THAT(line, ContainsSubstring("contender,kernel,median_us,p20_us,p80_us,tflops"));
  std::size_t lines = 0;
  while (std::getline(csv, line)) {
    CHECK_THAT(line, ContainsSubstring(contenders[lines]["kernel"].get<std::string>() + ","));
    ++lines;
  }
  CHECK(lines == 2);
}

TEST_CASE("sweep filters by knob values, or takes complete configs") {
  const Shell shell;
  const ProgramResult filtered =
      shell.run(kSweep +
                "40 24 16 --family blocked --knob prefetch=8 --knob tile_m=4,8 --top 3 "
                "--json sweep.json");
  CAPTURE(filtered.output, filtered.errors);
  REQUIRE(filtered.status == 0);
  const auto contenders = contenders_of(shell);
  REQUIRE(!contenders.empty());
  for (const auto& contender : contenders) {
    const std::string kernel = contender["kernel"];
    CHECK_THAT(kernel, ContainsSubstring("prefetch=8"));
    CHECK((kernel.find("tile_m=4 ") != std::string::npos ||
           kernel.find("tile_m=8 ") != std::string::npos));
  }
  const std::string kernel = contenders[0]["kernel"];
  const ProgramResult given =
      shell.run(kSweep + "40 24 16 --family blocked --config \"" + kernel + "\" --json sweep.json");
  REQUIRE(given.status == 0);
  const auto one = contenders_of(shell);
  REQUIRE(one.size() == 1);
  CHECK(one[0]["kernel"] == kernel);
}

TEST_CASE("sweep takes a list of shapes and stores no winner") {
  const Shell shell;
  std::ofstream(shell.folder() / "shapes.csv") << "f32,nn,8,8,8\nf64,tn,16,8,4\n";
  const ProgramResult result =
      shell.run(kSweep + "--list shapes.csv --family naive_mnk --json sweep.json");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  const auto rows = rows_of(shell);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1]["layout"] == "tn");
  CHECK(shell.run(TUNEDGEMM " best").status == 1);
}

TEST_CASE("sweep refuses wrong arguments and names them") {
  const Shell shell;
  const auto errors_of = [&](const std::string& arguments) {
    const ProgramResult result = shell.run(kSweep + arguments);
    CAPTURE(arguments, result.output);
    CHECK(result.status == 2);
    return result.errors;
  };
  CHECK_THAT(errors_of("8 8 8"), ContainsSubstring("--family"));
  CHECK_THAT(errors_of("8 8 8 --family naiv"), ContainsSubstring("no kernel family \"naiv\""));
  CHECK_THAT(errors_of("8 8 8 --family mma"), ContainsSubstring("does not run on this device"));
  CHECK_THAT(errors_of("8 8 8 --family blocked --knob stages=3"),
             ContainsSubstring("with a knob of blocked"));
  CHECK_THAT(errors_of("8 8 8 --family blocked --config tile_m=4"),
             ContainsSubstring("--config \"tile_m=4\": "));
  CHECK_THAT(errors_of("8 8 8 --family blocked --list shapes.csv"),
             ContainsSubstring("m 8 cannot be combined with --list"));
}

}  // namespace
}  // namespace tunedgemm::internal

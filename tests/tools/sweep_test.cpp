// The verb sweep, run on the host.

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kSweep = TUNEDGEMM " sweep --device host --rounds 2 --sample-ms 0.1 ";

TEST_CASE("sweep times the configs that the family's cost model ranks first") {
  const Shell shell;
  const ProgramResult result = shell.run(
      kSweep + "40 24 16 --family blocked --top 2 --wide --json sweep.json --csv sweep.csv");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("2 configs of blocked"));
  const auto rows = nlohmann::json::parse(std::ifstream(shell.folder() / "sweep.json"))["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["median_us"] <= rows[1]["median_us"]);
  for (const auto& row : rows) {
    CHECK(row["family"] == "blocked");
    CHECK(row["m"] == 40);
    CHECK(row["max_error"] <= 1);
    CHECK(row["rejection"].is_null());
    CHECK_THAT(result.output, ContainsSubstring(row["config"].get<std::string>()));
  }
  std::ifstream csv(shell.folder() / "sweep.csv");
  std::string line;
  REQUIRE(std::getline(csv, line));
  CHECK_THAT(line, ContainsSubstring("family,config,median_us,p20_us,p80_us,tflops"));
  int lines = 0;
  while (std::getline(csv, line)) {
    ++lines;
    CHECK(std::count(line.begin(), line.end(), ',') == 20);
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
  const auto rows = nlohmann::json::parse(std::ifstream(shell.folder() / "sweep.json"))["rows"];
  REQUIRE(!rows.empty());
  for (const auto& row : rows) {
    const std::string config = row["config"];
    CHECK_THAT(config, ContainsSubstring("prefetch=8"));
    CHECK((config.find("tile_m=4 ") != std::string::npos ||
           config.find("tile_m=8 ") != std::string::npos));
  }
  const std::string config = rows[0]["config"];
  const ProgramResult given =
      shell.run(kSweep + "40 24 16 --family blocked --config \"" + config + "\" --json sweep.json");
  REQUIRE(given.status == 0);
  const auto one = nlohmann::json::parse(std::ifstream(shell.folder() / "sweep.json"))["rows"];
  REQUIRE(one.size() == 1);
  CHECK(one[0]["config"] == config);
}

TEST_CASE("sweep takes a list of shapes and stores no winner") {
  const Shell shell;
  std::ofstream(shell.folder() / "shapes.csv") << "f32,nn,8,8,8\nf64,tn,16,8,4\n";
  const ProgramResult result =
      shell.run(kSweep + "--list shapes.csv --family naive_mnk --json sweep.json");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  const auto rows = nlohmann::json::parse(std::ifstream(shell.folder() / "sweep.json"))["rows"];
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
             ContainsSubstring("cannot be combined with --list"));
}

}  // namespace
}  // namespace tunedgemm::internal

// The plots of the tunedgemm command. Skipped if no Python has matplotlib.

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kCommand = TUNEDGEMM " ";

bool can_draw(const Shell& shell) {
  const std::string import = " -c 'import matplotlib'";
  return shell.run("python3" + import + " || /usr/bin/python3" + import).status == 0;
}

TEST_CASE("A plot writes a picture and its JSON file") {
  const TunedShell shell;
  if (!can_draw(shell)) {
    TUNEDGEMM_SKIP("no Python has matplotlib; install the package python3-matplotlib");
  }
  const std::map<std::string, std::string> verbs{
      {"order", " --config \"block_m=16 block_n=8 block_k=8 group_m=2\" --compare"},
      {"ladder", " --device host --rigor quick --rounds 1"}};
  for (const auto& [verb, options] : verbs) {
    const ProgramResult result = shell.run(kCommand + verb + " 40 24 16 --plot " + verb + options);
    CAPTURE(verb, result.output, result.errors);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.output, ContainsSubstring("Drawn in " + verb + ".png"));
    for (const char* ending : {".json", ".png", ".svg"}) {
      CHECK(std::filesystem::file_size(shell.folder() / (verb + ending)) > 0);
    }
  }
}

TEST_CASE("bench plots an earlier run with its own, and refuses a wrong file before measuring") {
  const TunedShell shell;
  if (!can_draw(shell)) {
    TUNEDGEMM_SKIP("no Python has matplotlib; install the package python3-matplotlib");
  }
  const std::string bench =
      kCommand + "bench 40 24 16 --device host --rigor quick --rounds 2 --cool-down-ms 0 ";
  REQUIRE(shell.run(bench + "--json earlier.json").status == 0);

  std::ofstream(shell.folder() / "wrong.json") << R"({"device": "A GPU", "rows": [{"m": 8}]})";
  const ProgramResult wrong =
      shell.run(bench + "--plot new --compare earlier.json --compare wrong.json");
  CAPTURE(wrong.errors);
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.errors, ContainsSubstring("wrong.json is not what `tunedgemm bench --json`") &&
                               ContainsSubstring("KeyError('contenders')"));
  CHECK_FALSE(std::filesystem::exists(shell.folder() / "new.json"));

  const ProgramResult itself = shell.run(bench + "--plot earlier --compare earlier.json");
  CHECK(itself.status == 2);
  CHECK_THAT(itself.errors, ContainsSubstring("--compare earlier.json is the file that this run"));

  const ProgramResult drawn = shell.run(bench + "--plot new --compare earlier.json");
  CAPTURE(drawn.errors);
  REQUIRE(drawn.status == 0);
  std::ifstream picture(shell.folder() / "new.svg");
  const std::string svg((std::istreambuf_iterator<char>(picture)), {});
  CHECK_THAT(svg,
             ContainsSubstring("libtunedgemm, new") && ContainsSubstring("libtunedgemm, earlier"));
  const auto document = nlohmann::json::parse(std::ifstream(shell.folder() / "new.json"));
  CHECK(document["rows"].size() == 1);  // the file has only this run
}

}  // namespace
}  // namespace tunedgemm::internal

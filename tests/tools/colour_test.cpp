#include "tools/shared/colour.h"

#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("A stream has no colours until they are turned on") {
  std::ostringstream out;
  CHECK(coloured(out, "stale", Colour::kYellow) == "stale");
  set_colours(out, true);
  CHECK(coloured(out, "stale", Colour::kYellow) == "\x1b[33mstale\x1b[0m");
  CHECK(coloured(out, "plain", Colour::kNone) == "plain");
  set_colours(out, false);
  CHECK(coloured(out, "stale", Colour::kYellow) == "stale");
}

TEST_CASE("The sequences of a colour have no width, and alone stay unescaped") {
  CHECK(display_width("a\x1b[31m±\x1b[0mb") == 3);
  CHECK(printable_coloured("a\x1b[31mb\x1b[0m\x1b[2K\n") == "a\x1b[31mb\x1b[0m\\u001b[2K\n");
}

TEST_CASE("Titles are bold and states coloured, and columns stay aligned") {
  Table table({{"state"}, {"time", Align::kRight}});
  table.add({"void", "1"});
  table.add({"other", "20"});
  table.add({"\x1b[31mstale", "3"});
  std::ostringstream out;
  set_colours(out, true);
  table.print(out);
  CHECK(out.str() ==
        "\x1b[1mstate\x1b[0m            \x1b[1mtime\x1b[0m\n"
        "\x1b[31mvoid\x1b[0m                1\n"
        "other              20\n"
        "\\u001b[31mstale     3\n");
}

TEST_CASE("Programs colour on a terminal alone, and not with NO_COLOR or on a dumb terminal") {
  const Shell shell;
  const std::string wrong = TUNEDGEMM " bets";
  const std::string red = "\x1b[31mtunedgemm:\x1b[0m ";
  const std::string terminal = "export TERM=xterm; unset NO_COLOR; ";
  CHECK_THAT(shell.run_on_terminal(terminal + wrong, 80).output, ContainsSubstring(red));
  CHECK_THAT(shell.run_on_terminal(terminal + "export NO_COLOR=; " + wrong, 80).output,
             ContainsSubstring(red));
  CHECK_THAT(shell
                 .run_on_terminal(
                     terminal + TUNE_ALL " --m 5 --n 5 --k 5 --types $(printf '\\033[31m')", 80)
                 .output,
             ContainsSubstring("\\u001b[31m"));
  for (const std::string setting : {"export NO_COLOR=1; ", "export TERM=dumb; "}) {
    CAPTURE(setting);
    CHECK_THAT(shell.run_on_terminal(terminal + setting + wrong, 80).output,
               ContainsSubstring("did you mean") && !ContainsSubstring("\x1b"));
  }
  CHECK_THAT(shell.run(terminal + wrong).errors,
             ContainsSubstring("did you mean") && !ContainsSubstring("\x1b"));
}

}  // namespace
}  // namespace tunedgemm::internal

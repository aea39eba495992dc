#include "kernel_templates/base/text.h"

#include <string>

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

std::string line(std::string_view text) {
  return printable(text, Lines::kOne);
}

}  // namespace

TEST_CASE("What acts on a terminal is shown escaped") {
  CHECK(line("plain text") == "plain text");
  CHECK(line("\x1b]0;title\x07") == "\\u001b]0;title\\u0007");
  CHECK(line(std::string_view("a\0b\x7f", 4)) == "a\\u0000b\\u007f");
  CHECK(line("\xc2\x9b") == "\\u009b");      // a control sequence in one character
  CHECK(line("\xe2\x80\xae") == "\\u202e");  // from right to left
  CHECK(line("a\r\n\tb") == "a\\u000d\\u000a\\u0009b");
  CHECK(printable("a\r\n\tb", Lines::kMany) == "a\\u000d\n\tb");
}

TEST_CASE("UTF-8 stays, and bytes that are none are shown as numbers") {
  for (const char* text : {"ä", "→", "±0.4 %", "矩阵", "😀", "\xf4\x8f\xbf\xbf"}) {
    CHECK(line(text) == text);
  }
  CHECK(line("\xff") == "\\xff");
  CHECK(line("a\xc3") == "a\\xc3");  // cut off
  CHECK(line("\xe2\x86") == "\\xe2\\x86");
  CHECK(line("\xc3(") == "\\xc3(");
  CHECK(line("\x80") == "\\x80");
  CHECK(line("\xc0\xaf") == "\\xc0\\xaf");  // not the shortest form
  CHECK(line("\xe0\x80\x9b") == "\\xe0\\x80\\x9b");
  CHECK(line("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(line("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond the last character
}

}  // namespace tunedgemm::internal

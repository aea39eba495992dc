#include "tools/shared/text.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "tests/support/catch.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using Numbers = std::vector<std::int64_t>;

TEST_CASE("The interval of a median needs six samples") {
  Measurement measurement;
  CHECK(interval_text(measurement) == "-");
  measurement.samples_us = {10, 12, 11, 14, 13};
  CHECK(interval_text(measurement) == "-");
  measurement.samples_us.push_back(15);
  CHECK(interval_text(measurement) == "10.0 us to 15.0 us");
}

TEST_CASE("Numbers keep three significant digits") {
  REQUIRE(rounded_text(0) == "0.00");
  REQUIRE(rounded_text(0.01234) == "0.0123");
  REQUIRE(rounded_text(1.234) == "1.23");
  REQUIRE(rounded_text(56.78) == "56.8");
  REQUIRE(rounded_text(7890.4) == "7890");
}

TEST_CASE("Times have a fitting unit") {
  REQUIRE(time_text(12.34) == "12.3 us");
  REQUIRE(time_text(4567) == "4.57 ms");
  REQUIRE(time_text(7.89e6) == "7.89 s");
  REQUIRE(duration_text(48.2) == "48 s");
  REQUIRE(duration_text(200) == "3 min 20 s");
  REQUIRE(duration_text(7500) == "2 h 05 min");
}

TEST_CASE("A spread is half the distance between the percentiles; a single sample has none") {
  REQUIRE(spread_text(Measurement{200, 199, 203, {199, 203}}) == "±1.0 %");
  REQUIRE(spread_text(Measurement{200, 200, 200, {200}}) == "-");
}

TEST_CASE("A speedup over an unknown time is a dash") {
  REQUIRE(speedup_text(20, 10) == "2.00x");
  REQUIRE(speedup_text(0, 10) == "-");
  REQUIRE(gflops_text(2e9, 1000) == "2000");
}

TEST_CASE("Infinite and NaN numbers and times have a text") {
  const double infinite = std::numeric_limits<double>::infinity();
  REQUIRE(rounded_text(infinite) == "inf");
  REQUIRE(rounded_text(std::nan("")) == "nan");
  REQUIRE(duration_text(infinite) == "over 30 years");
  REQUIRE(duration_text(1e300) == "over 30 years");
  REQUIRE(duration_text(std::nan("")) == "over 30 years");
}

TEST_CASE("A cell of a table contains no line break") {
  Table table({{"name", Align::kLeft}, {"m", Align::kRight}});
  table.add({"a\nb\x1b", "1"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() == "name            m\na\\u000ab\\u001b  1\n");
}

TEST_CASE("A user chooses rows and columns of a table, and their order") {
  Table table({{"name"}, {"vs default", Align::kRight}, {"time", Align::kRight}, {"empty"}});
  table.add({"a", "1.05x", "1.5 ms", ""});
  table.add({"b|<c", "", "20 us", ""});
  table.add({"d", "0.9x", "700 us", ""});
  const auto printed = [&](const TableChoice& choice) {
    std::ostringstream out;
    table.print_chosen(out, /*width=*/80, choice);
    return out.str();
  };
  CHECK(printed({.sort = "time", .columns = {"name", "time"}}) ==
        "name    time\nb|<c   20 us\nd     700 us\na     1.5 ms\n");
  CHECK(printed({.sort = "-Time", .limit = 1, .columns = {"time"}}) == "  time\n1.5 ms\n");
  CHECK(printed({.sort = "VS_default", .columns = {"vs default"}, .is_markdown = true}) ==
        "| vs default |\n| --: |\n| 0.9x |\n| 1.05x |\n|  |\n");
  CHECK(printed({.limit = 2, .is_markdown = true}) ==
        "| name | vs default | time |\n| --- | --: | --: |\n| a | 1.05x | 1.5 ms |\n"
        "| b\\|\\<c |  | 20 us |\n");
  REQUIRE_THROWS_WITH(
      printed({.sort = "speed"}),
      "there is no column \"speed\"; expected one of name, vs default, time, empty");
}

TEST_CASE("JSON accepts texts that are not UTF-8") {
  CHECK(json_text(nlohmann::ordered_json{{"name", "a\xff\x1b"}}) ==
        "{\"name\":\"a\xef\xbf\xbd\\u001b\"}");
}

TEST_CASE("The first line of a long text is cut and ends in dots") {
  REQUIRE(first_line("short", 10) == "short");
  REQUIRE(first_line("→→", 4) == "→...");
  REQUIRE(first_line("one\ntwo", 10) == "one...");
  REQUIRE(first_line("0123456789abc", 10) == "0123456789...");
}

TEST_CASE("A shortened text has at most as many characters as asked for, and all of its bytes") {
  CHECK(shortened("short", 5) == "short");
  CHECK(shortened("shorter", 5) == "shor…");
  CHECK(shortened("→→→→", 3) == "→→…");
  CHECK(shortened("one two", 5) == "one…");
  CHECK(shortened("two", 1) == "…");
}

TEST_CASE("Long lines are broken at spaces, and their rest is indented as the second column") {
  CHECK(wrapped("one two three\n\nfour", 8) == "one two\nthree\n\nfour");
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("  --m   one two three", 15) == "  --m   one two\n        three");
  CHECK(wrapped("  one two three", 9) == "  one two\n  three");
  CHECK(wrapped("→→ →→ →→", 5) == "→→ →→\n→→");
  CHECK(wrapped("unbreakable word", 4) == "unbreakable\nword");
}

TEST_CASE("CSV cells are quoted if necessary") {
  REQUIRE(csv_cell("plain text") == "plain text");
  REQUIRE(csv_cell("AMD EPYC (AVX-512, 2 threads)") == "\"AMD EPYC (AVX-512, 2 threads)\"");
  REQUIRE(csv_cell("a \"word\"") == "\"a \"\"word\"\"\"");
}

TEST_CASE("Columns are aligned by characters, not by bytes") {
  Table table({{"types"}, {"us", Align::kRight}});
  table.add({"f16→f16", "7"});
  table.add({"tf32", "12345"});
  std::ostringstream text;
  table.print(text);
  REQUIRE(text.str() ==
          "types       us\n"
          "f16→f16      7\n"
          "tf32     12345\n");
}

TEST_CASE("Columns that are empty in every row are omitted") {
  Table table({{"a"}, {"b"}, {"c"}});
  table.add({"1", "", ""});
  table.add({"2", "", "x"});
  std::ostringstream text;
  table.print(text);
  REQUIRE(text.str() == "a  c\n1\n2  x\n");
}

TEST_CASE("A fitting table omits columns from the right, and shows constant ones in its heading") {
  Table table({{"problem"},
               {"device", Align::kLeft, Constant::kHeading},
               {"long"},
               {"types", Align::kLeft, Constant::kHeading},
               {"us", Align::kRight}});
  table.add({"8x8x8", "a host", std::string(30, 'x'), "f16", "7"});
  table.add({"8x8x16", "a host", "y", "f32", "12"});
  const auto printed = [&](std::size_t width) {
    std::ostringstream text;
    table.print_fitting(text, width);
    return text.str();
  };
  CHECK(printed(20) ==
        "device: a host\n"
        "problem  types  us\n"
        "8x8x8    f16     7\n"
        "8x8x16   f32    12\n");
  CHECK(printed(10) == "device: a\nhost\nproblem\n8x8x8\n8x8x16\n");
  CHECK(printed(80).find(std::string(30, 'x') + "  f16     7") != std::string::npos);
}

TEST_CASE("A last column that wraps keeps half of the width, and its texts go on below") {
  Table table({{"us", Align::kRight},
               {"state"},
               {"config", Align::kLeft, Constant::kColumn, TooWide::kWrap}});
  table.add({"7", "finalist", "mma block_m=64 block_n=128"});
  table.add({"12", "too slow", "mma"});
  const auto printed = [&](std::size_t width) {
    std::ostringstream text;
    table.print_fitting(text, width);
    return text.str();
  };
  CHECK(printed(50) ==
        "us  state     config\n"
        " 7  finalist  mma block_m=64 block_n=128\n"
        "12  too slow  mma\n");
  CHECK(printed(30) ==
        "us  state     config\n"
        " 7  finalist  mma block_m=64\n"
        "              block_n=128\n"
        "12  too slow  mma\n");
  CHECK(printed(24) ==
        "us  config\n"
        " 7  mma block_m=64\n"
        "    block_n=128\n"
        "12  mma\n");
}

TEST_CASE("A compiler's short text has its name and the version that its identity has") {
  CHECK(compiler_text("x86_64-linux-gnu-g++-12 1305592-1744025177 for avx512f+avx2") == "g++ 12");
  CHECK(compiler_text("aarch64-linux-gnu-g++-13 5-7") == "g++ 13");
  CHECK(compiler_text("clang-14 1305592-1744025177 for avx2") == "clang 14");
  CHECK(compiler_text("clang++ 1305592-1744025177") == "clang++");
  CHECK(compiler_text("cc 1305592-1744025177 for avx2") == "cc");
  CHECK(compiler_text("nvrtc 13.0") == "nvrtc 13.0");
  CHECK(compiler_text("none for avx2") == "none");
}

TEST_CASE("A kernel's short text has its family and its tile") {
  Record record;
  record.family = "wgmma";
  record.config = *parse_config("block_m=128 block_n=256 block_k=64 stages=4");
  CHECK(kernel_text(record) == "wgmma 128x256x64");
  record.config = *parse_config("tile=16");
  CHECK(kernel_text(record) == "wgmma 16");
  record.config = Config();
  CHECK(kernel_text(record) == "wgmma");
  record.family = "blocked";
  record.device.backend = "host";
  record.config = *parse_config("tile_m=6 tile_n=2 block_m=256 block_n=1024 split_m=2 split_n=1");
  CHECK(kernel_text(record) == "blocked 6x2x2x1");
}

TEST_CASE("Number lists are single numbers, ranges, and both joined by commas") {
  REQUIRE(parse_number_list("512", 1) == Numbers{512});
  REQUIRE(parse_number_list("512,1024", 1) == Numbers{512, 1024});
  REQUIRE(parse_number_list("128:512:128", 1) == Numbers{128, 256, 384, 512});
  REQUIRE(parse_number_list("1,10:25:10,7", 1) == Numbers{1, 10, 20, 7});
  REQUIRE(parse_number_list("5:5:1", 1) == Numbers{5});
  REQUIRE(parse_number_list("1:2:9223372036854775807", 1) == Numbers{1});
}

TEST_CASE("The error for a number list names the wrong part") {
  const auto fails_with = [](const char* text, const char* sentence) {
    REQUIRE_THROWS_WITH(parse_number_list(text, 1), ContainsSubstring(sentence));
  };
  fails_with("", "\"\" in \"\" is not a whole number");
  fails_with("12x", "\"12x\"");
  fails_with("0", "at least 1");
  fails_with("1,,2", "is not a whole number");
  fails_with("1:2", "\"1:2\" is not first:last:step");
  fails_with("9:1:1", "ends before it begins");
  fails_with("1:9:0", "\"0\" in \"1:9:0\"");
  fails_with("1:9223372036854775807:1", "more than a million");
  fails_with("1:600000:1,1:600000:1", "\"1:600000:1\" in \"1:600000:1,1:600000:1\" makes more");
}

TEST_CASE("The nearest name is the one that few changes of letters give") {
  const std::vector<std::string> names{"--types", "--type", "--budget-seconds", "--total-seconds"};
  CHECK(nearest_name("--tyeps", names) == "--types");
  CHECK(nearest_name("--type", names) == "--type");
  CHECK(nearest_name("--budgetseconds", names) == "--budget-seconds");
  CHECK(nearest_name("--cache", names).empty());
  CHECK(nearest_name("-m", names).empty());
  CHECK(nearest_name("", names).empty());
}

}  // namespace
}  // namespace tunedgemm::internal

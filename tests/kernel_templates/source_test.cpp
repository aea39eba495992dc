#include "kernel_templates/source.h"

#include <string>

#include "kernel_templates/base/sha256.h"
#include "kernel_templates/base/text.h"
#include "kernel_templates/problem/config.h"
#include "tests/support/catch.h"

using namespace tunedgemm::internal;

namespace {

std::string line(std::string_view text) {
  return printable(text, Lines::kOne);
}

}  // namespace

TEST_CASE("SHA-256 gives the digests of its standard") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(sha256_hex("abc", 8) == "ba7816bf");
}

TEST_CASE("Comments and blank lines are not code") {
  CHECK(without_comments("int a;  // one\n\n/* two\n lines */int b;\n") == "int a;\nint b;\n");
  CHECK(without_comments("char* s = \"// no /* comment\";\n") ==
        "char* s = \"// no /* comment\";\n");
  CHECK(without_comments("char c = '\"'; // x\n") == "char c = '\"';\n");
  CHECK(without_comments("f(\"\\\"//\"); //\n") == "f(\"\\\"//\");\n");
}

TEST_CASE("A comment keeps the template's fingerprint, code changes it") {
  const std::string text = "int a = 1;\n";
  const auto fingerprint_of = [](std::string_view changed) {
    return template_fingerprint({"x.cu", changed}, {});
  };
  CHECK(fingerprint_of("// prose\n" + text) == fingerprint_of(text));
  CHECK(fingerprint_of("int a = 2;\n") != fingerprint_of(text));
}

TEST_CASE("A source's fingerprint covers its defines, entry and flag") {
  Source source;
  source.file = {"x.cu", "int a;"};
  source.defines = {{"BLOCK_M", "64"}};
  source.entry = "f";
  Source other = source;
  other.defines[0].second = "128";
  CHECK(fingerprint(other) != fingerprint(source));
  other = source;
  other.entry = "g";
  CHECK(fingerprint(other) != fingerprint(source));
  other = source;
  other.needs_exact_architecture = true;
  CHECK(fingerprint(other) != fingerprint(source));
  CHECK(fingerprint(source).size() == 32);
}

TEST_CASE("Embedded files are found by name, together with their includes") {
  const SourceFile kernel = embedded_file("cuda/naive/naive_2d.cu");
  CHECK(kernel.text.find("tunedgemm_naive_2d") != std::string_view::npos);
  bool has_arguments = false;
  for (const SourceFile& included : included_files(kernel)) {
    has_arguments |= included.name == "cuda/common/arguments.cuh";
  }
  CHECK(has_arguments);
  CHECK_THROWS_AS(embedded_file("none.cu"), std::out_of_range);
}

TEST_CASE("An include is relative to the including file") {
  CHECK(included_name("#include \"../common/a.cuh\"\n", "cuda/mma/kernel.cu") ==
        "cuda/common/a.cuh");
  CHECK(included_name("#include \"b.cuh\"", "cuda/mma/kernel.cu") == "cuda/mma/b.cuh");
  CHECK(included_name("#include <cmath>\n", "host/blocked/kernel.cc").empty());
  CHECK(with_whole_names({"cuda/x/k.cu", "int a;\n#include \"../y/b.cuh\"  // why\nint c;"}) ==
        "int a;\n#include \"cuda/y/b.cuh\"\nint c;");
}

TEST_CASE("A config's text can be parsed, and each knob occurs once") {
  Config config;
  config.set("block_m", 128).set("stages", 3).set("block_m", 64);
  CHECK(to_text(config) == "block_m=64 stages=3");
  CHECK(parse_config(to_text(config)) == config);
  CHECK(config.at("stages") == 3);
  CHECK_FALSE(config.find("block_n").has_value());
  CHECK_THROWS_AS(config.at("block_n"), std::out_of_range);
  CHECK(parse_config("") == Config());
  for (const char* wrong : {"block_m", "block_m=", "block_m=x", "a=1 a=2", "=4", "a=1x"}) {
    INFO(wrong);
    CHECK_FALSE(parse_config(wrong).has_value());
  }
}

TEST_CASE("Characters that act on a terminal are escaped") {
  CHECK(line("plain text") == "plain text");
  CHECK(line("\x1b]0;title\x07") == "\\u001b]0;title\\u0007");
  CHECK(line(std::string_view("a\0b\x7f", 4)) == "a\\u0000b\\u007f");
  CHECK(line("\xc2\x9b") == "\\u009b");      // a control sequence in one character
  CHECK(line("\xe2\x80\xae") == "\\u202e");  // right-to-left override
  CHECK(line("a\r\n\tb") == "a\\u000d\\u000a\\u0009b");
  CHECK(printable("a\r\n\tb", Lines::kMany) == "a\\u000d\n\tb");
}

TEST_CASE("UTF-8 is kept, and bytes that are not UTF-8 are shown as numbers") {
  for (const char* text : {"ä", "→", "±0.4 %", "矩阵", "😀", "\xf4\x8f\xbf\xbf"}) {
    CHECK(line(text) == text);
  }
  CHECK(line("\xff") == "\\xff");
  CHECK(line("a\xc3") == "a\\xc3");  // truncated
  CHECK(line("\xe2\x86") == "\\xe2\\x86");
  CHECK(line("\xc3(") == "\\xc3(");
  CHECK(line("\x80") == "\\x80");
  CHECK(line("\xc0\xaf") == "\\xc0\\xaf");  // overlong
  CHECK(line("\xe0\x80\x9b") == "\\xe0\\x80\\x9b");
  CHECK(line("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(line("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond the last character
}

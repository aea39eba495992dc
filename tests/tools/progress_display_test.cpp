#include "tools/tune_all/progress_display.h"

#include <limits>

#include "tests/support/catch.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const SessionProgress kProgress{.shape = 4,
                                .shapes = 9,
                                .share = 0.42,
                                .elapsed_seconds = 65,
                                .seconds_left = 90,
                                .shape_text = "up M=8 f16→f16 nn",
                                .tuning = Progress{Phase::kScreen, 3, 32, 12.3}};

TEST_CASE("A line of progress has the times before the shape, and the phase and best time last") {
  CHECK(progress_line(kProgress, 200) ==
        "[####------] 4/9  1 min 05 s, 1 min 30 s left  up M=8 f16→f16 nn  screen 3/32  best 12.3 "
        "us");
  CHECK(progress_line({.shapes = 2, .shape_text = "a", .tuning = Progress{}}, 80) ==
        "[----------] 1/2  0 s  a  rank");
  CHECK(progress_line({.shapes = 2, .shape_text = "a, b"}, 80) == "[----------] 1/2  0 s  a, b");
}

TEST_CASE(
    "A line of progress that is too long loses the best time, then the phase, then the name") {
  CHECK(progress_line(kProgress, 80) ==
        "[####------] 4/9  1 min 05 s, 1 min 30 s left  up M=8 f16→f16 nn  screen 3/32");
  CHECK(progress_line(kProgress, 70) ==
        "[####------] 4/9  1 min 05 s, 1 min 30 s left  up M=8 f16→f16 nn");
  CHECK(progress_line(kProgress, 63) ==
        "[####------] 4/9  1 min 05 s, 1 min 30 s left  up M=8 f16→f16…");
  CHECK(progress_line(kProgress, 60) == "4/9  1 min 05 s, 1 min 30 s left  up M=8 f16→f16 nn");
}

TEST_CASE("A line of progress fits every width, and 80 columns show the time left") {
  SessionProgress longest = kProgress;
  longest.shape = longest.shapes = 12345;
  longest.elapsed_seconds = longest.seconds_left = 99 * 3600;
  longest.shape_text = std::string(300, 'x');
  longest.tuning = {Phase::kCompile, 123456, 123456, 123};
  for (std::size_t width = 1; width < 200; ++width) {
    CAPTURE(width);
    CHECK(display_width(progress_line(longest, width)) <= width);
  }
  CHECK_THAT(progress_line(longest, 80), ContainsSubstring("99 h 00 min left  xxx"));
}

TEST_CASE("A line of progress says that the session stops, and how to stop it at once") {
  SessionProgress stopping = kProgress;
  stopping.is_stopping = true;
  CHECK(progress_line(stopping, 120) ==
        "4/9  1 min 05 s  stopping after this candidate; Ctrl-C again: at once  up "
        "M=8 f16→f16 nn");
  CHECK(display_width(progress_line(stopping, 60)) <= 60);
}

TEST_CASE("The share of a shape's tuning follows its candidates, its finals or its time limit") {
  const SearchLimits limited{.seconds = 10};
  const SearchLimits unlimited{.seconds = std::numeric_limits<double>::infinity()};
  using Catch::Matchers::WithinAbs;
  CHECK_THAT(share_of_tuning({}, 0, limited), WithinAbs(0, 1e-9));
  CHECK_THAT(share_of_tuning({Phase::kScreen, 5, 10, 0}, 1, limited), WithinAbs(0.45, 1e-9));
  CHECK_THAT(share_of_tuning({Phase::kScreen, 5, 10, 0}, 8, limited), WithinAbs(0.8, 1e-9));
  CHECK_THAT(share_of_tuning({Phase::kScreen, 5, 10, 0}, 8, unlimited), WithinAbs(0.45, 1e-9));
  CHECK_THAT(share_of_tuning({Phase::kFinals, 5, 10, 0}, 1, limited), WithinAbs(0.95, 1e-9));
  CHECK_THAT(share_of_tuning({Phase::kScreen, 5, 10, 0}, 30, limited), WithinAbs(1, 1e-9));
}

}  // namespace
}  // namespace tunedgemm::internal

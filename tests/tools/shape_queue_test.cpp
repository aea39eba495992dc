// The order in which tune-all's devices get the shapes of a list.

#include "tools/tune_all/shape_queue.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

// "3>5": shape 3, then probably 5. "-": none is left.
std::string turn(ShapeQueue& queue, std::size_t device) {
  const auto turn = queue.take(device);
  if (!turn) {
    return "-";
  }
  return std::to_string(turn->shape) + (turn->next ? ">" + std::to_string(*turn->next) : "");
}

std::vector<std::size_t> in_list_order(std::size_t shapes) {
  std::vector<std::size_t> order(shapes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

TEST_CASE("The shapes with the most operations are tuned first, unless time is limited") {
  std::vector<NamedProblem> shapes;
  for (const std::int64_t m : {3, 4096, 1, 4096, 17}) {
    shapes.push_back(
        {.name = "",
         .problem = make_problem(m, 8, 8, DataType::kF32, DataType::kF32, DataType::kF32)});
  }
  CHECK(tuning_order(shapes, false) == std::vector<std::size_t>{1, 3, 4, 0, 2});
  CHECK(tuning_order(shapes, true) == in_list_order(5));
  CHECK(tuning_order({}, false).empty());
}

TEST_CASE("One device gets the shapes in their order, and the next one that is not tuned") {
  ShapeQueue queue(in_list_order(6), {false, true, false, true, false}, 1);
  CHECK(queue.to_tune() == 4);
  for (const char* expected : {"0>2", "1>2", "2>4", "3>4", "4>5", "5", "-", "-"}) {
    CHECK(turn(queue, 0) == expected);
  }
}

TEST_CASE("Which shapes are tuned is told by their numbers, not by their places in the order") {
  ShapeQueue queue({3, 0, 2, 1}, {false, false, true}, 1);
  CHECK(queue.to_tune() == 3);
  for (const char* expected : {"3>0", "0>1", "2>1", "1", "-"}) {
    CHECK(turn(queue, 0) == expected);
  }
}

TEST_CASE("Two devices share the shapes, and what one expects the other gets only at the end") {
  ShapeQueue queue({4, 2, 0, 1, 3}, {}, 2);
  CHECK(turn(queue, 0) == "4>2");
  CHECK(turn(queue, 1) == "0>1");
  CHECK(turn(queue, 1) == "1>3");
  CHECK(turn(queue, 1) == "3");
  CHECK(turn(queue, 1) == "2");
  CHECK(turn(queue, 1) == "-");
  CHECK(turn(queue, 0) == "-");
}

TEST_CASE("Whatever the order in which devices ask, each shape is handed out once") {
  std::mt19937_64 random(test_seed());
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::size_t shapes = random() % 40, devices = 1 + random() % 8;
    std::vector<bool> is_tuned;
    for (std::size_t shape = 0; shape < random() % 41; ++shape) {
      is_tuned.push_back(random() % 2 == 0);
    }
    std::vector<std::size_t> order = in_list_order(shapes);
    std::ranges::shuffle(order, random);
    ShapeQueue queue(order, is_tuned, devices);
    std::set<std::size_t> taken;
    while (const auto turn = queue.take(random() % devices)) {
      CAPTURE(turn->shape);
      REQUIRE(turn->shape < shapes);
      REQUIRE(taken.insert(turn->shape).second);
      if (turn->next) {
        REQUIRE_FALSE(taken.contains(*turn->next));
        REQUIRE((*turn->next >= is_tuned.size() || !is_tuned[*turn->next]));
      }
    }
    REQUIRE(taken.size() == shapes);
  }
}

}  // namespace
}  // namespace tunedgemm::internal

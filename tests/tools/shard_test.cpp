// Tests shards of a work list, and the launchers that number the processes.

#include "tools/tune_all/shard.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::array kVariables{"OMPI_COMM_WORLD_RANK",
                                "OMPI_COMM_WORLD_SIZE",
                                "OMPI_COMM_WORLD_LOCAL_RANK",
                                "OMPI_COMM_WORLD_LOCAL_SIZE",
                                "MPI_LOCALNRANKS",
                                "LOCAL_WORLD_SIZE",
                                "SLURM_NTASKS_PER_NODE",
                                "PMI_RANK",
                                "PMI_SIZE",
                                "MPI_LOCALRANKID",
                                "RANK",
                                "WORLD_SIZE",
                                "LOCAL_RANK",
                                "SLURM_PROCID",
                                "SLURM_STEP_NUM_TASKS",
                                "SLURM_LOCALID",
                                "SLURM_NTASKS",
                                "SLURM_ARRAY_TASK_ID",
                                "SLURM_ARRAY_TASK_COUNT",
                                "SLURM_ARRAY_TASK_MIN",
                                "SLURM_ARRAY_TASK_STEP",
                                "JOB_COMPLETION_INDEX",
                                "CUDA_VISIBLE_DEVICES"};

// Sets only these variables of the launchers. An empty variable counts as not set.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& set) {
    for (const char* name : kVariables) {
      const auto found = set.find(name);
      variables_.emplace_back(name, found == set.end() ? "" : found->second);
    }
  }

 private:
  std::deque<EnvironmentVariable> variables_;
};

Shard auto_shard(const std::map<std::string, std::string>& set, const std::string& text = "auto") {
  const Environment environment(set);
  return parse_shard(text, launched());
}

std::optional<std::size_t> local_rank(const std::map<std::string, std::string>& set) {
  const Environment environment(set);
  return launched().value().local_rank;
}

std::string why_not(const std::map<std::string, std::string>& set,
                    const std::string& text = "auto") {
  try {
    auto_shard(set, text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

NamedProblem shape(std::int64_t m, std::int64_t n = 64) {
  return {.name = "m" + std::to_string(m),
          .problem = make_problem(m, n, 64, DataType::kF32, DataType::kF32, DataType::kF32)};
}

WorkList list_of(std::int64_t shapes) {
  WorkList work;
  for (std::int64_t m = 1; m <= shapes; ++m) {
    work.shapes.push_back(shape(m));
  }
  return work;
}

std::multiset<std::string> names_of(const ShardOfList& part) {
  std::multiset<std::string> names;
  for (const NamedProblem& each : part.work.shapes) {
    names.insert(each.name);
  }
  return names;
}

double operations_of(const ShardOfList& part) {
  double operations = 0;
  for (const NamedProblem& each : part.work.shapes) {
    operations += flops(each.problem);
  }
  return operations;
}

TEST_CASE("The shard comes from the option, or from the launcher") {
  CHECK(auto_shard({}, "2/8") == Shard{2, 8});
  CHECK(auto_shard({{"RANK", "1"}, {"WORLD_SIZE", "4"}}, "0/1") == Shard{0, 1});
  CHECK(auto_shard({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}) == Shard{1, 4});
  CHECK(auto_shard({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}) == Shard{3, 4});
  CHECK(auto_shard({{"RANK", "0"}, {"WORLD_SIZE", "2"}}) == Shard{0, 2});
  CHECK(auto_shard({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "6"}}) == Shard{5, 6});
  CHECK(auto_shard({{"JOB_COMPLETION_INDEX", "7"}}, "auto/9") == Shard{7, 9});
}

TEST_CASE("Each launcher tells the rank within the machine") {
  CHECK(local_rank({{"OMPI_COMM_WORLD_RANK", "9"},
                    {"OMPI_COMM_WORLD_SIZE", "12"},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}) == 1);
  CHECK(local_rank({{"PMI_RANK", "9"}, {"PMI_SIZE", "12"}, {"MPI_LOCALRANKID", "2"}}) == 2);
  CHECK(local_rank({{"RANK", "9"}, {"WORLD_SIZE", "12"}, {"LOCAL_RANK", "3"}}) == 3);
  CHECK(local_rank(
            {{"SLURM_PROCID", "9"}, {"SLURM_STEP_NUM_TASKS", "12"}, {"SLURM_LOCALID", "4"}}) == 4);
  CHECK(local_rank({{"JOB_COMPLETION_INDEX", "3"}}) == std::nullopt);
  const Environment four_of_a_machine(std::map<std::string, std::string>{
      {"RANK", "9"}, {"WORLD_SIZE", "12"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}});
  CHECK(launched().value().local_count == 4);
}

TEST_CASE("The tasks of a job array are shards, wherever the array begins") {
  const std::map<std::string, std::string> task{{"SLURM_ARRAY_TASK_ID", "12"},
                                                {"SLURM_ARRAY_TASK_COUNT", "4"},
                                                {"SLURM_ARRAY_TASK_MIN", "10"},
                                                // a batch script has these as well
                                                {"SLURM_PROCID", "0"},
                                                {"SLURM_NTASKS", "2"}};
  CHECK(auto_shard(task) == Shard{2, 4});
  auto steps = task;
  steps["SLURM_ARRAY_TASK_STEP"] = "2";
  CHECK(auto_shard(steps) == Shard{1, 4});
  auto inside = task;
  inside["SLURM_PROCID"] = "1";
  inside["SLURM_STEP_NUM_TASKS"] = "3";
  CHECK(auto_shard(inside) == Shard{7, 12});
  auto with_gaps = task;
  with_gaps["SLURM_ARRAY_TASK_ID"] = "17";
  CHECK_THAT(why_not(with_gaps),
             ContainsSubstring("task 17 is not one of 4 tasks that begin at 10"));
}

TEST_CASE("Processes that mpirun started through srun have the ranks of mpirun") {
  CHECK(auto_shard({{"OMPI_COMM_WORLD_RANK", "3"},
                    {"OMPI_COMM_WORLD_SIZE", "4"},
                    {"SLURM_PROCID", "1"},
                    {"SLURM_STEP_NUM_TASKS", "2"}}) == Shard{3, 4});
}

TEST_CASE("A wrong shard, and a launcher that tells none, are refused") {
  CHECK_THAT(why_not({}), ContainsSubstring("no launcher told this process its rank"));
  for (const char* text : {"8/8", "9/8"}) {
    CHECK_THAT(why_not({}, text), ContainsSubstring("shards count from 0 to 7"));
  }
  for (const char* text : {"3", "1/", "/2", "-1/2", "1/2/3", "1/0", "a/2", "1/b", "auto/", "auto/x",
                           "auto/0", "automatic", " 1/2"}) {
    CAPTURE(text);
    CHECK_THAT(why_not({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, text),
               ContainsSubstring("expected i/n, auto or auto/n"));
  }
  CHECK_THAT(why_not({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "auto/3"),
             ContainsSubstring("the launcher started 2 processes (RANK of WORLD_SIZE)"));
  CHECK_THAT(why_not({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
             ContainsSubstring("there is no shard 2 of 2 (RANK of WORLD_SIZE)"));
  CHECK_THAT(why_not({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), ContainsSubstring("RANK is \"x\""));
  CHECK_THAT(why_not({{"JOB_COMPLETION_INDEX", "1"}}),
             ContainsSubstring("--shard auto/n with the job's number of completions"));
}

TEST_CASE("Shards share a list without gaps or repetitions, and have about the same work") {
  const std::multiset<std::string> all = names_of(part_of(list_of(100), {0, 1}, 0));
  for (const std::size_t count : {1U, 2U, 3U, 7U, 100U, 130U}) {
    std::multiset<std::string> together;
    double least = 1e300, most = 0;
    for (std::size_t index = 0; index < count; ++index) {
      const ShardOfList part = part_of(list_of(100), {index, count}, 0);
      CHECK(part.work.shapes.size() == part.is_audited.size());
      CHECK(std::ranges::count(part.is_audited, true) == 0);
      together.merge(names_of(part));
      least = std::min(least, operations_of(part));
      most = std::max(most, operations_of(part));
    }
    CAPTURE(count, least, most);
    CHECK(together == all);
    // at most the largest shape apart
    CHECK(most - least <= flops(shape(100).problem));
  }
}

TEST_CASE(
    "A shard begins with the most expensive shape, and the order of the list does not matter") {
  WorkList reversed = list_of(50);
  std::ranges::reverse(reversed.shapes);
  const ShardOfList part = part_of(list_of(50), {1, 4}, 0);
  REQUIRE(part.work.shapes.front().name == "m49");
  const ShardOfList other = part_of(std::move(reversed), {1, 4}, 0);
  REQUIRE(other.work.shapes.size() == part.work.shapes.size());
  for (std::size_t index = 0; index < part.work.shapes.size(); ++index) {
    CHECK(other.work.shapes[index].name == part.work.shapes[index].name);
  }
}

TEST_CASE("A whole list keeps its order") {
  const ShardOfList part = part_of(list_of(5), {0, 1}, 2);
  REQUIRE(part.work.shapes.front().name == "m1");
  REQUIRE(part.work.shapes.back().name == "m5");
  REQUIRE(std::ranges::count(part.is_audited, true) == 0);
}

TEST_CASE("An audit gives one shape in N to two shards") {
  std::map<std::string, int> times;
  std::map<std::string, int> audited;
  for (std::size_t index = 0; index < 5; ++index) {
    const ShardOfList part = part_of(list_of(64), {index, 5}, 16);
    for (std::size_t position = 0; position < part.work.shapes.size(); ++position) {
      ++times[part.work.shapes[position].name];
      audited[part.work.shapes[position].name] += part.is_audited[position] ? 1 : 0;
    }
  }
  REQUIRE(times.size() == 64);
  int twice = 0;
  for (const auto& [name, count] : times) {
    CAPTURE(name);
    CHECK((count == 1 || count == 2));
    CHECK(audited[name] == (count == 2 ? 2 : 0));
    twice += count == 2 ? 1 : 0;
  }
  CHECK((twice >= 3 && twice <= 5));
}

TEST_CASE("All shards take part in an audit, and have about as many shapes as the others") {
  for (const std::size_t count : {2U, 3U, 4U, 8U, 16U}) {
    for (const std::size_t audit : {2U, 4U, 8U, 16U}) {
      std::size_t least = 512, most = 0;
      for (std::size_t index = 0; index < count; ++index) {
        const ShardOfList part = part_of(list_of(512), {index, count}, audit);
        const auto audited = static_cast<std::size_t>(std::ranges::count(part.is_audited, true));
        CAPTURE(count, audit, index, audited);
        CHECK(audited > 0);
        least = std::min(least, part.work.shapes.size());
        most = std::max(most, part.work.shapes.size());
      }
      CAPTURE(count, audit, least, most);
      CHECK(static_cast<double>(most) <= 1.25 * static_cast<double>(least));
    }
  }
}

TEST_CASE("The part of an audit is one in N") {
  CHECK(parse_audit("1/16") == 16);
  for (const char* text : {"16", "2/16", "1/0", "1/", "0.1", "1/-2"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_audit(text), ContainsSubstring("expected 1/N"));
  }
}

TEST_CASE("A layer of an automatic ladder stays on one shard with its first shapes") {
  WorkList work;
  for (const std::int64_t n : {32, 64, 96}) {
    const Layer layer{.fields = {{"types", "f32"},
                                 {"layout", "nt"},
                                 {"n", std::to_string(n)},
                                 {"k", "64"},
                                 {"m", "1"}},
                      .varied = "m",
                      .most_m = 64};
    work.layers.push_back(layer);
    for (const std::int64_t m : first_rungs(64)) {
      work.shapes.push_back(layer.at(m));
    }
  }
  work.shapes.push_back(shape(5000));
  REQUIRE(work.shapes.size() == 13);
  std::size_t layers = 0, shapes = 0;
  for (std::size_t index = 0; index < 2; ++index) {
    const ShardOfList part = part_of(work, {index, 2}, 1);
    layers += part.work.layers.size();
    shapes += part.work.shapes.size();
    for (const Layer& layer : part.work.layers) {
      for (const std::int64_t m : first_rungs(64)) {
        const std::string rung = fingerprint(canonical(layer.at(m).problem));
        CHECK(std::ranges::count_if(part.work.shapes, [&](const NamedProblem& each) {
                return fingerprint(canonical(each.problem)) == rung;
              }) == 1);
      }
    }
    // the shape of 5000 rows alone is audited
    CHECK(std::ranges::count(part.is_audited, true) == 1);
  }
  CHECK(layers == 3);
  CHECK(shapes == 14);
}

TEST_CASE("A process takes the GPU of its local rank, or the one that it can see") {
  using Variables = std::map<std::string, std::string>;
  {
    const Environment environment{Variables()};
    CHECK(device_of(0, 0) == "auto");
    CHECK(device_of(0, 4) == "cuda:0");
    CHECK(device_of(3, 4) == "cuda:3");
    CHECK_THROWS_WITH(device_of(4, 4), ContainsSubstring("which has 4 GPUs"));
    CHECK_THROWS_WITH(device_of(1, 1), ContainsSubstring("which has 1 GPU;"));
  }
  const Environment bound(Variables{{"CUDA_VISIBLE_DEVICES", "3"}});
  CHECK(device_of(3, 1) == "auto");
  CHECK_THROWS_WITH(device_of(2, 2), ContainsSubstring("process 2 (from 0) of its machine"));
}

}  // namespace
}  // namespace tunedgemm::internal

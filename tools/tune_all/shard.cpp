#include "tools/tune_all/shard.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernel_templates/base/environment.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

struct Launcher {
  const char* index;
  const char* count;
  const char* local_rank;
  const char* local_count;
};

// A process that several launchers started, one through the other, has the variables of all of
// them. Here the inner one comes first: mpirun and torchrun start processes through srun, not the
// other way round.
constexpr std::array<Launcher, 4> kLaunchers{{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    // Not SLURM_NTASKS: a batch script has that as well, but runs only once.
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
}};

std::optional<std::size_t> parse_count(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

// Empty if the variable is not set.
std::optional<std::size_t> number_in(const char* variable) {
  const std::string text = environment(variable);
  if (text.empty()) {
    return std::nullopt;
  }
  const auto number = parse_count(text);
  if (!number) {
    throw std::invalid_argument("--shard auto: " + std::string(variable) + " is \"" +
                                first_line(text, 40) +
                                "\", which is not a whole number; give --shard i/n");
  }
  return number;
}

// Job arrays and what runs inside their tasks.
std::optional<Launched> array_task() {
  const auto id = number_in("SLURM_ARRAY_TASK_ID");
  const auto count = number_in("SLURM_ARRAY_TASK_COUNT");
  if (!id || !count) {
    return std::nullopt;
  }
  const std::size_t first = number_in("SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::size_t step = std::max<std::size_t>(number_in("SLURM_ARRAY_TASK_STEP").value_or(1), 1);
  const std::size_t index = *id < first ? *count : (*id - first) / step;
  if (index >= *count || (*id - first) % step != 0) {
    throw std::invalid_argument("--shard auto: task " + std::to_string(*id) + " is not one of " +
                                std::to_string(*count) + " tasks that begin at " +
                                std::to_string(first) + ", because the job array has gaps; " +
                                "submit it without gaps (--array=0-" + std::to_string(*count - 1) +
                                "), or give --shard i/n");
  }
  return Launched{.by = "SLURM_ARRAY_TASK_ID of SLURM_ARRAY_TASK_COUNT",
                  .index = index,
                  .count = count,
                  .local_rank = {}};
}

std::optional<Launched> rank() {
  for (const Launcher& launcher : kLaunchers) {
    const auto index = number_in(launcher.index);
    const auto count = number_in(launcher.count);
    if (index && count) {
      return Launched{.by = std::string(launcher.index) + " of " + launcher.count,
                      .index = *index,
                      .count = count,
                      .local_rank = number_in(launcher.local_rank),
                      .local_count = number_in(launcher.local_count).value_or(1)};
    }
  }
  return std::nullopt;
}

// The unit that shards do not divide: a shape, or a layer with the first shapes of its ladder.
struct Unit {
  std::vector<std::size_t> shapes;
  std::optional<std::size_t> layer;
  double operations = 0;
  std::string key;  // the first shape's fingerprint
};

std::vector<Unit> units_of(const WorkList& work) {
  std::vector<Unit> units(work.layers.size());
  std::map<std::string, std::size_t> unit_of_rung;
  for (std::size_t layer = 0; layer < work.layers.size(); ++layer) {
    units[layer].layer = layer;
    for (const std::int64_t m : first_rungs(work.layers[layer].most_m)) {
      unit_of_rung.emplace(fingerprint(canonical(work.layers[layer].at(m).problem)), layer);
    }
  }
  for (std::size_t shape = 0; shape < work.shapes.size(); ++shape) {
    const Problem& problem = work.shapes[shape].problem;
    std::string key = fingerprint(canonical(problem));
    const auto rung = unit_of_rung.find(key);
    Unit& unit = rung == unit_of_rung.end() ? units.emplace_back() : units[rung->second];
    unit.shapes.push_back(shape);
    unit.operations += flops(problem);
    if (unit.key.empty()) {
      unit.key = std::move(key);
    }
  }
  std::ranges::sort(units, [](const Unit& left, const Unit& right) {
    return std::tie(right.operations, left.key) < std::tie(left.operations, right.key);
  });
  return units;
}

// 0, 1, 2, 2, 1, 0, 0, 1, ...
std::size_t owner_of(std::size_t unit, std::size_t shards) {
  const std::size_t position = unit % shards;
  return unit / shards % 2 == 0 ? position : shards - 1 - position;
}

// One in `audit` units of each shard; at other places in each, so that they differ in size.
bool is_in_audit(std::size_t unit, std::size_t owner, std::size_t shards, std::size_t audit) {
  return unit / shards % audit == owner % audit;
}

}  // namespace

std::optional<Launched> launched() {
  const auto task = array_task();
  auto process = rank();
  if (task && process) {
    return Launched{.by = task->by + ", " + process->by,
                    .index = task->index * *process->count + process->index,
                    .count = *task->count * *process->count,
                    .local_rank = process->local_rank,
                    .local_count = process->local_count};
  }
  if (task || process) {
    return task ? task : process;
  }
  if (const auto index = number_in("JOB_COMPLETION_INDEX")) {
    return Launched{.by = "JOB_COMPLETION_INDEX", .index = *index, .count = {}, .local_rank = {}};
  }
  return std::nullopt;
}

Shard parse_shard(const std::string& text, const std::optional<Launched>& launched) {
  const std::string option = "--shard " + first_line(text, 40) + ": ";
  const std::size_t slash = text.find('/');
  const std::string index_text = text.substr(0, slash);
  std::optional<std::size_t> count;
  if (slash != std::string::npos) {
    count = parse_count(std::string_view(text).substr(slash + 1));
    if (!count || *count == 0) {
      throw std::invalid_argument(option + "expected i/n, auto or auto/n, such as 0/8");
    }
  }
  std::optional<std::size_t> index = parse_count(index_text);
  std::string origin;
  if (index_text == "auto") {
    if (!launched) {
      throw std::invalid_argument(
          option +
          "no launcher told this process its rank (srun, a Slurm job array, mpirun, torchrun, a "
          "Kubernetes indexed job); give --shard i/n");
    }
    origin = " (" + launched->by + ")";
    if (count && launched->count && *count != *launched->count) {
      throw std::invalid_argument(option + "the launcher started " +
                                  std::to_string(*launched->count) + " processes" + origin +
                                  "; give --shard auto");
    }
    index = launched->index;
    count = count ? count : launched->count;
    if (!count) {
      throw std::invalid_argument(option + launched->by +
                                  " is set, but nothing tells the number of processes; give "
                                  "--shard auto/n with the job's number of completions");
    }
  }
  if (!index || !count) {
    throw std::invalid_argument(option + "expected i/n, auto or auto/n, such as 0/8");
  }
  if (*index >= *count) {
    throw std::invalid_argument(option + "there is no shard " + std::to_string(*index) + " of " +
                                std::to_string(*count) + origin + "; shards count from 0 to " +
                                std::to_string(*count - 1));
  }
  return {*index, *count};
}

std::size_t parse_audit(const std::string& text) {
  const auto every = text.starts_with("1/") ? parse_count(std::string_view(text).substr(2))
                                            : std::optional<std::size_t>();
  if (!every || *every == 0) {
    throw std::invalid_argument("--audit " + first_line(text, 40) +
                                ": expected 1/N, the part of the shapes, such as 1/16");
  }
  return *every;
}

ShardOfList part_of(WorkList work, Shard shard, std::size_t audit) {
  if (shard.count == 1) {  // in the order of the list
    const std::size_t shapes = work.shapes.size();
    return {.work = std::move(work), .is_audited = std::vector<bool>(shapes)};
  }
  ShardOfList part;
  part.work.duplicates = work.duplicates;
  const std::vector<Unit> units = units_of(work);
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    const std::size_t owner = owner_of(unit, shard.count);
    const bool is_audited =
        audit > 0 && is_in_audit(unit, owner, shard.count, audit) && !units[unit].layer;
    const bool is_auditor = is_audited && (owner + 1) % shard.count == shard.index;
    if (owner != shard.index && !is_auditor) {
      continue;
    }
    for (const std::size_t shape : units[unit].shapes) {
      part.work.shapes.push_back(std::move(work.shapes[shape]));
      part.is_audited.push_back(is_audited);
    }
    if (units[unit].layer) {
      part.work.layers.push_back(std::move(work.layers[*units[unit].layer]));
    }
  }
  return part;
}

std::string device_of(std::size_t local_rank, std::size_t gpus) {
  const bool is_bound = gpus == 1 && !environment("CUDA_VISIBLE_DEVICES").empty();
  if (gpus == 0 || is_bound) {
    return "auto";
  }
  if (local_rank >= gpus) {
    throw std::invalid_argument(
        "--shard: this is process " + std::to_string(local_rank) + " (from 0) of its machine, " +
        "which has " + counted(gpus, "GPU") +
        "; two processes on one GPU would disturb each other: start one for each GPU, or one for "
        "each machine with --devices all");
  }
  return "cuda:" + std::to_string(local_rank);
}

}  // namespace tunedgemm::internal

#pragma once

// A shard is the part of a work list that one process of a cluster job tunes. Processes with the
// same list and the same number of shards agree on all shards without talking to each other.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/tune_all/work_list.h"

namespace tunedgemm::internal {

/// Shard `index` of `count`, counted from 0.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// The part of this process, from a launcher's environment.
struct Launched {
  std::string by;  ///< the variables that were read: "SLURM_PROCID of SLURM_STEP_NUM_TASKS"
  std::size_t index = 0;
  std::optional<std::size_t> count;       ///< unknown under Kubernetes
  std::optional<std::size_t> local_rank;  ///< among the processes of this machine
  std::size_t local_count = 1;            ///< their number, if the launcher sets it
};

/// Reads the variables of Open MPI, MPICH and Intel MPI, torchrun, srun, Slurm job arrays and
/// Kubernetes indexed jobs. The launcher that started this process itself decides, so Open MPI
/// comes before the srun that started mpirun's processes. If each task of a Slurm array starts n
/// ranks, task t has the indices from t * n. Empty without a launcher. Throws std::invalid_argument
/// if a variable has no valid number.
std::optional<Launched> launched();

/// The shard that the option --shard names: "2/8"; "auto" as launched; "auto/8" as launched, and
/// the launcher does not set the number. Throws std::invalid_argument.
Shard parse_shard(const std::string& text, const std::optional<Launched>& launched);

/// The N of "1/N", the text of the option --audit. Throws std::invalid_argument.
std::size_t parse_audit(const std::string& text);

/// The shapes and layers of one shard.
struct ShardOfList {
  WorkList work;  ///< the most expensive shapes first, unless it is the whole list
  /// For each shape, whether another shard has it too, so that the results can be compared.
  std::vector<bool> is_audited;
};

/// Deals the shapes to the shards by descending operations, forwards and backwards in turn, so that
/// all shards have about the same work. The first shapes of a layer's automatic ladder stay
/// together with the layer. With `audit` = N, one in N shapes of each shard belongs to the next
/// shard, too, unless it is of such a ladder; 0: none does. The order of the list makes no
/// difference.
ShardOfList part_of(WorkList work, Shard shard, std::size_t audit);

/// The device of a process with this local rank: the GPU of that number, or the host if there is
/// none. If the launcher shows each process only its own GPU ($CUDA_VISIBLE_DEVICES), it is that
/// one. Throws std::invalid_argument if there are GPUs, but fewer than ranks.
std::string device_of(std::size_t local_rank, std::size_t gpus);

}  // namespace tunedgemm::internal

#!/usr/bin/env bash
# Tunes a list with a job array and makes one file of the winners when all tasks have ended:
#
#   submit.sh LIST RESULTS MODEL TASKS [OPTION OF SBATCH]...
#   submit.sh layers.csv /shared/results /shared/model.db 16 --partition=gpu --gpus=1 --time=30
#
# RESULTS is a folder on a file system that all nodes share, in which this user alone can write.
# MODEL is the file to export, for $TUNEDGEMM_SYSTEM_CACHE. If tasks were killed, submit the same
# again, with another MODEL and any number of tasks: only the missing shapes are tuned.
set -euo pipefail
if [[ $# -lt 4 ]]; then
  sed -n 's/^# \{0,1\}//; 2,9p' "$0" >&2
  exit 2
fi
list=$1 results=$2 model=$3 tasks=$4
shift 4
folder=$(dirname "$(realpath "$0")")
array=$(sbatch --parsable --array="0-$((tasks - 1))" "$@" "$folder/tune.sbatch" "$list" "$results")
# afterany: a task that failed must not cost the winners of the others.
merge=$(sbatch --parsable --dependency="afterany:${array%%;*}" "$folder/merge.sbatch" "$results" "$model")
echo "submitted ${array%%;*} (tune) and ${merge%%;*} (merge)"

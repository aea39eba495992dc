#!/usr/bin/env bash
# tune-all under the launchers of a cluster: mpirun of Open MPI, and a Slurm of three nodes.
#
#   cluster_test.sh BUILD_FOLDER mpirun|slurm
set -euo pipefail
here=$(dirname "$(realpath "$0")")
source_folder=$(realpath "$here/../../..")
build=$(realpath "$1")
export PATH=$build/tools:$PATH
unset TUNEDGEMM_CACHE TUNEDGEMM_SYSTEM_CACHE TUNEDGEMM_POLICY
folder=$(mktemp -d)
# shellcheck source=tests/tools/cluster/slurm.sh
source "$here/slurm.sh"
trap 'stop_slurm "$folder/slurm"; chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

skip() {
  echo "skipped: $1"
  exit 77
}
fail() {
  echo "FAILED: $1"
  exit 1
}

# The last shape is the one of the example program.
{
  echo "types,layout,m,n,k,activation,bias"
  for m in {40..50}; do
    echo "f32,nn,$m,24,16,none,none"
  done
  echo "f32,nn,64,512,256,relu,col"
} >list.csv
tune=(tune-all list.csv --device host --rigor quick --candidates 2 --budget-seconds 100)

winners_in() {
  python3 - "$1" <<'END'
import sqlite3, sys
print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT count(*) FROM winner").fetchone()[0])
END
}
# The winners and trials of a cache, without ids.
rows_of() {
  python3 - "$1" <<'END'
import sqlite3, sys
database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for row in database.execute("SELECT m, n, k, config, median_us, tuned_at FROM best"):
    print(row)
for row in database.execute("SELECT m, n, k, config, status, median_us, tried_at FROM trials ORDER BY 1, 2, 3, 4"):
    print(row)
END
}
# The files of the folder have each of the 12 problems once, merging them twice changes nothing, and a
# program runs the exported kernels without a compiler.
check_results() {
  local results=$1
  tunedgemm merge --cache all.db "$results"
  [[ $(winners_in all.db) == 12 ]] || fail "$(winners_in all.db) winners instead of 12"
  rows_of all.db >once
  tunedgemm merge --cache all.db "$results"
  rows_of all.db >twice
  cmp once twice || fail "merging twice changed rows"
  tunedgemm export --cache all.db model.db
  serve model.db
  rm -f all.db all.db.lock model.db once twice
}
serve() {
  TUNEDGEMM_SYSTEM_CACHE=$folder/$1 TUNEDGEMM_CACHE=$folder/served.db TUNEDGEMM_POLICY=stored PATH=/nonexistent \
    "$build/tools/examples/example_02_plan_once_cpp"
  [[ $(winners_in served.db) == 0 ]] || fail "the program tuned"
  local compiled
  compiled=$(python3 -c "import sqlite3; print(sqlite3.connect('served.db').execute('SELECT count(*) FROM kernel').fetchone()[0])")
  [[ $compiled == 0 ]] || fail "the program compiled $compiled kernels"
  rm -f served.db served.db.lock
}
# Waits until a file with a winner is in the folder.
wait_for_winner() {
  local attempt
  for ((attempt = 0; attempt < 600; ++attempt)); do
    compgen -G "$1/*.db" >/dev/null && return
    sleep 0.05
  done
  fail "no winner after 30 s"
}
# The pid of the process with this shard, which reports it on standard error.
pid_of_rank() {
  local pid
  for pid in $(pgrep --full "tune-all list.csv.*--results $1"); do
    if tr '\0' '\n' <"/proc/$pid/environ" | grep --quiet --line-regexp "$2" && [[ $(cat "/proc/$pid/comm") == tune-all ]]; then
      echo "$pid"
      return
    fi
  done
}

with_mpirun() {
  command -v mpirun >/dev/null || skip "there is no mpirun (openmpi-bin)"
  local launch=(mpirun --oversubscribe -n 3)
  [[ $(id -u) == 0 ]] && launch=(mpirun --allow-run-as-root --oversubscribe -n 3)
  "${launch[@]}" "${tune[@]}" --shard auto --results results
  [[ $(find results -name 'shard-?-of-3-*.db' | wc -l) == 3 ]] || fail "not one file for each rank"
  check_results results
  "${launch[@]}" "${tune[@]}" --shard auto --results results >again.log 2>&1
  [[ $(grep --count " 0 tuned in" again.log) == 3 ]] || fail "the second run tuned: $(cat again.log)"
}

with_slurm() {
  [[ $(id -u) == 0 ]] || skip "only root can start a cluster of several nodes on one machine"
  command -v slurmctld slurmd munged >/dev/null || skip "there is no Slurm (slurm-wlm)"
  chmod 755 "$folder"
  start_slurm "$folder/slurm" || skip "Slurm does not start on this machine"

  # A rank is killed. srun lets the others finish.
  srun -N3 -n3 "${tune[@]}" --shard auto --results killed >killed.log 2>&1 &
  local job=$! victim
  wait_for_winner killed
  victim=$(pid_of_rank killed SLURM_PROCID=1)
  [[ -n $victim ]] || fail "rank 1 has ended already: $(cat killed.log)"
  kill -KILL "$victim"
  wait "$job" && fail "srun does not tell that a rank was killed"
  tunedgemm merge --cache partial.db killed
  local left=$((12 - $(winners_in partial.db)))
  ((left > 0)) || fail "the killed rank left nothing to tune"
  # Two ranks tune what it left.
  srun -N2 -n2 "${tune[@]}" --shard auto --results killed >again.log 2>&1 || fail "$(cat again.log)"
  [[ $(grep -o '[0-9]* tuned in' again.log | awk '{sum += $1} END {print sum}') == "$left" ]] || fail "not $left tuned: $(cat again.log)"
  check_results killed

  # The job array of the examples, with its dependent job.
  sed -i "s/^exec tune-all .*/& --device host --rigor quick --candidates 2 --budget-seconds 100/" \
    "$(cp -r "$source_folder/tools/examples/slurm" . && echo slurm/tune.sbatch)"
  slurm/submit.sh "$folder/list.csv" "$folder/results" "$folder/shipped.db" 3 --output="$folder/array-%a.log"
  local attempt
  for ((attempt = 0; attempt < 600; ++attempt)); do
    [[ -z $(squeue --noheader) ]] && break
    sleep 0.1
  done
  cat array-*.log
  [[ $(find results -name 'shard-?-of-3-*.db' | wc -l) == 3 ]] || fail "not one file for each task"
  [[ $(winners_in shipped.db) == 12 ]] || fail "the exported file has $(winners_in shipped.db) winners"
  serve shipped.db
}

"with_$2"

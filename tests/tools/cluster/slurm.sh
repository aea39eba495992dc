#!/usr/bin/env bash
# Sourced by cluster_test.sh: a Slurm cluster of three nodes on this machine, started by root, which
# lives in one folder and uses ports of its own.

# Sets SLURM_CONF. Returns 1 and prints the reason if the cluster does not come up.
start_slurm() {
  local folder=$1 host port
  host=$(hostname -s)
  port=$((20000 + RANDOM % 20000))
  mkdir -p "$folder"/{state,spool,munge}
  chmod 755 "$folder" "$folder/munge"
  export SLURM_CONF=$folder/slurm.conf
  cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=n[1-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 3))] CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
END
  head -c 128 /dev/urandom >"$folder/munge/key"
  chmod 400 "$folder/munge/key"
  munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
    --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" || return 1
  slurmctld || return 1
  local node
  for node in n1 n2 n3; do
    slurmd -N "$node" || return 1
  done
  local attempt
  for ((attempt = 0; attempt < 100; ++attempt)); do
    if [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle && $(sinfo --noheader --format=%D) == 3 ]]; then
      return 0
    fi
    sleep 0.2
  done
  sinfo || true
  tail -n 5 "$folder"/*.log
  return 1
}

# Ends the daemons of the folder, and waits until they have.
stop_slurm() {
  local folder=$1 file pid attempt
  for file in "$folder"/slurmd-*.pid "$folder"/slurmctld.pid "$folder"/munge/pid; do
    [[ -s $file ]] || continue
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null || continue
    # A process that has ended has no command line, even if nobody has asked for its status.
    for ((attempt = 0; attempt < 100; ++attempt)); do
      [[ -n $(tr -d '\0' 2>/dev/null <"/proc/$pid/cmdline") ]] || break
      sleep 0.1
    done
  done
  return 0
}

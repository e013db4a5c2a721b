#!/usr/bin/env bash
# A real Slurm cluster of NODES nodes on this machine, for tests: tests/slurm/cluster.sh up FOLDER [NODES] | down FOLDER | crash FOLDER | controller FOLDER
# `up` prints the path for SLURM_CONF. `crash` kills the controller at once, `controller` starts it again. Needs root and slurmctld, slurmd, squeue (Debian: slurmctld slurmd slurm-client).
set -euo pipefail
verb="${1:-}" folder="$(realpath -m "${2:?which folder}")" nodes="${3:-2}"
export SLURM_CONF="$folder/slurm.conf"

pids() { cat "$folder"/run/*.pid 2>/dev/null || true; }

# Whether a process runs; a dead one that nobody has waited for does not.
runs() { [[ -n "${1:-}" && -r "/proc/$1/stat" && "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat")" != Z ]]; }
controller_runs() { runs "$(cat "$folder/run/slurmctld.pid" 2>/dev/null)"; }

# Writes the configuration with ports from $1 on.
configure() {
  cat >"$SLURM_CONF" <<CONF
ClusterName=pawltest
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$1
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmdParameters=config_overrides
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
KillWait=2
MinJobAge=300
MaxJobCount=20000
SlurmctldTimeout=30
SlurmdTimeout=30
NodeName=n[1-$nodes] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$(($1 + 1))-$(($1 + nodes))] CPUs=64 Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=1000000 State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE MaxTime=INFINITE State=UP
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
CONF
}

# Ends every daemon of the cluster.
end_daemons() {
  for pid in $(pids); do kill "$pid" 2>/dev/null || true; done
  for ((k = 0; k < 60; k++)); do
    alive=0
    for pid in $(pids); do runs "$pid" && alive=1; done
    ((alive)) || return 0
    sleep 0.05
  done
  for pid in $(pids); do kill -9 "$pid" 2>/dev/null || true; done
}

case "$verb" in
  up)
    for program in slurmctld slurmd squeue; do command -v "$program" >/dev/null || { echo "there is no $program" >&2; exit 3; }; done
    [[ "$(id -u)" == 0 ]] || { echo "a cluster needs root" >&2; exit 3; }
    mkdir -p "$folder"/{state,spool,log,run}
    # Below the ports that the kernel gives out. Another cluster of the same moment may want the same ones: then again elsewhere.
    for ((try = 0; try < 8; try++)); do
      configure $((20000 + (RANDOM % 390) * 32))
      slurmctld >/dev/null 2>&1 || true
      for ((i = 1; i <= nodes; i++)); do mkdir -p "$folder/spool/n$i"; slurmd -N "n$i" >/dev/null 2>&1 || true; done
      for ((k = 0; k < 200; k++)); do
        controller_runs || break
        [[ "$(timeout 5 sinfo -h -t idle -o %D 2>/dev/null | head -n 1)" == "$nodes" ]] && { echo "$SLURM_CONF"; exit 0; }
        sleep 0.05
      done
      end_daemons
      rm -rf "$folder"/{state,spool,run} && mkdir -p "$folder"/{state,spool,run}
    done
    tail -n 5 "$folder"/log/* >&2
    exit 4
    ;;
  crash) kill -9 "$(cat "$folder/run/slurmctld.pid")" ;;
  controller)
    slurmctld >/dev/null 2>&1
    for ((k = 0; k < 200; k++)); do timeout 5 scontrol ping 2>/dev/null | grep -q UP && exit 0; sleep 0.05; done
    exit 4
    ;;
  down)
    [[ -f "$SLURM_CONF" ]] || exit 0
    if controller_runs; then
      timeout 10 scancel --user=root >/dev/null 2>&1 || true
      for ((k = 0; k < 40; k++)); do [[ -z "$(timeout 5 squeue -h 2>/dev/null)" ]] && break; sleep 0.1; done
    fi
    end_daemons
    rm -rf "$folder"
    ;;
  *)
    sed -n '2,3p' "$0" >&2
    exit 2
    ;;
esac

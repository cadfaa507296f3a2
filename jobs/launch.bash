# shellcheck shell=bash
# Runs Rollcall inside a batch job: picks the launcher, passes a stop signal on to the ranks, requeues an unfinished job.

readonly exit_requeue=75  # what all ranks of `rollcall train` return after a stop with a checkpoint (EX_TEMPFAIL of sysexits.h)

# default_launcher: srun with PMIx where Slurm has it, then mpirun, then whatever srun does by default (Cray and others).
default_launcher() {
  if srun --mpi=list 2>&1 | grep -qw pmix; then
    echo "srun --mpi=pmix"
  elif command -v mpirun >/dev/null; then
    echo "mpirun --bind-to none"  # Open MPI would bind one or two ranks to a core each, and their threads with them
  else
    echo "srun"
  fi
}

# launch LAUNCHER RUN_DIR COMMAND...: does not return; its exit code is the command's. An empty LAUNCHER picks one.
launch() {
  local launcher=$1 run_dir=$2 ranks rc=0
  shift 2
  # srun and mpirun both pass SIGUSR1 on to the ranks. SIGTERM would not do: srun answers it by killing them.
  trap '[[ -z ${ranks:-} ]] || kill -USR1 "$ranks" 2>/dev/null' USR1
  export OMP_NUM_THREADS=1  # threads are Rollcall's own (run.threads)
  if [[ -n ${SLURM_CPUS_PER_TASK:-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi  # srun no longer inherits it (Slurm 22.05)
  if [[ -z $launcher ]]; then launcher=$(default_launcher); fi
  printf '%s job %s restart %s on %s: %s %s\n' "$(date -u +%FT%TZ)" "${SLURM_JOB_ID:-none}" "${SLURM_RESTART_COUNT:-0}" \
    "${SLURM_JOB_NODELIST:-this host}" "$launcher" "$*"
  # shellcheck disable=SC2086  # the launcher is a command with options
  $launcher "$@" &
  ranks=$!
  while kill -0 "$ranks" 2>/dev/null; do wait "$ranks"; done  # a trapped signal ends `wait` early while the ranks go on
  trap '' USR1
  wait "$ranks" || rc=$?
  if ((rc == exit_requeue)); then requeue "$run_dir"; fi
  exit "$rc"
}

# A stop file is a person's wish, so the job stays stopped; the end of the wall time or a signal is not.
requeue() {
  if [[ -e $1/stop ]]; then
    echo "stopped by $1/stop; submit again to continue"
  elif [[ -n ${SLURM_JOB_ID:-} ]]; then
    scontrol requeue "$SLURM_JOB_ID" || echo "could not requeue job $SLURM_JOB_ID; submit again to continue" >&2
  fi
}

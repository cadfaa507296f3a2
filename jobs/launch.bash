# shellcheck shell=bash
# Runs Rollcall inside a batch job: learns the job's end, starts the ranks, passes a stop signal on to them, requeues an unfinished job.

readonly exit_requeue=75     # what all ranks of `rollcall train` return after a stop with a checkpoint (EX_TEMPFAIL of sysexits.h)
readonly most_deaths=3       # so often in a row the ranks may end without a new checkpoint
readonly start_s=60          # a stop signal in this time [s] finds ranks that are still starting MPI
readonly large_library=1048576  # bytes; what is smaller is not worth a reader of its own

# This job; an element of an array has two numbers, and the first element's plain one would mean the whole array.
this_job() { echo "${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}" | grep . || echo "${SLURM_JOB_ID:-}"; }

requeue_job() { scontrol requeue "$(this_job)"; }

# job_end: Unix time at which Slurm ends the job, or nothing. Asked for, because not every Slurm sets SLURM_JOB_END_TIME, and because an operator may have moved
# the end. Slurm is asked for seconds, since a user's SLURM_TIME_FORMAT may be any other form. A time that is past is no end of a job that runs.
job_end() {
  local end
  for end in "$(SLURM_TIME_FORMAT=%s scontrol show job "$(this_job)" 2>/dev/null | sed -n 's/.* EndTime=\([^ ]*\).*/\1/p')" "${SLURM_JOB_END_TIME:-}"; do
    if [[ $end =~ ^[0-9]{1,11}$ ]] && ((end > $(date +%s))); then
      echo "$end"
      return
    fi
  done
  if [[ -n ${SLURM_JOB_END_TIME:-} ]]; then echo "SLURM_JOB_END_TIME is \"$SLURM_JOB_END_TIME\", which is no time to come: it is ignored" >&2; fi
}

# read_libraries PROGRAM: one reader a node. The ranks of a node then find LibTorch (450 MB) in memory instead of all asking the file system for it at once.
read_libraries() {
  local began=$SECONDS libraries=()
  if ((${SLURM_NTASKS_PER_NODE:-1} < 2)) || ! command -v srun >/dev/null; then return; fi
  mapfile -t libraries < <(ldd "$1" | awk '$3 ~ "^/" {print $3}' | xargs -r -I{} find -L {} -size +"$large_library"c)
  # shellcheck disable=SC2016  # expanded on the node
  if timeout 300 srun --mpi=none --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 sh -c 'cat "$@" >/dev/null' sh "$1" "${libraries[@]}"; then
    echo "one reader a node read ${#libraries[@]} libraries in $((SECONDS - began)) s"
  else
    echo "could not read the libraries ahead: every rank will read them for itself" >&2
  fi
}

# launch RUN_DIR PROGRAM ARGUMENT...: does not return; its exit code is the ranks'. The batch script sets launcher (empty: chosen by `rollcall doctor`), bind and requeue.
launch() {
  local run_dir=$1 program=$2 ranks='' stop='' launched='' rc=0 end
  shift
  # srun and mpirun both pass SIGUSR1 on to the ranks. SIGTERM would not do: srun answers it by killing them.
  trap 'stop=${stop:-$SECONDS}; [[ -z $ranks ]] || kill -USR1 "$ranks" 2>/dev/null' USR1
  export OMP_NUM_THREADS=1  # threads are Rollcall's own (run.threads)
  if [[ -n ${SLURM_CPUS_PER_TASK:-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi  # srun no longer inherits it (Slurm 22.05)
  end=$(job_end)
  if [[ -n $end ]]; then export SLURM_JOB_END_TIME=$end; else unset SLURM_JOB_END_TIME; fi
  if [[ -z ${launcher:-} ]]; then launcher="$("$program" doctor --launcher --bind "${bind:-none}")${launcher_options:+ $launcher_options}" || exit; fi
  printf '%s job %s restart %s on %s until %s: %s %s\n' "$(date -u +%FT%TZ)" "$(this_job)" "${SLURM_RESTART_COUNT:-0}" "${SLURM_JOB_NODELIST:-this host}" \
    "${end:+$(date -u -d "@$end" +%FT%TZ)}" "$launcher" "$*"
  read_libraries "$program"
  rm -f "$run_dir/failure"
  if [[ -n $stop ]]; then rc=$exit_requeue; else run_ranks "$@"; fi
  trap '' USR1
  # Where one rank failed and said why, the launcher may still report how it ended another (MPICH's does).
  if ((rc != 0 && rc != 2 && rc != exit_requeue)) && [[ -e $run_dir/failure ]]; then rc=3; fi
  case $rc in
    0 | 2 | 3 | 126 | 127) ;;  # done, misconfigured, failed; no such program
    "$exit_requeue") after_stop "$run_dir" "${stop:+$((stop - ${launched:-stop}))}" ;;
    *) after_death "$run_dir" "$rc" ;;
  esac
  exit "$rc"
}

run_ranks() {
  # shellcheck disable=SC2086  # the launcher is a command with options
  launched=$SECONDS
  $launcher "$@" &
  ranks=$!
  while kill -0 "$ranks" 2>/dev/null; do wait "$ranks"; done  # a trapped signal ends `wait` early while the ranks go on
  wait "$ranks" || rc=$?
}

# A stop file is a person's wish, so the job stays stopped; the end of the wall time, a signal or a dead node is not.
start_again() {
  if [[ -e $1/stop ]]; then
    echo "stopped by $1/stop; submit again to continue"
  elif [[ ${requeue:-yes} != yes || -z $(this_job) ]]; then
    echo "not requeued; the next job of the chain, or another rollcall submit, continues"
  else
    requeue_job || echo "could not requeue job $(this_job); submit again to continue" >&2
  fi
}

# count_end RUN_DIR: of ends in a row that left the same newest checkpoint, the number of this one, in $deaths; the checkpoint in $newest. RUN/deaths remembers
# both. Whatever ends a run before every new checkpoint, no restart mends.
count_end() {
  local before=''
  deaths=0
  newest=$(find "$1/checkpoints" -mindepth 1 -maxdepth 1 ! -name '.*' -printf '%T@ %f\n' 2>/dev/null | sort -n | tail -n 1 | cut -d' ' -f2)
  newest=${newest:-none}
  if [[ -e $1/deaths ]]; then read -r before deaths <"$1/deaths"; fi
  if [[ $newest == "$before" ]]; then deaths=$((deaths + 1)); else deaths=1; fi
  echo "$newest $deaths" >"$1/deaths"
}

# after_stop RUN_DIR [SECONDS]: the run stopped with a checkpoint, which is a new one unless the time is too short for a step. A signal so soon after its ranks were
# launched that they were still starting says nothing of the run.
after_stop() {
  local newest deaths
  if [[ ! -e $1/stop ]] && { [[ -z $2 ]] || (($2 > start_s)); }; then
    count_end "$1"
    if ((deaths >= most_deaths)); then
      echo "the run stopped $deaths times in a row at checkpoint $newest, without a step: not requeued; ask for more time (--time), or a shorter step" >&2
      return
    fi
  fi
  start_again "$1"
}

# after_death RUN_DIR CODE: a rank or a node died: killed by a signal, or the launcher lost it. The last checkpoint is as good as after any stop.
after_death() {
  local newest deaths
  count_end "$1"
  if ((deaths >= most_deaths)); then
    echo "a rank or node died (exit code $2), end number $deaths in a row at checkpoint $newest: not requeued; see the lines above" >&2
  else
    echo "a rank or node died (exit code $2); the run goes on from checkpoint $newest" >&2
    start_again "$1"
  fi
}

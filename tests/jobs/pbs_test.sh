#!/usr/bin/env bash
# jobs/pbs.bash with jobs/launch.bash, against stand-ins for mpirun, qsub and the program: the end of the job, the launcher's options, the signal before the end, and the
# next job of a run that is not done. No PBS server takes part.
# shellcheck disable=SC2016  # the small programs below expand their own variables
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/run/checkpoints"
failures=0

cat >"$work/bin/mpirun" <<'SH'
#!/usr/bin/env bash
# A stand-in for mpirun: notes its options and passes SIGUSR1 on.
options=()
while [[ ${1:-} != "$PROGRAM" ]]; do options+=("$1"); shift; done
echo "mpirun ${options[*]}" >>"$CALLS"
exec "$@"
SH
cat >"$work/bin/program" <<'SH'
#!/usr/bin/env bash
# A stand-in for rollcall.
if [[ $1 == doctor ]]; then echo "mpirun --bind-to ${*: -1}"; else exec bash -c "$1"; fi
SH
cat >"$work/bin/qsub" <<'SH'
#!/usr/bin/env bash
# A stand-in for qsub.
echo "qsub $*" >>"$CALLS"
SH
chmod +x "$work"/bin/*

# job WALL_S SIGNAL_S REQUEUE PROGRAM_TEXT: runs it as the batch script would; leaves the exit code in $rc and the calls in $calls.
job() {
  : >"$work/calls"
  rm -f "$work/run/deaths"
  cat >"$work/run/job.pbs" <<SH
source '$root/jobs/launch.bash'
source '$root/jobs/pbs.bash'
launcher='' bind=core requeue=$3 job_script='$work/run/job.pbs'
begin_pbs_job $1 $2 6 4
launch '$work/run' '$work/bin/program' "\$PROGRAM_TEXT"
SH
  env -u SLURM_JOB_ID -u SLURM_ARRAY_JOB_ID -u SLURM_JOB_END_TIME -u SLURM_CPUS_PER_TASK PATH="$work/bin:$PATH" CALLS="$work/calls" PROGRAM="$work/bin/program" \
    PROGRAM_TEXT="$4" PBS_JOBID=7.server PBS_NODEFILE="$work/nodes" bash "$work/run/job.pbs" >"$work/out" 2>&1
  rc=$?
  calls=$(cat "$work/calls")
}

# expect WHAT CONDITION...: notes a failure where the condition does not hold.
expect() {
  local what=$1
  shift
  if ! "$@"; then
    echo "FAIL  $what: exit code $rc, calls: $calls"
    cat "$work/out"
    failures=$((failures + 1))
  fi
}

ranks="mpirun --bind-to core -n 6 -machinefile $work/nodes"
job 100 50 yes 'exit 0'
expect "a run that is done" test "$rc $calls" = "0 $ranks"
job 100 50 yes 'echo "$SLURM_JOB_END_TIME $(date +%s) $SLURM_CPUS_PER_TASK" >"$CALLS.said"; exit 75'
read -r end now cores <"$work/calls.said"
expect "the end of the job, and the cores of a rank" test "$((end - now <= 100 && end - now > 90)) $cores" = "1 4"
expect "a run that is not done begins another job" test "$rc $calls" = "75 $ranks"$'\n'"qsub $work/run/job.pbs"
job 100 50 no 'exit 75'
expect "a job of a chain leaves that to the next" test "$rc $calls" = "75 $ranks"
job 100 50 yes 'exit 3'
expect "a run that failed" test "$rc $calls" = "3 $ranks"
began=$SECONDS
job 30 29 yes 'trap "exit 75" USR1; for _ in $(seq 150); do sleep 0.1; done'
expect "the signal before the end" test "$rc $((SECONDS - began < 10))" = "75 1"
touch "$work/run/stop"
job 100 50 yes 'exit 75'
expect "a stop file" test "$rc $calls" = "75 $ranks"

if ((failures > 0)); then exit 1; fi
echo "PBS: all as expected"

#!/usr/bin/env bash
# jobs/launch.bash against stand-ins for srun, mpirun, scontrol and the program: end of the job, exit codes, requeue, deaths, stop file, stop signal, launcher.
# shellcheck disable=SC2016  # the small programs below expand their own variables
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/run/checkpoints"
failures=0

# The launcher notes its options and runs the command; the program is told what to do, and its doctor names a launcher.
cat >"$work/bin/srun" <<'SH'
#!/usr/bin/env bash
# A stand-in for srun.
options=()
while [[ ${1:-} == --* ]]; do options+=("$1"); shift; done
echo "srun ${options[*]}" >>"$CALLS"
exec "$@"
SH
cat >"$work/bin/program" <<'SH'
#!/usr/bin/env bash
# A stand-in for rollcall.
if [[ $1 == doctor ]]; then echo "srun --chosen=${*: -1}"; else exec bash -c "$1"; fi
SH
cat >"$work/bin/scontrol" <<'SH'
#!/usr/bin/env bash
# A stand-in for scontrol.
if [[ $1 == show ]]; then
  end=${SLURM_END-$(date -u -d 2030-01-01T01:00:00 "+${SLURM_TIME_FORMAT:-%FT%T}")}
  printf 'JobId=42 JobName=x\n   StartTime=%s EndTime=%s Deadline=N/A\n' "$end" "$end"
else
  echo "scontrol $*" >>"$CALLS"
fi
SH
chmod +x "$work"/bin/*

# job PROGRAM_TEXT [VARIABLE=VALUE ...]: runs it as the batch script would; leaves the exit code in $rc and the calls in $calls.
job() {
  local text=$1
  shift
  : >"$work/calls"
  if [[ -z ${keep:-} ]]; then rm -f "$work/run/deaths"; fi
  env TZ=UTC PATH="$work/bin:$PATH" CALLS="$work/calls" SLURM_JOB_ID=42 launcher=srun "$@" \
    bash -c 'source "$1/jobs/launch.bash"; launch "$2/run" "$2/bin/program" "$3"' job "$root" "$work" "$text" >"$work/log" 2>&1 &
  local pid=$!
  if [[ -n ${signal:-} ]]; then
    until [[ -e $work/ready ]]; do sleep 0.02; done
    kill -USR1 "$pid"
  fi
  wait "$pid"
  rc=$?
  calls=$(cat "$work/calls")
}

expect() {  # WHAT GOT WANTED
  if [[ $2 != "$3" ]]; then printf 'FAILED %s: got "%s", wanted "%s"\n%s\n' "$1" "$2" "$3" "$(cat "$work/log")"; failures=$((failures + 1)); fi
}

for code in 0 2 3 127; do
  job "exit $code"
  expect "code $code is kept" "$rc" "$code"
  expect "code $code is not requeued" "$calls" "srun "
done
job "exit 75"
expect "stopped: code" "$rc" 75
expect "stopped: requeue" "$calls" $'srun \nscontrol requeue 42'
job "exit 75" requeue=no
expect "in a chain: no requeue" "$calls" "srun "
job "exit 75" SLURM_ARRAY_JOB_ID=40 SLURM_ARRAY_TASK_ID=2
expect "an element of an array: itself" "$calls" $'srun \nscontrol requeue 40_2'
touch "$work/run/stop"
job "exit 75"
expect "stop file: code" "$rc" 75
expect "stop file: no requeue" "$calls" "srun "
rm "$work/run/stop"

# A rank killed by a signal: requeued, but not for ever with the same newest checkpoint. One that was half written when the rank died is none.
for death in 1 2 3 4 5 6; do
  if ((death == 3)); then mkdir "$work/run/checkpoints/train_000010"; fi
  if ((death == 4)); then mkdir "$work/run/checkpoints/.partial-train_000020"; fi
  keep=yes job "kill -KILL \$\$"
  expect "death $death: code" "$rc" 137
  ((death == 5)) && wanted="srun " || wanted=$'srun \nscontrol requeue 42'
  if ((death == 6)); then wanted="srun "; fi
  expect "death $death" "$calls" "$wanted"
done

# A stop is an end like any other where no step was made before it: the allocation is too short for one.
rm -f "$work/run/deaths"
for stop in 1 2 3 4; do
  if ((stop == 4)); then mkdir "$work/run/checkpoints/train_000030"; fi
  keep=yes job "exit 75"
  expect "stop $stop: code" "$rc" 75
  ((stop == 3)) && wanted="srun " || wanted=$'srun \nscontrol requeue 42'
  expect "stop $stop" "$calls" "$wanted"
done
rm -f "$work/ready"
for stop in 1 2 3 4; do
  keep=yes signal=yes job "trap 'exit 75' USR1; touch $work/ready; for ((i = 0; i < 200; i++)); do sleep 0.05; done; exit 1"
  expect "signal $stop while MPI starts" "$calls" $'srun \nscontrol requeue 42'
  rm -f "$work/ready"
done

job "echo 'rank 1: no' >$work/run/failure; kill -KILL \$\$"
expect "a failure with a reason: code" "$rc" 3
expect "a failure with a reason: no requeue" "$calls" "srun "

# The ranks answer SIGUSR1 only after a while, as one that finishes its step does: the shell must wait for their own exit code.
signal=yes job "trap 'sleep 0.3; exit 75' USR1; touch $work/ready; for ((i = 0; i < 200; i++)); do sleep 0.05; done; exit 1"
expect "signal: code" "$rc" 75
expect "signal: requeue" "$calls" $'srun \nscontrol requeue 42'

job 'echo "threads $OMP_NUM_THREADS, end $SLURM_JOB_END_TIME" >>"$CALLS"'
expect "threads and the job's end" "$calls" $'srun \nthreads 1, end 1893459600'
job 'echo "end $SLURM_JOB_END_TIME" >>"$CALLS"' SLURM_TIME_FORMAT=relative SLURM_JOB_END_TIME=5
expect "the job's end whatever form of time the user likes" "$calls" $'srun \nend 1893459600'
job 'echo "end ${SLURM_JOB_END_TIME-none}" >>"$CALLS"' SLURM_END=Unknown SLURM_JOB_END_TIME=1000000000
expect "a job without an end, an old one left over" "$calls" $'srun \nend none'
expect "it is named" "$(grep -c 'SLURM_JOB_END_TIME is "1000000000", which is no time to come' "$work/log")" 1
job 'echo "end ${SLURM_JOB_END_TIME-none}" >>"$CALLS"' SLURM_END=Unknown SLURM_JOB_END_TIME=soon
expect "no time at all" "$calls" $'srun \nend none'
job "exit 0" launcher= bind=core
expect "the doctor's launcher" "$calls" "srun --chosen=core"
job "exit 0" SLURM_NTASKS_PER_NODE=2 SLURM_JOB_NUM_NODES=3
expect "one reader a node" "$calls" $'srun --mpi=none --nodes=3 --ntasks=3 --ntasks-per-node=1\nsrun '

if ((failures)); then exit 1; fi
echo "launch.bash: all expectations met"

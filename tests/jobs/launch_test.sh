#!/usr/bin/env bash
# jobs/launch.bash against stand-ins for srun, mpirun and scontrol: exit codes, requeue, stop file, the stop signal, choice of launcher.
# shellcheck disable=SC2016  # the small programs below expand their own variables
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/run"
failures=0

# The launchers note their name and options and run the command; srun offers PMIx only if told to.
cat >"$work/bin/srun" <<'SH'
#!/usr/bin/env bash
# A stand-in for srun.
if [[ $1 == --mpi=list ]]; then echo "MPI plugin types are..." "${FAKE_MPI:-none}" >&2; exit 0; fi
options=()
while [[ ${1:-} == --* ]]; do options+=("$1"); shift; done
echo "srun ${options[*]}" >>"$CALLS"
exec "$@"
SH
sed 's/\bsrun\b/mpirun/g; /mpi=list/d; s/while \[\[.*/while [[ ${1:-} == --* ]]; do options+=("$1" "$2"); shift 2; done/' "$work/bin/srun" >"$work/bin/mpirun"
printf '#!/bin/sh\necho "scontrol $*" >>"$CALLS"\n' >"$work/bin/scontrol"
chmod +x "$work"/bin/*

# job LAUNCHER COMMAND: runs it as the batch script would; leaves the exit code in $rc and the calls in $calls.
job() {
  : >"$work/calls"
  env PATH="$work/bin:$PATH" CALLS="$work/calls" SLURM_JOB_ID=42 bash -c 'source "$1/jobs/launch.bash"; launch "$2" "$3" bash -c "$4"' \
    job "$root" "$1" "$work/run" "$2" >"$work/log" 2>&1 &
  local pid=$!
  if [[ ${3:-} == signal ]]; then
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

job "srun" "exit 0"
expect "done: code" "$rc" 0
expect "done: no requeue" "$calls" "srun "
for code in 2 3; do
  job "srun" "exit $code"
  expect "code $code is kept" "$rc" "$code"
  expect "code $code is not requeued" "$calls" "srun "
done
job "srun" "exit 75"
expect "stopped: code" "$rc" 75
expect "stopped: requeue" "$calls" $'srun \nscontrol requeue 42'
touch "$work/run/stop"
job "srun" "exit 75"
expect "stop file: code" "$rc" 75
expect "stop file: no requeue" "$calls" "srun "
rm "$work/run/stop"

# The ranks answer SIGUSR1 only after a while, as one that finishes its step does: the shell must wait for their own exit code.
job "srun" "trap 'sleep 0.3; exit 75' USR1; touch $work/ready; for ((i = 0; i < 200; i++)); do sleep 0.05; done; exit 1" signal
expect "signal: code" "$rc" 75
expect "signal: requeue" "$calls" $'srun \nscontrol requeue 42'

job "" 'echo "threads $OMP_NUM_THREADS" >>"$CALLS"'
expect "no PMIx: mpirun" "$calls" $'mpirun --bind-to none\nthreads 1'
FAKE_MPI=pmix job "" "exit 0"
expect "PMIx: srun" "$calls" "srun --mpi=pmix"
job "srun --cpu-bind=cores" "exit 0"
expect "site launcher" "$calls" "srun --cpu-bind=cores"

if ((failures)); then exit 1; fi
echo "launch.bash: all expectations met"

#!/usr/bin/env bash
# A call that blocks beyond its deadline ends the job with exit code 3 and one message, on standard error and in the failure file.
# usage: stuck_test.sh COMMAND...   the launcher with its options, and the probe
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
began=$SECONDS
"$@" "$work/failure" >"$work/out" 2>&1
rc=$?
said=$(grep -cE '^rollcall: rank [02] has been in a long sleep for 0.3 s \(rank 1 \(sleeper\) does not answer: stopped, dead, in its disk or held up before it\); ' "$work/out")
# hydra reports the signal with which it killed another rank as often as the code of the one that ended
if ((rc != 3 && rc != 9)) || ((said != 1 || SECONDS - began > 20)) || ! grep -q 'in a long sleep' "$work/failure"; then
  printf 'exit code %d, %d messages, %d s\n%s\n' "$rc" "$said" $((SECONDS - began)) "$(cat "$work/out")"
  exit 1
fi

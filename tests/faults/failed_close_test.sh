#!/usr/bin/env bash
# A write that fails in a collective flush or close ends the job with one message and exit code 3; half a write may also be made whole, by MPI.
# usage: failed_close_test.sh COMMAND...   the launcher with its options, the program, the call, the fault, and a folder for it
set -u
said=$("$@" 2>&1)
code=$?
printf '%s\n' "$said"
((code == 0)) && exit 0
# MPICH's launcher reports the signal with which it killed another rank as often as the code of the one that ended.
((code == 3 || code == 9)) || { echo "exit code $code, not 3"; exit 1; }
(($(grep -c '^rollcall: ' <<<"$said") == 1)) || { echo "not one message"; exit 1; }
grep -q '^rollcall: rank [01]: cannot write .*/b.h5: .* (the shards could not be packed' <<<"$said" || { echo "not the message of a failed write"; exit 1; }

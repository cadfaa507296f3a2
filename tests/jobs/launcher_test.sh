#!/usr/bin/env bash
# rollcall doctor --launcher among stand-ins for srun: what it chooses with and without the MPI's interface in Slurm, and how ranks are bound.
# usage: launcher_test.sh PROGRAM
set -uo pipefail
unset SLURM_PMIX_FENCE
program=${1:?the program}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/none" "$work/offers" "$work/bin"
failures=0

# shellcheck disable=SC2016  # expanded by the stand-in
fake_srun() { printf '#!/bin/sh\n[ "$1" = --mpi=list ] && printf "MPI plugin types are...\\n\\tcray_shasta\\n%s"\n' "$2" >"$work/$1/srun"; chmod +x "$work/$1/srun"; }
fake_srun none ''
fake_srun offers '\tpmix\n\tpmi2\n\tpmix_v4\n'
for name in sh mpirun mpiexec; do ln -s "$(command -v "$name")" "$work/bin/"; done
if ldd "$program" | grep -q libmpich; then
  interface=pmi2 fence='' none=mpiexec core='mpiexec -bind-to core:4' numa='mpiexec -bind-to numa'
else
  interface=pmix fence='env SLURM_PMIX_FENCE=tree ' none='mpirun --bind-to none' core='mpirun --map-by slot:PE=4 --bind-to core' numa='mpirun --map-by numa --bind-to numa'
fi

choice() {  # FOLDER BIND WANTED
  local got
  got=$(PATH=$work/$1:$work/bin SLURM_CPUS_PER_TASK=4 "$program" doctor --launcher --bind "$2" 2>&1)
  if [[ $got != "$3" ]]; then echo "FAILED $1 $2: got '$got', wanted '$3'"; failures=$((failures + 1)); fi
}
choice offers none "${fence}srun --mpi=$interface --kill-on-bad-exit=1 --cpu-bind=none"
choice offers core "${fence}srun --mpi=$interface --kill-on-bad-exit=1 --cpu-bind=cores"
choice offers numa "${fence}srun --mpi=$interface --kill-on-bad-exit=1 --cpu-bind=ldoms --mem-bind=local"
SLURM_PMIX_FENCE=ring choice offers none "srun --mpi=$interface --kill-on-bad-exit=1 --cpu-bind=none"  # a site's own choice stays
choice none none "$none"
choice none core "$core"
choice none numa "$numa"
choice none cores 'rollcall: ranks cannot be bound to "cores" (the launcher has no option for it); did you mean core? valid are none, core, numa'
rm "$work/bin/"mpi*
choice none none "srun --kill-on-bad-exit=1 --cpu-bind=none"  # whatever Slurm does by default

if ((failures)); then exit 1; fi
echo "doctor --launcher: all expectations met"

#!/usr/bin/env bash
# Stages the relocatable archive, moves it, and trains with it: every library but MPI's and the machine's own comes from the archive.
# usage: package_test.sh SOURCE_FOLDER PRESET
set -euo pipefail
source=${1:?source folder} preset=${2:?preset}
work=$(mktemp -d "$source/build/package_test.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$source/scripts/package" --preset "$preset" --stage "$work/made"
mkdir "$work/a place of its own"
mv "$work/made" "$work/a place of its own/rollcall"
root="$work/a place of its own/rollcall"

# What the loader takes, without the paths of the build: the archive's own, or the machine's MPI and glibc.
outside=$(for file in "$root/bin/rollcall" "$root"/lib*/rollcall/*.so*; do env -u LD_LIBRARY_PATH ldd "$file"; done |
  grep -v "$root/" | grep -oE '^\s+\S+( => \S+)?' | grep -vE 'linux-vdso|ld-linux' | sort -u)
if grep -E 'not found|hdf5|boost|kokkos|torch|fmt|spdlog|pcre2|seccomp|mpfi' <<<"$outside"; then
  echo "FAILED: these are not of the archive" >&2
  exit 1
fi
for file in "$root/bin/rollcall" "$root"/lib*/rollcall/librollcall_objective.so; do
  if [[ $(patchelf --print-rpath "$file") != "\$ORIGIN"* ]]; then echo "FAILED: the run path of $file names a place" >&2; exit 1; fi
done
grep -q '^| libtorch_cpu.so |' "$root/share/doc/rollcall/LIBRARIES.md"
(cd / && env -u LD_LIBRARY_PATH "$root/share/rollcall/scripts/check_install" "$root/bin/rollcall")

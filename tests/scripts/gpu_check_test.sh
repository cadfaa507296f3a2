#!/usr/bin/env bash
# usage: gpu_check_test.sh REPOSITORY FOLDER NVCC: builds the GPU check in its short form and runs it unpacked: without a GPU it ends with one clear line and exit code 2.
set -euo pipefail
repository=$1 folder=$2
PATH=$PATH:$(dirname "$3")

"$repository/scripts/gpu_check" --short --build "$folder"
rm -rf "$folder/unpacked" && mkdir "$folder/unpacked"
tar -xf "$folder/rollcall-gpu-check.tar.gz" -C "$folder/unpacked"
program=$folder/unpacked/rollcall-gpu-check/gpu_check
if readelf -d "$program" | grep -E 'NEEDED.*lib(mpi|hdf5|torch|cudart|cublas)'; then
  echo "the program needs what is above" >&2
  exit 1
fi
if [[ -e /dev/nvidia0 ]]; then exit 77; fi  # a GPU is here: the check itself is a person's wish
rc=0
said=$(env -i "$program" 2>&1) || rc=$?
expected='gpu_check: no NVIDIA driver was found (libcuda.so.1); run it on a machine with a GPU and driver 580 or newer'
if [[ $rc != 2 || $said != "$expected" ]]; then
  printf 'exit code %s, said:\n%s\n' "$rc" "$said" >&2
  exit 1
fi
rc=0
"$repository/scripts/gpu_check" --wrong 2>/dev/null || rc=$?
[[ $rc == 2 ]]

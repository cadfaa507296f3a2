#!/bin/sh
# Writes a run and reads it with Python. Usage: read_with_python.sh WRITER SCRIPT README; exit code 77 when there is no Python to do it with.
if [ -z "$ROLLCALL_PYTHON_REFERENCES" ]; then
  echo "skipped: ROLLCALL_PYTHON_REFERENCES is not set; it names a Python that has h5py, xarray and h5netcdf (scripts/test makes one)"
  exit 77
fi
set -e
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
"$ROLLCALL_PYTHON_REFERENCES" "$2" "$3" "$run" "$("$1" "$run")"

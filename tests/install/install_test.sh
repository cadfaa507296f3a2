#!/usr/bin/env bash
# Installs a build into an empty prefix and uses it as a stranger would: the program runs, and a ten-line project builds against the libraries.
# usage: install_test.sh BUILD_FOLDER
set -euo pipefail
build=${1:?build folder}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAILED: $*" >&2; exit 1; }; }
present() { [[ -e $prefix/$1 ]] || { echo "FAILED: $1 was not installed" >&2; exit 1; }; }

quiet cmake --install "$build" --prefix "$prefix"
present share/rollcall/jobs/cpu.sbatch.in
present share/rollcall/jobs/runs/quickstart.toml
present share/rollcall/docs/guide/slurm.md
present share/rollcall/scripts/quickstart
present share/rollcall/packaging/python/src/rollcall/__init__.py
present include/rollcall/kernels/kernel_set.hpp
if find "$prefix/include" -name '*.cpp' | grep -q .; then echo "FAILED: sources among the headers" >&2; exit 1; fi

# The run path alone must lead to LibTorch.
(cd / && env -u LD_LIBRARY_PATH "$prefix/bin/rollcall" --version)

quiet "$prefix/share/rollcall/scripts/check_install" "$prefix/bin/rollcall"

quiet cmake -S "$here/consumer" -B "$work/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
quiet cmake --build "$work/consumer"
"$work/consumer/consumer"

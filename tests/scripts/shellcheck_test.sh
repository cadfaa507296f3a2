#!/usr/bin/env bash
# Every shell script of the tree passes shellcheck.  usage: shellcheck_test.sh SHELLCHECK
set -euo pipefail
shellcheck=${1:?path of shellcheck}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mapfile -t scripts < <(grep -rlE -m1 '^#!.*(bash|sh)$|^# shellcheck shell=' --include='*' scripts .ci jobs tests | grep -vE '\.in$|\.pyc?$' | sort)
((${#scripts[@]} >= 5)) || { echo "found only ${#scripts[@]} scripts" >&2; exit 1; }
"$shellcheck" "${scripts[@]}"
echo "${#scripts[@]} scripts pass"

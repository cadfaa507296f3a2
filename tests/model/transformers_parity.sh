#!/usr/bin/env bash
# Writes small models of every family and lets transformers read and evaluate them. Usage: transformers_parity.sh EXPORT_REFERENCE
set -euo pipefail
if [[ -z ${ROLLCALL_PYTHON_TRANSFORMERS:-} ]]; then
  echo "skipped: ROLLCALL_PYTHON_TRANSFORMERS is not set; it names a Python that has torch and transformers"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work"
"$ROLLCALL_PYTHON_TRANSFORMERS" "$(dirname "${BASH_SOURCE[0]}")/transformers_parity.py" "$work"/*

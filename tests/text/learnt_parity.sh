#!/usr/bin/env bash
# Asks transformers, or jinja2 with its settings, what of conversations is learnt.
set -euo pipefail
python=${ROLLCALL_PYTHON_REFERENCES:-}
[[ -n $python ]] || { echo "skipped: ROLLCALL_PYTHON_REFERENCES is not set; it names a Python that has jinja2, trl and axolotl (scripts/test makes one)"; exit 77; }
exec "$python" -W ignore "$(dirname "$0")/learnt_parity.py" "$1"

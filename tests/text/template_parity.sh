#!/usr/bin/env bash
# Asks jinja2 itself, where ROLLCALL_PYTHON_JINJA names a Python that has it: rows, families and random templates.
set -euo pipefail
python=${ROLLCALL_PYTHON_JINJA:-}
[[ -n $python ]] || { echo "ROLLCALL_PYTHON_JINJA names no Python with jinja2"; exit 77; }
here=$(dirname "$0")
"$python" -W ignore "$here/template_parity.py" "$1"
"$python" -W ignore "$here/template_parity.py" "$1" --random "${ROLLCALL_RANDOM_TEMPLATES:-1000}"

#!/usr/bin/env bash
# Asks jinja2 itself: rows, families, some cases of installed packages, and random templates.
set -euo pipefail
python=${ROLLCALL_PYTHON_REFERENCES:-}
[[ -n $python ]] || { echo "skipped: ROLLCALL_PYTHON_REFERENCES is not set; it names a Python that has jinja2 (scripts/test makes one)"; exit 77; }
here=$(dirname "$0")
"$python" -W ignore "$here/template_parity.py" "$1" --share "${ROLLCALL_PACKAGE_CASES:-0.1}"
"$python" -W ignore "$here/template_parity.py" "$1" --random "${ROLLCALL_RANDOM_TEMPLATES:-1000}"

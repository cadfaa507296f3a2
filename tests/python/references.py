"""Runs a test in a Python that has h5py, and makes the package of the source tree importable."""

import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def enter(variable="ROLLCALL_PYTHON_REFERENCES", modules=("h5py", "numpy", "pandas", "xarray")):
    """Starts the test again in the Python that `variable` names, unless this one has the
    modules; ends it as skipped where there is none."""
    lacking = [name for name in modules if importlib.util.find_spec(name) is None]
    named = os.environ.get(variable, "")
    if lacking and (not named or os.environ.get("ROLLCALL_ENTERED") == variable):
        print(
            f"skipped: {', '.join(lacking)} not installed in {named or sys.executable}; {variable}"
            " names a Python that has them"
            + (" (scripts/test makes one)" if variable == "ROLLCALL_PYTHON_REFERENCES" else "")
        )
        sys.exit(SKIPPED)
    if lacking:
        os.environ["ROLLCALL_ENTERED"] = variable
        os.execv(named, [named, *sys.argv])
    sources = str(ROOT / "packaging/python/src")
    sys.path[:0] = [sources, str(ROOT / "tests/app")]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [sources, os.environ.get("PYTHONPATH", "")])
    )
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True

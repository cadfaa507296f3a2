#!/usr/bin/env python3
"""Does scripts/new_method leave the table, the document and the files in agreement? Works on a copy of the sources."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = [sys.executable, ROOT / "scripts/new_method", "my-row", "--title", "My Method", "--paper", "arXiv:2601.00001", "--year", "2026"]


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in ("src/objective", "tests/objective"):
            shutil.copytree(ROOT / part, copy / part)
        steps = [((*MAKE, "--piece", "surrogate=my_clip", "--root", copy), 0, "my_clip.hpp"),
                 ((sys.executable, ROOT / "scripts/check_methods", copy), 0, " 0 problems"),
                 ((*MAKE, "--root", copy), 1, "there is a row my-row already"),
                 ((*MAKE[:2], "other", *MAKE[3:], "--like", "nothing", "--root", copy), 1, "there is no row nothing"),
                 ((*MAKE[:2], "Other", *MAKE[3:], "--root", copy), 1, "is not a name"),
                 ((*MAKE[:2], "other", *MAKE[3:], "--piece", "wait=x", "--root", copy), 1, "write FAMILY=NAME")]
        for command, code, expected in steps:
            got, text = run(*command)
            if got != code or expected not in text:
                failures += 1
                print(f"{command}: exit code {got}, not {code}, or no {expected!r} in:\n{text}")
    print(f"new_method_test: {len(steps)} steps, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Does scripts/check_methods notice? Breaks a copy of the four sources one way at a time and expects each breach to be named."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OBJECTIVE, TESTS = "src/objective", "tests/objective"

# (file, what to replace, by what, what the report must say)
BREACHES = [
    (f"{OBJECTIVE}/recipes.cpp", '{"grpo",', '{"grpo2",', "recipes.cpp has grpo2, METHODS.md has not"),
    (f"{OBJECTIVE}/recipes.cpp", '"0.28"', '"0.3"', "dapo: recipes.cpp says"),
    (f"{OBJECTIVE}/recipes.cpp", '"leave_one_out", "token"', '"leave_two_out", "token"', "there is no advantage leave_two_out"),
    (f"{OBJECTIVE}/METHODS.md", "arXiv:2402.14740 (2024)", "arXiv:2402.14741 (2024)", "rloo: recipes.cpp says"),
    (f"{OBJECTIVE}/METHODS.md", "- Test: mean 2/3", "- mean 2/3", "reinforce_plus_plus: no line '- Test: ...'"),
    (f"{OBJECTIVE}/pieces.cpp", "row<AdvantageFunction, BatchWhiten>(),", "", "piece batch_whiten is not in the advantage table"),
    (f"{OBJECTIVE}/surrogate/clip.hpp", "// Source: ", "// From: ", "the card has no '// Source: '"),
    (f"{TESTS}/hand_worked/foundation.cpp", '{"rloo", {', '{"loo", {', "recipes.cpp has rloo, tests/objective/hand_worked has not"),
    (f"{TESTS}/hand_worked/foundation.cpp", '{"rloo", {', '{"grpo", {', "grpo is worked by hand twice"),
]


def report(root):
    run = subprocess.run([sys.executable, ROOT / "scripts" / "check_methods", root], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in (OBJECTIVE, TESTS):
            shutil.copytree(ROOT / part, copy / part)
        code, text = report(copy)
        if code != 0:
            print("the unbroken tree is refused:", text)
            failures += 1
        for path, old, new, expected in BREACHES:
            whole = (copy / path).read_text()
            assert old in whole, f"{path} no longer holds {old!r}: bring this test up to date"
            (copy / path).write_text(whole.replace(old, new, 1))
            code, text = report(copy)
            if code == 0 or expected not in text:
                print(f"{path}: {old!r} -> {new!r} was not noticed:\n{text}")
                failures += 1
            (copy / path).write_text(whole)
    print(f"check_methods_test: {len(BREACHES)} breaches, {failures} unnoticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

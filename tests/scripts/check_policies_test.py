#!/usr/bin/env python3
"""Does scripts/check_policies notice? Breaks a copy of the sources one way at a time and expects each breach to be named."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEDULING, TESTS = "src/scheduling", "tests/scheduling"

# (file, what to replace, by what, what the report must say)
BREACHES = [
    (f"{SCHEDULING}/policies.cpp", '{"pcl",', '{"pcl2",', "policies.cpp has pcl2, METHODS.md has not"),
    (f"{SCHEDULING}/policies.cpp", '"1.25"', '"1.5"', "greso: policies.cpp says"),
    (f"{SCHEDULING}/policies.cpp", '"uniform", "knapsack"', '"uniform", "rucksack"', "knapsack: there is no allocator rucksack"),
    (f"{SCHEDULING}/METHODS.md", "arXiv:2509.25849 (2025)", "arXiv:2509.25848 (2025)", "knapsack: policies.cpp says"),
    (f"{SCHEDULING}/METHODS.md", "- Test: `Ucb`: three", "- three", "ucb: no line '- Test: ...'"),
    (f"{SCHEDULING}/METHODS.md", "- Traits: capped at refill_rounds", "- Traits: exact, not capped at refill_rounds", "dapo: METHODS.md gives the trait 'exact'"),
    (f"{SCHEDULING}/METHODS.md", "| selection | `max_variance` |", "| selection | `max_spread` |", "selection table of pieces.cpp has max_variance, METHODS.md has not"),
    (f"{SCHEDULING}/pieces.cpp", '  {"pairs",', '  {"couples",', "wgrpo: there is no sampler pairs"),
    (f"{SCHEDULING}/pieces.cpp", '  {"pairs",', '  {"couples",', "sampler couples: no row uses it"),
    (f"{SCHEDULING}/rounds/make_up.hpp", "// The rounds `make_up`", "// The rounds", "rounds make_up: no header of src/scheduling/rounds names it"),
    (f"{TESTS}/works_when/budgets_test.cpp", "TEST(DarsHw,", "TEST(Dars,", "dars_hw: there is no test suite DarsHw"),
]


def report(root):
    run = subprocess.run([sys.executable, ROOT / "scripts" / "check_policies", root], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in (SCHEDULING, TESTS):
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
    print(f"check_policies_test: {len(BREACHES)} breaches, {failures} unnoticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""scripts/train_recipes on a few rows of a tiny run: it trains, goes on where it was, and says what does not learn."""
import json
import subprocess
import sys
import xml.etree.ElementTree

from harness import LIMIT_S, check, main

CONTROL = "grpo: permuted rewards"
ROWS = (CONTROL, "grpo", "vopd", "remax", "chord")


def study(harness, *more):
    """(exit code, stdout)"""
    words = [sys.executable, harness.source / "scripts/train_recipes", *ROWS, "--seeds", 1, "--jobs", 2, "--binary", harness.binary, "--run-file", harness.tiny,
             "--runs", harness.work / "study", "--out", harness.work, *more]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S)
    check(not done.stderr, done.stderr)
    return done.returncode, done.stdout


def line_of(harness, row):
    lines = [line for line in (harness.work / "training.md").read_text().splitlines() if line.startswith(f"| {row} |")]
    check(len(lines) == 1, f"{len(lines)} lines of {row}, not 1")
    return lines[0]


def trains_and_goes_on(harness):
    _, out = study(harness)
    check("5 of 5 runs to do" in out, out)
    _, again = study(harness)
    check("0 of 5 runs to do" in again, again)
    check(" -> " in line_of(harness, "`grpo`") and " -> " in line_of(harness, "`vopd`"), "a row has no numbers")
    check(" -> " in line_of(harness, "`remax`") and "a worked solution" in line_of(harness, "`chord`"), "a row with data of its own has no numbers")
    check("not run yet" in line_of(harness, "`dapo`"), line_of(harness, "`dapo`"))
    xml.etree.ElementTree.parse(harness.work / "training.svg")


def says_what_does_not_learn(harness):
    def gains(row, low, high):
        path = harness.work / "study" / f"{row.replace(': ', '-').replace(' ', '_')}-1.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"low": low, "high": high}))

    for low, high, grpo_fine in ((0.1, 0.2, True), (-0.1, 0.2, False), (-0.2, -0.1, False)):
        gains("grpo", low, high)
        gains(CONTROL, low, high)
        code, out = study(harness, "--table-only")
        check(("grpo: does not rise" in out) != grpo_fine, f"grpo at [{low}, {high}]:\n{out}")
        check((f"{CONTROL}: " in out) == grpo_fine and code == 1, f"the control at [{low}, {high}]:\n{out}")


main(trains_and_goes_on, says_what_does_not_learn)

"""scripts/train_turns on one row of a few steps: it trains the row beside its control, goes on where it was, writes the table, and says what has no effect."""
import json
import subprocess
import sys

from harness import LIMIT_S, check, main

SHORT = ["sft.steps=4", "train.steps=2", "train.prompts_per_step=2", "train.rollouts_per_prompt=2", "train.lr=1e-4", "task.heldout_prompts=4", "eval.samples=2", "eval.pass_k=2"]


def study(harness, *more):
    """(exit code, stdout)"""
    words = [sys.executable, harness.source / "scripts/train_turns", "gigpo", "--seeds", 2, "--jobs", 2, "--binary", harness.binary, "--runs", harness.work / "turns",
             "--out", harness.work, *(f"--set={setting}" for setting in SHORT), *more]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S)
    check(not done.stderr, done.stderr)
    return done.returncode, done.stdout


def trains_goes_on_and_judges(harness):
    code, out = study(harness)
    check("4 of 4 runs to do" in out and code == 1 and "gigpo: no effect" in out, f"exit code {code}\n{out}")  # two steps are too few
    _, again = study(harness)
    check("0 of 4 runs to do" in again, again)
    table = (harness.work / "turns.md").read_text()
    check("| `turn_center` | `gigpo` | " in table and table.count(" -> ") == 5, table)  # four runs, and the words that explain

    def gains(name, *values):
        for seed, gain in enumerate(values, 1):
            path = harness.work / f"turns/gigpo/{name}_{seed}.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | {"gain": gain}))

    gains("trained", 0.40, 0.42)
    gains("control", -0.01, 0.02)
    code, out = study(harness, "--table-only")
    check(code == 0 and "train_turns: 1 rows, 0 to look at" in out, out)
    check("+0.405 [+0.341, +0.469]" in (harness.work / "turns.md").read_text(), (harness.work / "turns.md").read_text())
    gains("control", 0.200, 0.201)
    code, out = study(harness, "--table-only")
    check(code == 1 and "gigpo: its control rises" in out and "no effect" not in out, out)


main(trains_goes_on_and_judges)

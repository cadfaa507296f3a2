"""scripts/train_recipes on a few rows of a tiny run: it trains, goes on where it was, and says what does not learn. The study of GDRO likewise."""
import json
import subprocess
import sys
import xml.etree.ElementTree

from harness import LIMIT_S, check, main, sets

CONTROL = "grpo: permuted rewards"
ROWS = (CONTROL, "grpo", "vopd", "remax", "chord", "spell")


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
    check("6 of 6 runs to do" in out, out)
    _, again = study(harness)
    check("0 of 6 runs to do" in again, again)
    check(" -> " in line_of(harness, "`grpo`") and " -> " in line_of(harness, "`vopd`"), "a row has no numbers")
    check(" -> " in line_of(harness, "`remax`") and "a worked solution" in line_of(harness, "`chord`"), "a row with data of its own has no numbers")
    check(" -> " in line_of(harness, "`spell`") and "by a judge" in line_of(harness, "`spell`"), "a row that needs a judge has no numbers")
    check("not run yet" in line_of(harness, "`dapo`"), line_of(harness, "`dapo`"))
    xml.etree.ElementTree.parse(harness.work / "training.svg")


def says_what_does_not_learn(harness):
    def gains(row, low, high):
        path = harness.work / "study" / f"{row.replace(': ', '-').replace(' ', '_')}-1.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"low": low, "high": high}))

    for other in ("vopd", "remax", "chord", "spell"):  # of which the program would be asked again each time
        (harness.work / "study" / f"{other}-1.json").unlink()
    for low, high, grpo_fine in ((0.1, 0.2, True), (-0.1, 0.2, False), (-0.2, -0.1, False)):
        gains("grpo", low, high)
        gains(CONTROL, low, high)
        code, out = study(harness, "--table-only")
        check(("grpo: does not rise" in out) != grpo_fine, f"grpo at [{low}, {high}]:\n{out}")
        told = any(line.startswith(f"{CONTROL}: ") for line in out.splitlines())
        check(told == grpo_fine and code == 1, f"the control at [{low}, {high}]:\n{out}")


def the_study_of_gdro(harness):
    """All policies once; a run whose folder is left half done goes on, and what is finished is not repeated."""
    runs = harness.work / "gdro"

    def driver(*more):
        words = [sys.executable, harness.source / "jobs/studies/gdro/run", "--seeds", 1, "--arms", "flat,resample,both,dapo", "--rates", "1e-4", "--jobs", 2, "--binary", harness.binary, "--run-file", harness.tiny, "--runs", runs,
                 "--out", harness.work, *more]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S)
        check(done.returncode == 0 and not done.stderr, done.stderr + done.stdout)
        return done.stdout

    check("5 of 5 runs to do" in driver(), "the study did not begin with all its runs")
    whole = json.loads((runs / "both-1.json").read_text())
    (runs / "both-1.json").unlink()
    (runs / "both-1.key").write_text(whole["key"])  # as a kill leaves it: a folder with half of the steps, and no record
    half = sets(scheduler__policy="gdro_both", sft__steps=0, train__steps=4, train__lr="1e-4", eval__after="false", run__seed=1)
    words = [harness.binary, "train", harness.tiny, "--init-from", "warm_start_1", "--set", "run.dir=both-1", *half]
    subprocess.run(words, cwd=runs, capture_output=True, check=True, timeout=LIMIT_S)
    check("1 of 5 runs to do" in driver(), "finished runs were repeated")
    again = json.loads((runs / "both-1.json").read_text())
    check(again["steps"] == 6 and again["drawn"] == whole["drawn"], f"{again} is not {whole}")
    table = (harness.work / "results.md").read_text()
    check("both games" in table and "DAPO filter, equal time" in table and "eta = 0" in table and "| gdro/" not in table, table)
    xml.etree.ElementTree.parse(harness.work / "results.svg")


main(trains_and_goes_on, says_what_does_not_learn, the_study_of_gdro)

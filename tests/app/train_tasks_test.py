"""A task judged by running code: the same bits on any ranks and after a kill. And scripts/train_tasks: it trains a family beside its control, goes on where it was, says what does not learn."""
import json
import subprocess
import sys

from harness import LIMIT_S, check, main, metrics, result, sets

# One operation, 21 prompts to train on: enough answers are right after a second of examples.
EASY = ["task.min_level=1", "task.max_level=1", "task.heldout_prompts=3", "sft.steps=140", "sft.batch_size=24", "train.steps=3"]


def study(harness, *more):
    """(exit code, stdout)"""
    words = [sys.executable, harness.source / "scripts/train_tasks", "code-functions", "--seeds", 1, "--binary", harness.binary,
             "--runs", harness.work / "tasks", *(f"--set={setting}" for setting in [*EASY, "sft.steps=20"]), *more]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S)
    check(not done.stderr, done.stderr)
    return done.returncode, done.stdout


def same_bits_on_any_ranks_and_after_a_kill(harness):
    run_file = harness.source / "jobs/runs/code-functions.toml"
    words = [*(word for setting in EASY for word in ("--set", setting)), *sets(eval__before="false", eval__after="false", run__threads=1, checkpoint__every=1, archive__pack_every=1)]
    ends = []
    for name, ranks in (("one", 1), ("three", 3), ("killed", 3)):
        folder = harness.work / f"code_{name}"
        if name == "killed":
            harness.kill_after(folder, *words, steps=1, run_file=run_file)
            check(not (folder / "result.json").exists(), "the kill came after the end of the run, and tested nothing")
        harness.train(folder, *(["--resume"] if name == "killed" else []), *words, ranks=ranks, run_file=run_file)
        ends.append((result(folder)["policy_sha256"], result(folder)["archive_sha256"]))
    check(ends[0] == ends[1], "the ranks change bits")
    check(ends[0] == ends[2], "a kill changes bits")
    rates = [row["train/pass_rate"] for row in metrics(folder)]
    check(0 < max(rates) < 1, f"these answers say nothing: {rates}")
    lines = [json.loads(line) for line in harness.succeed("archive", "export", folder, "--purpose", "train").splitlines()]
    shares = {line["completion"]: line["correct"] for line in lines}
    check(any(shares.values()) and all(text.startswith("def f(x):return x") for text, correct in shares.items() if correct), shares)


def trains_goes_on_and_judges(harness):
    code, out = study(harness, "--jobs", 2)
    check("2 of 2 runs to do" in out, out)
    check(code == 1 and "code-functions: seed 1 gains" in out and "less than 0.1" in out, out)  # three steps are too few
    _, again = study(harness)
    check("0 of 2 runs to do" in again and again.splitlines()[-5:] == out.splitlines()[-5:], again)
    for label, gain in ("trained_1", 0.4), ("control_1", 0.3):
        path = harness.work / f"tasks/code-functions/{label}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"gain": gain, "low": gain - 0.1, "high": gain + 0.1}))
    code, out = study(harness)
    check(code == 1 and "the control of seed 1 rises" in out and "gains" not in out, out)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"low": -0.1}))
    code, out = study(harness)
    check(code == 0 and out.endswith("train_tasks: 1 families, 0 to look at\n"), out)


main(same_bits_on_any_ranks_and_after_a_kill, trains_goes_on_and_judges, at_a_time=2)

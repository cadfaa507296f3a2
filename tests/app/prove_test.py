"""rollcall prove: identical on a run as it is, different where one rank count computes other bits, and plain about what it cannot run."""
import os
import re
import signal
import time

from harness import check, main, sets

def launcher(harness):
    return ["--launcher", " ".join(harness.launcher)]


def a_run_is_proved(harness):
    out = harness.succeed("prove", harness.tiny, *launcher(harness), "--ranks", "1,3", "--seconds", "30", "--seed", "7", *sets(run__dir=harness.work / "good"))
    last = out.splitlines()[-1]
    told = re.match(r"identical: (\d+) runs, (\d+) kills, one policy ", last)
    check(told and int(told[1]) >= 4 and int(told[2]) >= 2, f"not identical, or too few runs and kills:\n{out}")
    moved = re.search(r"moved in (\d+) training steps: the weights in (\d+), rewards within a step in (\d+), budgets within a step in (\d+)", out)
    check(moved and all(int(n) > 0 for n in moved.groups()), f"not said what moved, or nothing did:\n{out}")
    check("killed on 1 single, 3 colocated" in out and "killed on 3 colocated, 1 single" in out, f"nothing was resumed on other ranks:\n{out}")
    check(not (harness.work / "good.prove").exists(), "its folder is left behind")


def conversations_are_proved(harness):
    """Conversations with an environment, the walks of frozen_lake: the same bits after kills and on other ranks."""
    walk = sets(task__name="frozen_lake", task__min_level=2, task__max_level=3, task__format_weight=0, model__max_position_embeddings=256, sampling__max_new_tokens=48, sampling__turn_tokens=8,
                environment__max_turns=6, run__dir=harness.work / "walk")
    out = harness.succeed("prove", harness.tiny, *launcher(harness), "--ranks", "1,3", "--seconds", "20", "--seed", "7", *walk)
    check(re.match(r"identical: (\d+) runs, (\d+) kills, one policy ", out.splitlines()[-1]), f"not identical:\n{out}")
    moved = re.search(r"the weights in (\d+), rewards within a step in (\d+)", out)
    check(moved and all(int(n) > 0 for n in moved.groups()), f"nothing moved:\n{out}")


def other_bits_are_found(harness):
    """The ranks of the second count round down: other weights, and the first difference is named."""
    library = os.environ.get("ROLLCALL_ROUNDS_DOWN", "")
    if not library:
        print("note  no library that rounds down in this build, so nothing is made different")
        return
    wrong = harness.work / "wrong"
    wrong.write_text(f"#!/bin/sh\nLD_PRELOAD={library} exec {' '.join(harness.launcher)} \"$@\"\n")
    wrong.chmod(0o755)
    code, out, err, _ = harness.run("prove", harness.tiny, "--launcher", str(wrong), "--ranks", "1,2", "--seconds", "1", *sets(run__dir=harness.work / "bad"))
    check(code == 3, f"exit code {code}\n{out}\n{err}")
    check('different: "undisturbed on 2 colocated" is not "undisturbed on 1 single"' in out and re.search("first difference: (rollouts|metrics|policy): .+", out), out)
    check((harness.work / "bad.prove/run-02/metrics.jsonl").exists(), "the runs that differ are not kept")
    again = harness.succeed("prove", harness.tiny, "--ranks", "1", "--seconds", "1", *sets(run__dir=harness.work / "bad"))
    check("identical" in again, f"an earlier proof's folder is in the way:\n{again}")


def a_run_that_moves_nothing_proves_nothing(harness):
    """Without a warm start no answer is right, so no weight moves: every learning rate ends in the same hash."""
    still = sets(run__dir=harness.work / "still", sft__steps=0, task__min_level=2, task__format_weight=0)
    code, text, err, _ = harness.run("prove", harness.tiny, "--ranks", "1", "--seconds", "1", *still)
    check(code == 3 and "the weights in 0" in text and "nothing is proved" in text, f"exit code {code}\n{text}\n{err}")


def what_cannot_be_run_is_told(harness):
    (harness.work / "mine.prove").mkdir()
    for words, says, exit_code in ((["--ranks", "0"], "--ranks", 2), (["--ranks", "two"], "--ranks", 2), (["--set", "train.stepz=1"], "train.steps", 2),
                                   ([*sets(run__dir=harness.work / "mine")], "already exists", 2),
                                   (["--launcher", "no-such-launcher -n", *sets(run__dir=harness.work / "x")], "exit code 127", 2),
                                   ([*sets(run__dir=harness.work / "y", objective__recipe="nope")], "exit code 2", 2)):
        code, out, err, _ = harness.run("prove", harness.tiny, *words)
        check(code == exit_code and says in err and err.startswith("rollcall: "), f"{words}: exit code {code}, and not \"{says}\"\n{out}\n{err}")
    code, _, err, _ = harness.run("prove", harness.work / "missing.toml")
    check(code == 2 and "missing.toml" in err, err)
    code, _, err, _ = harness.run("prove", harness.tiny, env={"OMPI_COMM_WORLD_SIZE": "2"})
    check(code == 2 and "starts the ranks" in err, err)


def an_interrupt_leaves_no_runs(harness):
    folder = harness.work / "interrupted"
    job = harness.start("prove", harness.tiny, *launcher(harness), "--ranks", "2,3", *sets(run__dir=folder))
    while not list(folder.parent.glob("interrupted.prove/run-*")):
        check(job.poll() is None, "it ended too early")
        time.sleep(0.02)
    job.send_signal(signal.SIGTERM)
    _, err = job.communicate()
    check(job.returncode == 75 and "stopped by SIGTERM: nothing is proved" in err, f"exit code {job.returncode}: {err}")
    began = time.monotonic()
    while time.monotonic() - began < 30 and any(str(folder) in line for line in commands()):
        time.sleep(0.1)
    check(not any(str(folder) in line for line in commands()), "runs go on without it")


def commands():
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                yield open(f"/proc/{process}/cmdline", "rb").read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                pass


main(a_run_is_proved, conversations_are_proved, a_run_that_moves_nothing_proves_nothing, other_bits_are_found, what_cannot_be_run_is_told, an_interrupt_leaves_no_runs)

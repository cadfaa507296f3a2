"""Steps whose gradient norm spikes: skipped, rolled back or the end of the run, as train.on_nonfinite says, in the warm start and in training, on any ranks."""
import json
import os
import re
import sys
import time

from harness import check, main, metrics, result, sets

FAILED, STOPPED = 3, 75
# A step that is applied sets the running mean, and every later one of its phase is a spike: one step of the warm start and one of training count.
SPIKES = sets(train__loss_spike_factor=1e-9, run__deadline_s=20)
MANY = sets(train__max_bad_steps=100)
# The advantage is reward - 0.5, so that answers which are all wrong have a gradient too.
SHORT = sets(sft__steps=3, train__steps=4, objective__pieces__advantage="fixed_baseline", eval__before="false", eval__after="false")


def train(harness, folder, ranks, *arguments):
    """(exit code, all that was said)"""
    code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder), *SHORT, *SPIKES, *arguments, ranks=ranks)
    return code, out + err


def ends_like(harness, what, says, steps, reference):
    """Bad steps are told (`says`, of these), and leave the weights of the run `reference`, which has none."""
    expected = harness.work / f"reference_of_{what}"
    harness.train(expected, *SHORT, *reference)
    for ranks in (1, 3):
        folder = harness.work / f"{what}_{ranks}"
        code, said = train(harness, folder, ranks, *sets(train__on_nonfinite=what), *MANY)
        check(code == 0, f"{what} on {ranks} ranks: exit code {code}\n{said}")
        told = re.findall(f"the gradient norm spiked in ((?:supervised )?step .): {says}", said)
        check(set(steps) <= set(told), f"{what} on {ranks} ranks: \"{says}\" is told of {told}, not of {steps}\n{said}")
        check(result(folder)["policy_sha256"] == result(expected)["policy_sha256"], f"{what} on {ranks} ranks: not the weights of a run without bad steps")


def skipped(harness):
    ends_like(harness, "skip", "step skipped", ["supervised step 2", "supervised step 3", "step 2", "step 3", "step 4"], sets(sft__steps=1, train__steps=1))


def rolled_back(harness):
    """To the newest checkpoint, here always one with the weights of the warm start: the one step of training that was applied is taken back."""
    ends_like(harness, "rollback", "rolling back", ["step 2", "step 3", "step 4"], sets(sft__steps=1, train__steps=0))


def rolled_back_with_what_is_known(harness):
    """Weights are taken back and rollouts are not: scheduler and objective still know the same of every prompt."""
    folder = harness.work / "rollback_known"
    settings = sets(run__dir=folder, sft__steps=1, train__steps=4, train__on_nonfinite="rollback", train__max_bad_steps=100, objective__recipe="spo-single-stream", scheduler__policy="spo")
    code, out, err, _ = harness.run("train", harness.tiny, *settings, *SPIKES, *sets(eval__before="false", eval__after="false"))
    check(code == 0 and "step 4: rolling back" in out + err, f"exit code {code}, or nothing was rolled back\n{out}\n{err}")
    state = {name: json.loads((folder / f"checkpoints/train_000004/{name}.json").read_text()) for name in ("objective", "scheduler")}
    drawn = {json.loads(line)["prompt_id"] for line in harness.succeed("archive", "export", folder, "--purpose", "train").splitlines()}
    tracked = state["objective"]["success"]
    check({row[0] for row in tracked} == drawn, f"{len(drawn)} prompts were drawn, the objective knows {len(tracked)}")
    check(tracked == state["scheduler"]["sampler"]["counts"], "scheduler and objective do not know the same")


def stopped_behind_its_first_step(harness, settings):
    """The folder of a run whose only checkpoint of training is that of a stop behind step 1. A test that is held up sees the step too late and tries again."""
    for attempt in range(10):
        folder = harness.work / f"stopped_{attempt}"
        job = harness.start("train", harness.tiny, *sets(run__dir=folder), *settings)
        while job.poll() is None and not list(folder.glob("shards/train-000001*")):
            time.sleep(0.001)
        if job.poll() is None:
            (folder / "stop").touch()
        out, err = job.communicate()
        if [path.name for path in folder.glob("checkpoints/train_*")] == ["train_000001"]:
            check(job.returncode == STOPPED, f"exit code {job.returncode}, not {STOPPED}\n{out}\n{err}")
            return folder
    raise AssertionError("no run could be stopped behind its first step")


def rolled_back_behind_a_stop(harness):
    """To the checkpoint that was due, not to the one that a stop has made: the run ends as if nobody had stopped it."""
    expected = harness.work / "reference_of_stop"
    harness.train(expected, *SHORT, *sets(sft__steps=1, train__steps=0))
    settings = [*SHORT, *SPIKES, *MANY, *sets(train__on_nonfinite="rollback", train__rollouts_per_prompt=32)]
    folder = stopped_behind_its_first_step(harness, settings)
    code, out, err, _ = harness.run("train", harness.tiny, "--resume", *sets(run__dir=folder), *settings)
    check(code == 0 and "step 2: rolling back" in out + err, f"exit code {code}, or nothing was rolled back\n{out}\n{err}")
    check(result(folder)["policy_sha256"] == result(expected)["policy_sha256"], "it went back to the checkpoint of the stop")


def ended_on_a_terminal(harness):
    """What is said does not go on behind the progress bar."""
    try:
        terminal, end = os.openpty()
    except OSError as error:
        print(f"note  no pseudo-terminal here ({error}), so no bar is drawn")
        return
    job = harness.start("train", harness.tiny, *SHORT, *SPIKES, *sets(run__dir=harness.work / "terminal", train__on_nonfinite="stop"), stdout=end, stderr=end)
    os.close(end)
    text = b""
    try:
        while part := os.read(terminal, 4096):
            text += part
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    check(job.wait() == FAILED and b"sft [" in text, f"exit code {job.returncode}, or no bar:\n{text}")
    check(re.search(rb"(^|[\r\n])rollcall: ", text) and text.count(b"rollcall: ") == 1, f"the message has no line of its own:\n{text}")


def ended(harness):
    for ranks, settings, where in ((1, {}, "supervised step 2"), (3, {"sft__steps": 1}, "step 2"),
                                   (1, {"train__on_nonfinite": "skip", "train__max_bad_steps": 2}, "supervised step 3")):
        folder = harness.work / f"ended_{ranks}_{len(settings)}"
        code, said = train(harness, folder, ranks, *sets(**{"train__on_nonfinite": "stop"} | settings))
        messages = [line for line in said.splitlines() if line.startswith("rollcall: ")]
        check(code == FAILED and len(messages) == 1, f"exit code {code}, {len(messages)} messages on {ranks} ranks\n{said}")
        check(f"the gradient norm spiked in {where} " in messages[0], f"on {ranks} ranks: {messages[0]}")


GRADER = f"#!{sys.executable} -IS\n" + '''import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    purpose, step, prompt, draw, sample = asked["id"].split("/")
    differs = step in ("1", "14") if sys.argv[1] == "sparse" else step == "1" or prompt == "1"
    score = float(differs and int(sample) % 2 == 0)
    print(json.dumps({"id": asked["id"], "score": score, "correct": score > 0}), flush=True)
'''


def graded(harness, mode):
    path = harness.work / "grade.py"
    path.write_text(GRADER)
    path.chmod(0o755)
    return sets(reward__command=json.dumps([str(path), mode]), task__format_weight=0, sft__steps=1, eval__before="false", eval__after="false")


def steps_without_a_gradient_say_nothing(harness):
    """Two steps of 14 have one, and twelve others would have made a third of the running mean: none is a spike."""
    folder = harness.work / "sparse"
    code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder, train__steps=14, train__loss_spike_factor=3), *graded(harness, "sparse"))
    norms = [row["actor/grad_norm"] for row in metrics(folder)]
    check(code == 0 and "spiked" not in out + err, f"exit code {code}, norms {norms}\n{out}\n{err}")
    check(norms[0] > 0 and norms[13] > 0 and not any(norms[1:13]), f"other steps than the first and the last have a gradient: {norms}")


def a_later_update_is_refused(harness):
    """In step 2 the first of two updates is applied, and the second is a spike: both are told, on any number of ranks."""
    ends = []
    for ranks in (1, 3):
        folder = harness.work / f"later_{ranks}"
        settings = sets(run__dir=folder, task__train_prompts=2, train__prompts_per_step=2, train__mini_batches=2, train__steps=2)
        code, out, err, _ = harness.run("train", harness.tiny, *settings, *SPIKES, *graded(harness, "later"), ranks=ranks)
        told = "the gradient norm spiked at update 2 of 2 in step 2: the rest of the step is skipped, and what was applied before it stays (1)"
        check(code == 0 and told in out + err, f"exit code {code}, or it is told otherwise\n{out}\n{err}")
        check([row["train/updates"] for row in metrics(folder)] == [2, 1], f"{metrics(folder)}")
        ends.append(result(folder)["policy_sha256"])
    check(ends[0] == ends[1], "other bits on three ranks")


main(skipped, rolled_back, rolled_back_with_what_is_known, rolled_back_behind_a_stop, ended_on_a_terminal, ended, steps_without_a_gradient_say_nothing,
     a_later_update_is_refused)

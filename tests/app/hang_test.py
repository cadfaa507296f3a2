"""No wait lasts for ever: a rank that is stopped is named with its stages, the step and who waits for what; the job ends with exit code 3 and one message.
A rank that has nothing to do ends none."""
import json
import os
import pathlib
import re
import signal
import time

from harness import check, family, main, metrics, ranks_of, result, sets

FAILED, STOPPED = 3, 75
DEADLINE_S = 4


def message_of_end(job, folder, began):
    """The one message of a job that ends itself with exit code 3 some time after its deadline; no rank is left."""
    try:
        out, err = job.communicate(timeout=60)
    finally:
        if job.poll() is None:
            for pid in ranks_of(folder).values():
                os.kill(pid, signal.SIGKILL)
            job.kill()
    check(job.returncode == FAILED, f"exit code {job.returncode}, not {FAILED}\n{out}\n{err}")
    took = (folder / "failure").stat().st_mtime - began
    check(took < DEADLINE_S + 20, f"the message took {took:.0f} s")
    messages = [line for line in err.splitlines() if line.startswith("rollcall: ")]
    check(len(messages) == 1, f"{len(messages)} messages, not 1\n{err}")
    check(messages[0].removeprefix("rollcall: ") == (folder / "failure").read_text().strip(), "RUN/failure says something else")
    while ranks_of(folder) and time.time() - began < DEADLINE_S + 40:  # the launcher ends them in its own time
        time.sleep(0.1)
    check(not ranks_of(folder), f"ranks are left behind: {ranks_of(folder)}")
    return messages[0]


def hang(harness, layout, ranks, victim):
    folder = harness.work / f"{layout}_{victim}"
    job = harness.start("train", harness.tiny, *sets(run__dir=folder, run__layout=layout, run__deadline_s=DEADLINE_S, train__steps=2000), ranks=ranks)
    while not list(folder.glob("checkpoints/train_*")):
        check(job.poll() is None, f"the run ended before it could be stopped: {job.poll()}")
        time.sleep(0.05)
    pids = ranks_of(folder)
    check(len(pids) == ranks, f"{len(pids)} ranks found, not {ranks}")
    began = time.time()
    os.kill(pids[victim], signal.SIGSTOP)
    return message_of_end(job, folder, began)


def generating_rank(harness):
    said = hang(harness, "colocated", 3, 1)
    check(re.search(r"rank [02] .*(waited|has been in packing .* for) \d", said) and re.search(r"rank 1 \(generation, scoring, update\) does not answer", said), f"who, with which stages?\n{said}")
    check(re.search(r"step \d+|packing train_\d+", said), f"no step is named\n{said}")


def coordinator(harness):
    said = hang(harness, "colocated", 3, 0)
    check(re.search(r"rank 0 \(coordinator, generation, scoring, update\) does not answer", said), f"who, with which stages?\n{said}")


def stuck_writer(harness, rank, steps):
    """The rank goes on, but the file system keeps the writer of its share: to open a pipe that nobody reads takes for ever."""
    folder = harness.work / f"writer_{rank}"
    wide = sets(model__hidden_size=192, model__intermediate_size=384, model__num_hidden_layers=3, model__head_dim=48, model__num_attention_heads=4, sft__steps=4)
    job = harness.start("train", harness.tiny, *wide, *sets(run__dir=folder, run__deadline_s=DEADLINE_S, train__steps=steps, checkpoint__every=15, eval__before="false",
                                                                  eval__after="false"), ranks=3)
    while not (folder / "metrics.jsonl").exists() or len(metrics(folder)) < 5:
        check(job.poll() is None, f"the run ended before its fifth step: {job.poll()}")
        time.sleep(0.05)
    check(len(metrics(folder)) < 12, "the first checkpoint came before the pipe")
    share = folder / "checkpoints/.partial-train_000015"
    share.mkdir()
    os.mkfifo(share / f"optimizer-0000{rank + 1}-of-00003.safetensors")
    while len(metrics(folder)) < 15:  # the next optimizer step waits for the writer, as does the end of the run
        check(job.poll() is None, f"the run ended before its first checkpoint: {job.poll()}")
        time.sleep(0.1)
    said = message_of_end(job, folder, time.time())
    return said, time.time() - (folder / "failure").stat().st_mtime


def suspended(harness):
    """scontrol suspend: all ranks stand still for longer than the deadline, and go on to the end of an undisturbed run. So do their graders."""
    grader = harness.work / "slow_grader.py"
    grader.write_text("import json, sys, time\nfor line in sys.stdin:\n    asked = json.loads(line)\n    time.sleep(0.02)\n"
                      "    print(json.dumps({'id': asked['id'], 'score': len(asked['response']) % 3 / 2, 'correct': False}), flush=True)\n")
    reward = sets(reward__command=json.dumps(["python3", str(grader)]), reward__timeout_s=2, reward__processes=2, task__format_weight=0, eval__before="false", eval__after="false", sft__steps=4, train__steps=30)
    folders = harness.work / "calm", harness.work / "suspended"
    harness.train(folders[0], *reward, ranks=3)
    job = harness.start("train", harness.tiny, *sets(run__dir=folders[1], run__deadline_s=DEADLINE_S, run__watch_s=4, run__log_level="info"), *reward, ranks=3)
    while not (folders[1] / "metrics.jsonl").exists() or not metrics(folders[1]):
        check(job.poll() is None, f"the run ended before it could be suspended: {job.poll()}")
        time.sleep(0.02)
    everybody = family(job.pid)
    check(len(everybody) >= 1 + 3 * 3, f"the launcher, three ranks, what starts graders and graders are not {len(everybody)}")
    for signalled in (signal.SIGSTOP, signal.SIGCONT):
        for pid in everybody:
            os.kill(pid, signalled)
        if signalled == signal.SIGSTOP:
            check(not (folders[1] / "result.json").exists(), "the run was over: nothing was suspended")
            time.sleep(DEADLINE_S + 4)
    _, err = job.communicate(timeout=60)
    check(job.returncode == 0, f"exit code {job.returncode}, not 0\n{err}")
    check("the job was suspended" in err, f"not a word\n{err}")
    same = [result(folder)[key] for key in ("policy_sha256", "archive_sha256") for folder in folders]
    check(same[0] == same[1] and same[2] == same[3], f"another end than without: {same}")


def checkpoint_writer(harness):
    said, _ = stuck_writer(harness, 1, 2000)
    check(re.search(r"rank 1 (waited [\d.]+ s|waits) for the writing of a checkpoint", said), f"who hangs?\n{said}")


def coordinators_checkpoint_writer(harness):
    """At the end of the run, where the others wait for rank 0 and longer than it does. In a step all ranks give up at once, and the job is ended by the first
    of them, which may have no writer to give a moment."""
    said, ago = stuck_writer(harness, 0, 15)
    check(re.search(r"rank 0 waited [\d.]+ s for checkpoint train_000015 \(it is in the writing of a checkpoint", said), f"who hangs?\n{said}")
    check(ago > 3, f"it was said {ago:.1f} s before the end, not before the writer was given a moment")


def ranks_without_work(harness):
    """A warm start asks nothing of those that generate and score: they wait for longer than the deadline, and the run goes on."""
    folder, deadline_s = harness.work / "without_work", 2
    job = harness.start("train", harness.tiny, *sets(run__dir=folder, run__layout="disaggregated", run__deadline_s=deadline_s, sft__steps=1000000), ranks=4)
    while not (folder / "metrics.jsonl").exists() or not metrics(folder, "sft"):
        check(job.poll() is None, f"the run ended before its first step: {job.poll()}")
        time.sleep(0.05)
    time.sleep(deadline_s + 3 + 2)  # ranks wait three seconds longer for rank 0
    (folder / "stop").touch()
    _, err = job.communicate(timeout=60)
    check(job.returncode == STOPPED, f"exit code {job.returncode}, not {STOPPED}\n{err}")


main(suspended, generating_rank, coordinator, checkpoint_writer, coordinators_checkpoint_writer, ranks_without_work, at_a_time=6)  # each waits for a deadline

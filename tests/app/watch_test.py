"""A run that hangs says why while it hangs: the log and `rollcall status` name the rank, its stages, step, activity and stack; released, it ends as always."""
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from harness import LOG_LINE, check, main, metrics, policy_line, ranks_of, sets

WATCH_S = 2
STEPS = 5
SHORT = sets(train__steps=STEPS, sft__steps=10, eval__before="false", eval__after="false")
UPDATE_TAG = 5  # of src/run/messages/messages.hpp: the third message of it is that of step 3
SCORED = "train-000003-00-0000-scored.h5.partial"  # of step 3: what rank 0 writes for all, beside the update
STACK = r"\n +main: {state}\n(?: +at .*\n)* +at (?:\(anonymous namespace\)::)?{held}\(\)\n(?: +at .*\n)* +at rollcall::run::{stage}"

reference_lock = threading.Lock()


def undisturbed(harness):
    """The policy, however many ranks there are."""
    with reference_lock:
        file = harness.work / "reference.txt"
        if not file.exists():
            file.write_text(policy_line(harness.train(harness.work / "reference", *SHORT)))
    return file.read_text()


class Held:
    """A run of which one rank is held in step 3."""

    def __init__(self, harness, name, kind, ranks, victim, file=None, settings=()):
        """In the update, unless a file is given: where it is opened."""
        self.harness, self.kind, self.victim, self.ranks = harness, kind, victim, ranks
        self.folder, self.pipe = harness.work / name, harness.work / f"{name}.pipe"
        os.mkfifo(self.pipe)
        env = {"LD_PRELOAD": os.environ["ROLLCALL_HANGS"], "ROLLCALL_HANG": f"{kind} {victim} {file or f'after:{UPDATE_TAG}:3'}", "ROLLCALL_HANG_PIPE": str(self.pipe)}
        self.log = open(harness.work / f"{name}.log", "w+", encoding="utf-8")
        self.job = harness.start("train", harness.tiny, *SHORT, *sets(run__dir=self.folder, run__watch_s=WATCH_S), *settings, ranks=ranks, env=env,
                                 stderr=self.log)

    def __enter__(self):
        began = pathlib.Path(f"{self.pipe}.began")
        while not began.exists():
            check(self.job.poll() is None, f"the run ended before it was held: {self.job.poll()}\n{self.said()}")
            time.sleep(0.02)
        self.began = time.monotonic()
        return self

    def __exit__(self, *_):
        if self.job.poll() is None:
            for pid in ranks_of(self.folder).values():
                os.kill(pid, signal.SIGKILL)
            self.job.kill()
        self.log.close()

    def said(self):
        return pathlib.Path(self.log.name).read_text()

    def status(self):
        return self.harness.succeed("status", self.folder)

    def await_text(self, read, pattern, where):
        while not re.search(pattern, text := read()):
            check(self.job.poll() is None, f"the run has ended\n{text}")
            check(time.monotonic() - self.began < 20 * WATCH_S, f"{where}: no {pattern} in\n{text}\n--- log:\n{self.said()}")
            time.sleep(0.1)
        return text

    def await_status(self, pattern):
        return self.await_text(self.status, pattern, "status")

    def await_log(self, pattern):
        """What the log did not say at first, for example because the thread in question got no core, it says when the silence has doubled."""
        self.await_text(self.said, pattern, "the log")

    def release(self):
        if self.kind == "stop":
            os.kill(ranks_of(self.folder)[self.victim] if self.ranks > 1 else self.job.pid, signal.SIGCONT)
        else:
            self.pipe.write_bytes(b"x")

    def end_well(self, expected):
        """Released, the run ends with the policy of an undisturbed one; the log has said what the status says, and that it goes on."""
        while "without progress" not in self.said() and "no progress for" not in self.said():
            check(time.monotonic() - self.began < 20 * WATCH_S, f"the log says nothing:\n{self.said()}")
            time.sleep(0.1)
        self.release()
        out, _ = self.job.communicate(timeout=60)
        log = self.said()
        check(self.job.returncode == 0, f"exit code {self.job.returncode}\n{log}")
        check(policy_line(out) == undisturbed(self.harness), "another policy")
        named = [line for line in log.splitlines() if re.search(expected, line)]
        check(named and all(LOG_LINE.search(line) for line in named), f"no {expected} in the log:\n{log}")
        check(re.search(r"the run makes progress again, after \d+ s without", log), f"it does not say that there is progress again:\n{log}")
        check("ranks " not in self.status(), f"a run that has ended is said to do something:\n{self.status()}")
        return log


def who(rank, stages, activity, what, node=r"\S+"):
    return rf"rank {rank} on {node} \({stages}\)(?:, last seen)? in the {activity}: {what} \d+ s"


def stopped(harness):
    suspect = who(1, "generation, scoring, update", "update of step 3", "no sign of life for")
    with Held(harness, "stopped", "stop", 3, 1) as run:
        run.await_status(suspect + r": stopped, dead.*\n +ranks 0,2 wait ")
        run.end_well(suspect)


def stopped_rank_0(harness):
    """Rank 1 says it, and rank 0 the rest."""
    suspect = who(0, "coordinator, generation, scoring, update", "update of step 3", "no sign of life for")
    with Held(harness, "stopped_0", "stop", 3, 0) as run:
        run.await_status(suspect)
        check(re.search(r"\[1/3\].*" + suspect, run.end_well(suspect)), f"not rank 1 says it:\n{run.said()}")


def endless_loop(harness):
    suspect = who(1, "generation, scoring, update", "update of step 3", "nothing done for")
    with Held(harness, "loop", "loop", 3, 1) as run:
        watched = harness.work / "watched.txt"
        with open(watched, "w", encoding="utf-8") as file:
            following = harness.start("status", run.folder, "--watch", stdout=file)
        interrupted = harness.start("status", run.folder, "--watch")
        said = run.await_status(suspect + ": computing or stuck" + STACK.format(state="running", held="computes_for_ever", stage="UpdateStage::on_update"))
        check(re.search(r"\n +ranks 0,2 wait .* step 3\n", said), f"who waits?\n{said}")
        interrupted.send_signal(signal.SIGINT)
        interrupted.communicate(timeout=10)
        check(interrupted.returncode == -signal.SIGINT, f"Ctrl-C: exit code {interrupted.returncode}")
        run.await_log(r"\[0/3\].*at rollcall::run::UpdateStage::on_update")
        run.await_text(watched.read_text, suspect, "--watch")
        run.end_well(suspect)
        _, err = following.communicate(timeout=30)
        out = watched.read_text()
        check(following.returncode == 0 and not err, f"--watch: exit code {following.returncode}\n{err}")
        for pattern in (suspect, r"the run makes progress again, after", rf"\ntraining +{STEPS} of {STEPS} steps"):
            check(re.search(pattern, out), f"--watch: no {pattern} in\n{out}")


def blocked_read(harness):
    """Rank 0, which is the coordinator too."""
    suspect = who(0, "coordinator, generation, scoring, update", "update of step 3", "nothing done for")
    with Held(harness, "read", "read", 3, 0) as run:
        run.await_status(suspect + ": computing or stuck" + STACK.format(state="in read", held="reads_for_ever", stage="UpdateStage::on_update"))
        run.end_well(suspect)


def disaggregated(harness):
    """The rank that generates is held where it writes its shard."""
    layout = sets(run__layout="disaggregated")
    suspect = who(r"\d", "generation", "generation of step 3", "nothing done for")
    with Held(harness, "disaggregated", "read", 4, 1, file="train-000003-00-0001.h5.partial", settings=layout) as run:
        said = run.await_status(suspect + ": computing or stuck" + STACK.format(state="in read", held="reads_for_ever", stage="Rank::dispatch"))
        check(re.search(r"waits? for .*\n", said), f"who waits?\n{said}")
        run.end_well(suspect)


def stuck_writer(harness):
    """The thread that writes what the ranks have judged is held; at the end of the update its rank waits for it, and the others for the rank."""
    suspect = "rank 0 waits for the writing of this rank's rollouts in the update of step 3"
    with Held(harness, "writer", "read", 3, 0, file=SCORED) as run:
        run.await_status(suspect + r"\n(?:.*\n)* +thread \d+: in read\n(?: +at .*\n)* +at rollcall::io::publish")
        run.end_well(suspect)


# So many that the workers get some, also where the main thread is quick and the machine is busy. In the second epoch the objective is asked behind a forward
# pass, leaf by leaf.
MANY_LEAVES = sets(run__threads=3, train__leaf_tokens=64, train__epochs=2, train__prompts_per_step=32, train__rollouts_per_prompt=16)


def one_rank_and_its_worker(harness):
    """The main thread waits for a worker that does not come to an end."""
    suspect = who(0, "coordinator, generation, scoring, update", r"update of step \d", "nothing done for")
    with Held(harness, "worker", "worker", 1, 0, file=SCORED, settings=MANY_LEAVES) as run:
        said = run.await_status(suspect + r"(.*\n)+ +thread \d+: running\n")
        check(re.search(r"main: in futex\n(?: +at .*\n)* +at rollcall::run::WorkerPool::run\(\)\n(?: +at .*\n)* +at rollcall::run::ObjectivePass::", said), f"main thread?\n{said}")
        check(re.search(r"thread \d+: running\n(?: +at .*\n)* +at (\(anonymous namespace\)::)?computes_for_ever\(\)\n(?: +at .*\n)* +at rollcall::run::ObjectivePass::", said),
              f"worker?\n{said}")
        run.job.send_signal(signal.SIGSTOP)
        run.release()
        time.sleep(WATCH_S)
        run.await_status(who(0, "coordinator, generation, scoring, update", r"update of step \d", "no sign of life for"))
        run.job.send_signal(signal.SIGCONT)
        run.job.communicate(timeout=60)
        check(run.job.returncode == 0, f"exit code {run.job.returncode}\n{run.said()}")


def what_is_left_of_a_killed_run(harness):
    with Held(harness, "killed", "read", 3, 1) as run:
        folder = run.folder
        check([json.loads(line)["rank"] for line in (folder / "watch").read_text().splitlines()] == [0, 1, 2], "RUN/watch is not a line of JSON a rank")
        run.await_text((folder / "watch").read_text, r'"activity":"update of step 3"[^\n]*"rank":1\b', "RUN/watch")  # it is written now and then
        out = run.status()
        check(re.search(r"\nranks +(3, progress \d+ s ago\n|no progress for)", out), f"before anything is wrong, or soon after:\n{out}")
        for pid in ranks_of(folder).values():
            os.kill(pid, signal.SIGKILL)
        run.job.communicate(timeout=60)
    watch = folder / "watch"
    whole = watch.read_bytes()
    time.sleep(WATCH_S)

    def lines(content):
        if content is None:
            watch.unlink()
        else:
            watch.write_bytes(content)
        return [line for line in harness.succeed("status", folder).splitlines() if line.startswith(("ranks", " "))]

    said = lines(whole)
    # Ranks 0 and 2 may have been caught at the same place.
    check(len(said) == 1 and re.search(r"last heard of \d+ s ago: .*ranks? (1|0-1|1-2|0-2) in the update of step 3", said[0]), f"what it did last:\n{said}")
    for content in (b"", b"{}", b"hello\n", b"\0" * 8192, b"[" * 100_000, whole[:100]):
        said = lines(content)
        check(len(said) == 1 and "no record of them" in said[0], f"{content[:20]}: {said}")
    torn = lines(whole[:4096] + whole[5000:])
    check(len(torn) == 2 and "records cannot be read" in torn[1], f"torn: {torn}")
    check(lines(None) == [], "without the file")
    watch.write_bytes(b"junk")
    check(policy_line(harness.train(folder, *SHORT, "--resume")) == undisturbed(harness), "another policy, resumed")
    check(len(watch.read_bytes()) == 4096, "the file of the earlier start is still there")


def off(harness):
    folder = harness.work / "off"
    harness.train(folder, *SHORT, *sets(run__watch_s=0))
    check(not (folder / "watch").exists(), "there is a file although it is off")
    check(len(metrics(folder)) == STEPS, "steps are missing")


def told(harness, name, settings, env, disturb):
    """Standard error and the end (unix time) of a long run that is disturbed in training; it is stopped by its time or by a file."""
    folder = harness.work / name
    job = harness.start("train", harness.tiny, *sets(run__dir=folder, run__watch_s=1, run__log_level="info", sft__steps=2, train__steps=100000, eval__before="false", checkpoint__every=1000),
                        *settings, env=env)
    while not (folder / "metrics.jsonl").exists() or not metrics(folder):
        check(job.poll() is None, f"{name}: the run ended too early: {job.poll()}")
        time.sleep(0.01)
    disturb(job, folder)
    _, err = job.communicate(timeout=60)
    check(job.returncode == 75, f"{name}: exit code {job.returncode}\n{err}")
    return err, time.time()


def slurm_says_when_a_suspended_job_ends(harness):
    """It moves the end for a suspension, and the run asks."""
    tools = harness.work / "tools"
    tools.mkdir()
    (tools / "scontrol").write_text(f'#!/bin/sh\n[ "$SLURM_TIME_FORMAT $*" = "%s --oneliner show job 7" ] && echo "JobId=7 EndTime={int(time.time()) + 500} Deadline=N/A"\n')
    (tools / "scontrol").chmod(0o755)

    def suspend(job, folder):
        job.send_signal(signal.SIGSTOP)
        time.sleep(2)
        job.send_signal(signal.SIGCONT)
        time.sleep(1)
        (folder / "stop").touch()

    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": str(int(time.time()) + 100)}
    err, _ = told(harness, "suspended", [], slurm | {"PATH": f"{tools}:{os.environ['PATH']}"}, suspend)
    left = re.search(r"Slurm says that the allocation ends in (\d+) s", err)
    check(left and 480 < int(left[1]) <= 500 and err.count("Slurm says") == 1, err)


def a_watch_that_hangs_moves_no_end(harness):
    """Its file system keeps it, and the run computes on: Slurm does not wait for that."""
    end = int(time.time()) + 6

    def stall(job, folder):
        os.mkfifo(folder / "pipe")
        os.rename(folder / "pipe", folder / "watch")
        time.sleep(3)
        open(folder / "watch", "rb").close()
        (folder / "watch").unlink()

    err, ended = told(harness, "stalled", [], {"SLURM_JOB_END_TIME": str(end)}, stall)
    check("stopping on the wall-time limit" in err and ended < end and "after a suspension" not in err, f"it ended {ended - end:.1f} s after the allocation\n{err}")


main(endless_loop, stopped, stopped_rank_0, blocked_read, disaggregated, stuck_writer, one_rank_and_its_worker, what_is_left_of_a_killed_run, off,
     slurm_says_when_a_suspended_job_ends, a_watch_that_hangs_moves_no_end, at_a_time=8)

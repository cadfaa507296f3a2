"""What a run says of itself in plain words: each diagnosis in the log, the status and the report of a run made for it, and none of a healthy one."""
import concurrent.futures
import html
import os
import re
import signal
import threading
import time

from harness import check, main, metrics, ranks_of, sets

LONG = sets(train__steps=12, eval__before="false", eval__after="false", checkpoint__every=100, archive__pack_every=100)
# What a run is made to do, by the diagnosis that must be told of it.
LONG_ANSWERS = sets(sft__steps=0, train__steps=11, model__hidden_size=128, model__intermediate_size=256, model__num_hidden_layers=3, model__max_position_embeddings=160,
                    sampling__max_new_tokens=128)
MADE_FOR = {
    "equal_rewards": sets(sft__steps=0, train__steps=11, task__format_weight=0, train__lr=1e-6),
    "truncated": sets(sampling__max_new_tokens=1),
    "entropy_collapse": sets(train__steps=60, train__lr=3e-2, train__warmup_steps=0),
    # Of digits that it can learn to write and not to sort in so few steps.
    "format_only": sets(sft__steps=12, train__steps=40, task__min_level=9, task__max_level=12, task__format_weight=0.5, train__lr=1e-2, train__warmup_steps=0,
                        sampling__max_new_tokens=14, model__max_position_embeddings=40),
    "clipped_gradient": sets(train__max_grad_norm=1e-3),
    "policy_stands_still": sets(train__mini_batches=2, train__lr=1e-9),
    "ratio_far_from_one": sets(sft__steps=4, train__from_archive="loss_near_zero"),  # of another start
    "one_level": sets(task__max_level=4, task__tail_exponent=6),
    "repeated_prompts": sets(task__train_prompts=3),
    "generation_dominates": [*LONG_ANSWERS, *sets(scheduler__policy="pods", scheduler__knobs__keep_share=0.06, train__rollouts_per_prompt=32)],
    "loss_near_zero": [],
}


def log_and_status(harness, name):
    folder = harness.work / name.split()[0]
    code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder), *LONG, *MADE_FOR[name])
    check(code == 0, f"{name}: exit code {code}\n{out}\n{err}")
    return out + err, harness.succeed("status", folder), folder


def each_is_told_of_a_run_made_for_it(harness):
    def is_told(name):
        log, status, folder = log_and_status(harness, name)
        for one in name.split():
            lines = [line for line in log.splitlines() if f"[{one}]" in line]
            check(len(lines) == 1 and " step " in lines[0], f"{one} is told {len(lines)} times\n{log}")
        for told in (line for line in status.splitlines() if line.startswith(("note ", "warning "))):  # what held at the end
            check(told.split(None, 1)[1].split(";")[0] in html.unescape((folder / "report.html").read_text()), f"not in the report: {told}")

    with concurrent.futures.ThreadPoolExecutor(2) as side_by_side:  # a run of one rank has one thread
        list(side_by_side.map(is_told, [name for name in MADE_FOR if name != "loss_near_zero"]))


def a_note_is_told_where_people_look_and_not_in_the_log(harness):
    log, status, folder = log_and_status(harness, "loss_near_zero")
    check("[loss_near_zero]" not in log and any(line.startswith("note ") and "[loss_near_zero]" in line for line in status.splitlines()), f"{log}\n{status}")
    check("which is expected on policy" in (folder / "report.html").read_text(), "the report has no note")


def a_slow_rank_is_named(harness):
    """Rank 1 is stopped most of the time."""
    folder = harness.work / "slow"
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *LONG, *LONG_ANSWERS, *sets(sampling__max_new_tokens=64), ranks=3)
    ended = threading.Event()

    def hold_up():
        while not ended.is_set():
            pid = ranks_of(folder).get(1)
            if pid is None:
                time.sleep(0.01)
                continue
            try:
                while not ended.is_set():
                    os.kill(pid, signal.SIGSTOP)
                    time.sleep(0.06)
                    os.kill(pid, signal.SIGCONT)
                    time.sleep(0.003)
            except ProcessLookupError:
                pass

    slowing = threading.Thread(target=hold_up)
    slowing.start()
    out, err = job.communicate()
    ended.set()
    slowing.join()
    check(job.returncode == 0, f"exit code {job.returncode}\n{out}\n{err}")
    check("[one_rank_dominates]" in out + err and "steps rank 1)" in out + err, f"a rank that is stopped most of the time is not named\n{out}\n{err}")


def greedy_answers_make_no_rank_slow(harness):
    """A rank that generates for two plans, sampled and greedy, is one rank."""
    folder = harness.work / "greedy"
    code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder, objective__recipe="remax", train__rollouts_per_prompt=16, train__prompts_per_step=16), *LONG)
    check(code == 0 and "[one_rank_dominates]" not in out + err, f"exit code {code}, or one rank waits for itself\n{out}\n{err}")
    check(all(abs(row["timing_s/generation_mean"] - row["timing_s/generation"]) < 1e-9 for row in metrics(folder)), "the mean over one rank is another than its time")
    check(all(0 < row["timing_s/columns"] < row["timing_s/update"] for row in metrics(folder)), "columns are not a part of the update")


def a_healthy_run_is_silent(harness):
    folder = harness.work / "healthy"
    quickstart = harness.source / "jobs/runs/quickstart.toml"
    code, out, err, _ = harness.run("train", quickstart, *sets(run__dir=folder, train__steps=12, task__heldout_prompts=16, eval__before="false", eval__after="false"))
    told = [line for line in (out + err).splitlines() if line.endswith("]") and "; " in line]
    check(code == 0 and not told, f"exit code {code}, and of a healthy run:\n" + "\n".join(told))
    check("\nwarning " not in harness.succeed("status", folder), "status warns of a healthy run")


def nothing_learnt_is_told_at_once(harness):
    """The first evaluation without a right answer shows one, and the first step that teaches nothing is told, once; a resume does not repeat it."""
    words = [*sets(run__dir=harness.work / "hopeless", sft__steps=0, task__min_level=8, task__max_level=8, task__format_weight=0, sampling__max_new_tokens=12, eval__after="false")]
    for resume, steps, told in (([], 3, 1), (["--resume"], 4, 0)):
        code, out, err, _ = harness.run("train", harness.tiny, *resume, *words, *sets(train__steps=steps))
        idle = [line for line in err.splitlines() if "teaches nothing: the rollouts of each prompt have equal rewards (0 on average)" in line]
        none = re.findall(r"none of the 64 answers is right: (?:.+ where \"\d{8}\" is right|none of them hold a final answer)", err)
        check(code == 0 and len(idle) == told and len(none) == told and all("step 1 " in line for line in idle), f"exit code {code}\n{out}\n{err}")


def a_resume_remembers_the_steps_before(harness):
    """The window reaches back behind the stop: ten steps are there with the first new one."""
    folder = harness.work / "resumed"
    words = [*sets(run__dir=folder), *LONG, *MADE_FOR["truncated"]]
    harness.succeed("train", harness.tiny, *words, *sets(train__steps=9))
    code, out, err, _ = harness.run("train", harness.tiny, "--resume", *words, *sets(train__steps=10))
    check(code == 0 and "step 10: " in out + err and "[truncated]" in out + err, f"{code}\n{out}\n{err}")


def prompts_beyond_the_window_are_counted(harness):
    code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "window", task__max_level=30, task__tail_exponent=0))
    check(code == 2 and "prompts are too long" in err and "max_position_embeddings to " in err, f"{code}\n{out}\n{err}")


main(a_note_is_told_where_people_look_and_not_in_the_log, each_is_told_of_a_run_made_for_it, a_slow_rank_is_named, greedy_answers_make_no_rank_slow, a_healthy_run_is_silent,
     nothing_learnt_is_told_at_once,     a_resume_remembers_the_steps_before, prompts_beyond_the_window_are_counted)

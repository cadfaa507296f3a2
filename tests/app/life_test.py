"""A run's life: stopped and resumed, run again, started from another, watched, evaluated, exported; and the small subcommands."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from harness import check, main, metrics, policy_line, result, sets

REQUEUE, MISCONFIGURED = 75, 2
LONG = sets(train__steps=60, checkpoint__every=10)
STEADY = sets(train__min_lr_ratio=1)  # no step depends on the number of steps
TURNING = [*STEADY, *sets(checkpoint__every=20, sft__steps=120, train__lr=0.1, run__seed=2)]  # learns the task, and has lost it again after six steps


def status(folder):
    return json.loads((folder / "status.json").read_text())


def same_end(folder, reference, *keys):
    for key in keys or ("policy_sha256", "archive_sha256"):
        check(result(folder)[key] == result(reference)[key], f"{folder.name}: {key} differs from the undisturbed run")


def wait_for_training(job, folder):
    """Until training has a checkpoint that was not there at the start: well before the end, and past what the warm start alone would restore."""
    before = set(folder.glob("checkpoints/train_*"))
    while before.issuperset(folder.glob("checkpoints/train_*")):
        if job.poll() is not None:
            check(False, f"the run ended before it could be stopped:\n{job.communicate()}")
        time.sleep(0.02)


def stop_and_resume(harness, name, ranks, *stops):
    """stops: (how, the reason that is told). Each but the first meets the run that the one before has stopped."""
    reference, folder = harness.work / "undisturbed", harness.work / name
    if not reference.exists():
        harness.train(reference, *LONG)
    for number, (stop, reason) in enumerate(stops):
        job = harness.start("train", harness.tiny, *["--resume"] * (number > 0), *sets(run__dir=folder, run__log_level="info"), *LONG, ranks=ranks)
        wait_for_training(job, folder)
        stop(job, folder)
        out, err = job.communicate(timeout=60)
        check(job.returncode == REQUEUE, f"exit code {job.returncode} after {reason}, not {REQUEUE}\n{out}\n{err}")
        check(not (folder / "result.json").exists(), f"{reason} came after the end of the run: it tested nothing")
        check(status(folder)["phase"].startswith(f"stopped on {reason}"), f"{reason}: status.json says {status(folder)['phase']}")
        check(" is cut " not in err, f"a step of milliseconds was not finished after {reason}:\n{err}")
        newest = f"train_{status(folder)['train_steps']:06}"
        check((folder / "checkpoints" / newest).exists(), f"the step finished after {reason} is not saved")
        check(f"saved as checkpoint {newest}; to go on: rollcall train --resume {folder}/config.toml" in err, f"nothing says how the run goes on:\n{err}")
    harness.train(folder, "--resume", *LONG, ranks=ranks)
    same_end(folder, reference)


def stop_file_and_signals_to_one_process(harness):
    stop_and_resume(harness, "alone", 1, (lambda _, folder: (folder / "stop").touch(), "the stop file"), (lambda job, _: job.send_signal(signal.SIGUSR1), "SIGUSR1"),
                    (lambda job, _: job.send_signal(signal.SIGTERM), "SIGTERM"), (lambda job, _: job.send_signal(signal.SIGHUP), "SIGHUP"))


def signal_to_the_launcher(harness):
    stop_and_resume(harness, "usr1_launcher", 3, (lambda job, _: job.send_signal(signal.SIGUSR1), "SIGUSR1"))


LONG_STEP = sets(task__train_prompts=1024, task__min_level=2, task__max_level=4, sampling__max_new_tokens=24, sft__steps=0, train__steps=1,
                 train__prompts_per_step=768, train__rollouts_per_prompt=32, train__epochs=4, eval__before="false", eval__after="false")
LONG_SUPERVISED_STEP = sets(sft__steps=2, sft__batch_size=24576, train__steps=0, eval__before="false", eval__after="false")


def cut(harness, folder, settings, ranks, activity, resume):
    """Stops the run by a signal once a rank says that it does this. How long the step takes is unknown, so it is cut."""
    (folder / "watch").unlink(missing_ok=True)
    job = harness.start("train", harness.tiny, *resume, *sets(run__dir=folder, run__watch_s=3, run__log_level="info"), *settings, ranks=ranks)
    while not (folder / "watch").exists() or f'"activity":"{activity}"' not in (folder / "watch").read_text(errors="replace"):
        check(job.poll() is None, f"the run ended before {activity}:\n{job.poll()}")
        time.sleep(0.01)
    job.send_signal(signal.SIGTERM if ranks == 1 else signal.SIGUSR1)  # mpirun passes the latter on
    out, err = job.communicate(timeout=60)
    check(job.returncode == REQUEUE, f"exit code {job.returncode} after a signal in {activity}, not {REQUEUE}\n{out}\n{err}")
    check("step 1 is cut after" in err, f"the log does not say that {activity} was cut on {ranks} ranks:\n{err}")
    check(f"rollcall train --resume {folder}/config.toml draws it again" in err, f"nothing says how the run goes on:\n{err}")
    told = status(folder)
    check(told["phase"].startswith("stopped on") and told["train_steps"] == 0 and told["rollouts_total"] == 0, f"status.json: {told}")
    phase = "sft" if activity.startswith("supervised") else "train"
    check(not metrics(folder, phase), "metrics.jsonl tells of a step that was cut")


def signal_within_a_step(harness):
    """A long step is left at once, and nothing of it stays: the resume draws it again, to the end of an undisturbed run."""
    reference = harness.work / "uncut"
    harness.train(reference, *LONG_STEP)
    for ranks in (1, 3):
        folder = harness.work / f"cut_{ranks}"
        cut(harness, folder, LONG_STEP, ranks, "generation of step 1", [])
        cut(harness, folder, LONG_STEP, ranks, "update of step 1", ["--resume"])
        harness.train(folder, "--resume", *LONG_STEP, ranks=ranks)
        same_end(folder, reference)


def signal_within_a_supervised_step(harness):
    reference, folder = harness.work / "uncut_sft", harness.work / "cut_sft"
    harness.train(reference, *LONG_SUPERVISED_STEP)
    cut(harness, folder, LONG_SUPERVISED_STEP, 1, "supervised update of step 1", [])
    check(not list((folder / "checkpoints").glob("*")), "a checkpoint of nothing")
    harness.train(folder, "--resume", *LONG_SUPERVISED_STEP)
    same_end(folder, reference, "policy_sha256")


def await_handlers(job):
    """Until the process has taken SIGTERM over (proc(5)): it does so in its first instants."""
    while job.poll() is None:
        mask = int(re.search(r"SigCgt:\s+(\w+)", pathlib.Path(f"/proc/{job.pid}/status").read_text())[1], 16)
        if mask >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.001)
    check(False, f"it ended by itself: {job.communicate()}")


def file_run(harness):
    """A tiny run whose start takes a while: it reads many questions."""
    questions = harness.work / "many.jsonl"
    if not questions.exists():
        questions.write_text("".join(json.dumps({"question": f"{i}+0=", "answer": str(i % 97)}) + "\n" for i in range(150_000)))
    return [*sets(task__name="file", task__file=questions, task__answer_marker="", task__validation_prompts=4, task__heldout_prompts=8, text__tokenizer="byte",
                  reward__verifier="exact_match", run__log_level="info", train__steps=2, sft__steps=20, eval__samples=200)]


def signals_before_the_first_step(harness):
    """From its first instant on a run that is asked to stop says so and ends with 75, whatever it is at: reading, warm start, first evaluation. A resume ends like a run that was left alone."""
    settings, reference, folder = file_run(harness), harness.work / "left_alone", harness.work / "stopped_early"
    began = time.monotonic()
    harness.train(reference, *settings)
    whole_s, told = time.monotonic() - began, set()
    for number, share in enumerate((0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75)):
        job = harness.start("train", harness.tiny, "--resume", "--start-if-none", *sets(run__dir=folder), *settings)
        await_handlers(job)
        time.sleep(share * whole_s)
        how = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)[number % 4]
        began = time.monotonic()
        job.send_signal(how)
        out, err = job.communicate(timeout=60)
        took, name = time.monotonic() - began, signal.Signals(how).name
        if job.returncode == 0:  # it was done before
            break
        check(job.returncode == REQUEUE, f"{name} after {share:.2f} of a run: exit code {job.returncode}, not {REQUEUE}\n{out}\n{err}")
        how_told = {"at once": f"rollcall: stopped by {name}: no step was under way", "in order": f"stopping on {name}"}
        here = {key for key, words in how_told.items() if words in err}
        check(len(here) == 1, f"{name} after {share:.2f} of a run is not told once:\n{out}\n{err}")
        check(took < 10, f"{name} after {share:.2f} of a run took {took:.1f} s")
        told |= here
    check("at once" in told, f"it was stopped only {told}")
    harness.train(folder, "--resume", "--start-if-none", *settings)
    same_end(folder, reference)


def a_signal_to_ranks_that_start(harness):
    settings, folder = file_run(harness), harness.work / "ranks_that_start"
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *settings, ranks=3)
    time.sleep(1.0)
    job.send_signal(signal.SIGUSR1)
    out, err = job.communicate(timeout=60)
    check(job.returncode == REQUEUE, f"exit code {job.returncode}, not {REQUEUE}\n{out}\n{err}")
    check(err.count("rollcall: stopped by SIGUSR1") == 1 or "stopping on SIGUSR1" in err, f"it is not told once:\n{out}\n{err}")


def other_commands_that_are_stopped(harness):
    run = finished(harness)
    for words, says in ((["score", "-", "--verifier", "exact_match"], "the verdicts that are written are whole"), (["archive", "export", run, "--tokens"], "what is printed is not complete")):
        job = harness.start(*words, stdin=subprocess.PIPE)  # which waits for its input, or for a reader
        await_handlers(job)
        time.sleep(0.5)
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=60)
        check(job.returncode == REQUEUE and f"rollcall: stopped by SIGINT: {says}" in err, f"{words[0]}: exit code {job.returncode}\n{err}")


def wall_time(harness):
    """run.wall_time_s ends a run of too many steps with a checkpoint. Without it, and with few more steps, it goes on to the end of a run of that many."""
    folder, whole = harness.work / "limited", harness.work / "unlimited"
    harness.train(folder, *STEADY, *sets(train__steps=100000, run__wall_time_s=2), code=REQUEUE)
    stopped = status(folder)
    check(stopped["phase"].startswith("stopped on the wall-time limit"), f"it stopped otherwise: {stopped['phase']}")
    check(any((folder / "checkpoints").iterdir()), "no checkpoint")
    for run, how in ((folder, ["--resume"]), (whole, [])):
        harness.train(run, *how, *STEADY, *sets(train__steps=stopped["train_steps"] + 3))
    same_end(folder, whole)


def stop_within_an_evaluation(harness):
    """It is not waited for, and made again as a whole."""
    reference, folder = harness.work / "evaluated_at_once", harness.work / "evaluated_again"
    settings = sets(sft__steps=5, train__steps=2, eval__samples=2000)
    harness.train(reference, *settings)
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *settings)
    while not (folder / "status.json").exists() or status(folder)["phase"] != "eval before training":
        check(job.poll() is None, f"no evaluation was met:\n{job.poll()}")
        time.sleep(0.01)
    (folder / "stop").touch()
    out, err = job.communicate(timeout=60)
    check(job.returncode == REQUEUE, f"exit code {job.returncode}, not {REQUEUE}\n{out}\n{err}")
    check(status(folder)["train_steps"] == 0, "it went on to train")
    harness.train(folder, "--resume", *settings)
    same_end(folder, reference, "policy_sha256", "archive_sha256", "rollouts_total", "eval_before", "eval_after")


def evaluation_longer_than_a_job(harness):
    """The first job has done its warm start; the second does nothing but a part of the evaluation, as would every other."""
    folder = harness.work / "endless"
    settings = sets(sft__steps=2, train__steps=2, task__max_level=4, task__heldout_prompts=400, eval__samples=4000, run__wall_time_s=2)
    harness.train(folder, *settings, code=REQUEUE)
    code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder), *settings, "--resume")
    check(code == MISCONFIGURED and "an evaluation did not finish within a whole job" in err, f"exit code {code}, not {MISCONFIGURED}\n{err}")


def finished(harness):
    """The folder of a whole run; what it printed is beside it."""
    folder = harness.work / "finished"
    if not folder.exists():
        (harness.work / "finished.out").write_text(harness.train(folder))
    return folder


def again_when_done(harness):
    folder = finished(harness)
    first = (harness.work / "finished.out").read_text()
    before = sorted((p, p.stat().st_size) for p in (folder / "archive").iterdir())
    code, second, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder), "--resume", env={"ATEN_CPU_CAPABILITY": "default"})
    check(code == 0 and "its bits no longer match" in err, f"exit code {code}; nothing was said of another processor's bits\n{err}")
    table = [line for line in first.splitlines() if "->" in line]
    check(len(table) >= 2 and table == [line for line in second.splitlines() if "->" in line], f"another table the second time:\n{first}\n{second}")
    check(policy_line(first) == policy_line(second), "another policy the second time")
    check(before == sorted((p, p.stat().st_size) for p in (folder / "archive").iterdir()), "the archive changed the second time")


def goes_on_after_its_end(harness):
    """Four steps to their end, then two more: the end of six at once. The evaluation at the end is that of the last end."""
    folder, whole = harness.work / "four_then_six", harness.work / "six"
    harness.train(whole, *TURNING)
    harness.train(folder, *TURNING, *sets(train__steps=4))
    check(result(folder)["eval_after"] != result(whole)["eval_after"], "two steps change no answer, so equality says nothing")
    harness.train(folder, "--resume", *TURNING)
    same_end(folder, whole, "policy_sha256", "eval_before", "eval_after", "gain")


def warm_start_first(harness):
    """rollcall sft, then rollcall train --resume: what one rollcall train does."""
    folder = harness.work / "warm_start_first"
    harness.succeed("sft", harness.tiny, *sets(run__dir=folder))
    check(result(folder)["train_steps"] == 0 and not metrics(folder), "rollcall sft did more than the warm start")
    harness.train(folder, "--resume")
    same_end(folder, finished(harness), "policy_sha256", "eval_before", "eval_after", "gain")


def init_from(harness):
    parent, child = finished(harness), harness.work / "child"
    harness.train(child, "--init-from", f"{parent}@6", *sets(sft__steps=0, train__steps=1, eval__after="false"))
    check(result(child)["policy_sha256"] != result(parent)["policy_sha256"], "the child did not train")
    check(metrics(child)[0]["step"] == 1, "the child goes on counting the parent's steps")
    untouched = harness.work / "untouched"
    harness.train(untouched, "--init-from", f"{parent}@6", *sets(sft__steps=0, train__steps=0))
    check(result(untouched)["policy_sha256"] == result(parent)["policy_sha256"], "--init-from does not start from the parent's weights")


def damaged_checkpoint(harness):
    """The newest checkpoint is damaged: the run goes on from the one before, past what the archive holds already, to the same end."""
    folder = harness.work / "damaged"
    shutil.copytree(finished(harness), folder)
    with open(folder / "checkpoints/done_000006/model.safetensors", "ab") as weights:
        weights.write(b"x")
    harness.train(folder, "--resume")
    same_end(folder, finished(harness))


def a_run_goes_on_from_an_older_checkpoint(harness):
    """Damaged ones behind it, and more steps than before: the evaluation that they covered is in the archive, and is not made again. Damage of the archive is told before the first step."""
    ended, whole = harness.work / "ended", harness.work / "longer"
    harness.train(ended, *STEADY, *sets(checkpoint__keep_last=4))
    shutil.copytree(ended, whole)
    harness.train(whole, "--resume", *STEADY, *sets(train__steps=7))

    def damaged(name, *checkpoints):
        folder = harness.work / name
        shutil.copytree(ended, folder)
        for checkpoint in checkpoints:
            with open(folder / "checkpoints" / checkpoint / "model.safetensors", "ab") as weights:
                weights.write(b"x")
        return folder

    for name, *checkpoints in (("without_the_end", "done_000006"), ("without_two_steps", "done_000006", "train_000006")):
        folder = damaged(name, *checkpoints)
        harness.train(folder, "--resume", *STEADY, *sets(train__steps=7))
        same_end(folder, whole, "policy_sha256", "archive_sha256", "rollouts_total")
    folder = damaged("too_few_steps", "done_000006", "train_000006")

    def refused(folder, code, *says):
        before = [(path, path.stat().st_mtime_ns) for place in ("archive", "checkpoints") for path in sorted((folder / place).glob("**/*"))]
        got, out, err, _ = harness.run("train", harness.tiny, "--resume", *sets(run__dir=folder), *STEADY, *sets(train__steps=7 if code == 3 else 5))
        check(got == code and all(words in err for words in says), f"exit code {got}, not {code} with {says}\n{out}\n{err}")
        check(before == [(path, path.stat().st_mtime_ns) for place in ("archive", "checkpoints") for path in sorted((folder / place).glob("**/*"))],
              f"it trained before it said {says}")

    refused(folder, MISCONFIGURED, "train.steps is 5", "has done 6")
    folder = damaged("cut")
    cut = next((folder / "archive").glob("train_*.h5"))
    os.truncate(cut, 1000)
    refused(folder, 3, f"{cut}: it has 1000 bytes where ")
    cut.unlink()
    refused(folder, 3, f"{cut}: No such file")
    folder = damaged("unsaved")
    shutil.rmtree(folder / "checkpoints")
    refused(folder, 3, "holds no checkpoint, but ", "restore checkpoints/ from a copy")


def an_evaluation_without_outcomes_is_counted_once(harness):
    """A start that asked for more steps and stopped before the first of them left checkpoints without the outcomes of the evaluation that they count."""
    folder = harness.work / "without_outcomes"
    shutil.copytree(finished(harness), folder)
    checkpoint = folder / "checkpoints/done_000006"
    state, manifest = checkpoint / "coordinator.json", checkpoint / "manifest.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"after": None}))
    facts = json.loads(manifest.read_text())
    facts["files"]["coordinator.json"]["bytes"] = state.stat().st_size

    def heal(table):
        """Writes the checksum that the program finds into the manifest."""
        manifest.write_text(json.dumps(facts, indent=1) + "\n")
        _, out, err, _ = harness.run("archive", "verify", folder)
        found = re.search(r"checksum is (\w+) where", out + err)
        check(found, f"no checksum is told:\n{out}\n{err}")
        table["xxh3_64"] = found[1]

    heal(facts)
    manifest.write_text(json.dumps(facts, indent=1) + "\n")
    heal(facts["files"]["coordinator.json"])
    heal(facts)
    manifest.write_text(json.dumps(facts, indent=1) + "\n")
    harness.train(folder, "--resume")
    same_end(folder, finished(harness), "policy_sha256", "archive_sha256", "rollouts_total", "eval_after")


def evaluation(harness):
    run, out = finished(harness), harness.work / "evaluated"
    found = json.loads(harness.succeed("eval", run, "--out", out).splitlines()[-1])
    check(found == json.loads((out / "eval.json").read_text()), "standard output and eval.json differ")
    check(found["prompts"] == 8 and found["samples"] == 64, f"{found['prompts']} prompts, {found['samples']} samples")
    check(0 <= found["pass_at_1"] <= found["pass_at_8"] <= 1, "pass@1 <= pass@8 does not hold")


def export_and_generate(harness):
    run, out = finished(harness), harness.work / "exported"
    said = harness.succeed("export", run, out)
    check(result(run)["policy_sha256"] in said and (out / "config.json").exists() and (out / "model.safetensors").exists(), f"no whole model:\n{said}")
    lines = harness.succeed("generate", run, "21", "--samples", "3").splitlines()
    check(len(lines) == 3, f"{len(lines)} samples, not 3")
    greedy = [harness.succeed("generate", run, word, "--set", "sampling.temperature=0", input=given) for word, given in (("21", None), ("-", "21"))]
    check(greedy[0] == greedy[1], "a prompt from standard input is answered otherwise")


def descriptions(harness):
    told = harness.succeed("status", finished(harness))
    check("done" in told and "6 of 6" in told, f"status does not tell that the run is done:\n{told}")
    began = time.monotonic()
    plan = harness.succeed("plan", harness.tiny, "--ranks", "4096")
    judging = harness.succeed("plan", harness.tiny, *sets(self_judging__share=0.5, objective__recipe="spark-coevolve"))
    longest = int(re.search(r"longest sequence (\d+) tokens", judging)[1])
    check(longest > 10, f"a judge task is no longer than a prompt:\n{judging}")
    code, out, err, _ = harness.run("plan", harness.tiny, *sets(task__name="file", task__file=harness.work / "none.jsonl"))
    check(code == 2 and not out and "none.jsonl" in err, f"exit code {code} without the task's file:\n{out}{err}")
    check(plan.startswith("8 prompts x 4 = 32 rollouts a step, 1 update; longest sequence 10 tokens, 6 of them new; peak "), f"the plan's sentence:\n{plan}")
    check("4096" in plan.replace(",", "") and time.monotonic() - began < 10, f"plan for 4096 ranks:\n{plan}")
    doctor = harness.succeed("doctor")
    check(all(word in doctor for word in ("MPI", "HDF5", "LibTorch", "Kokkos", "kernels", "fp32_fixed_order: ", "bf16_sliced8: ", "CUDA", "Slurm")), f"doctor left something out:\n{doctor}")
    _, doctor, _, _ = harness.run("doctor", env={"ROLLCALL_KERNELS": "amx"})
    check("fp32_fixed_order: none of scalar" in doctor and "ROLLCALL_KERNELS is 'amx'" in doctor, f"doctor does not say whose kernels are missing:\n{doctor}")
    version = harness.succeed("--version", "--verbose")
    check(harness.succeed("--version").strip() in version and all(word in version for word in ("HDF5", "fp32_fixed_order: ", "bf16_sliced8: ")), f"--version --verbose:\n{version}")
    commands = ("train", "sft", "eval", "generate", "chat", "plan", "prove", "recipes", "schedulers", "schedule", "simulate", "export", "tokenize", "template", "logprob", "status")
    for command in (*commands, "submit", "doctor"):
        check(command in harness.succeed(command, "--help"), f"{command} --help says nothing of it")


def closed_pipe(harness):
    """| head -1: the reader leaves, the run goes on."""
    folder = harness.work / "piped"
    read, write = os.pipe()
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), stdout=write, stderr=subprocess.STDOUT)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    check(job.wait(60) == 0, f"exit code {job.returncode} after its output was closed")
    same_end(folder, finished(harness))


main(stop_file_and_signals_to_one_process, signal_to_the_launcher, signal_within_a_step, signal_within_a_supervised_step, signals_before_the_first_step, a_signal_to_ranks_that_start, other_commands_that_are_stopped, wall_time, stop_within_an_evaluation, evaluation_longer_than_a_job, again_when_done, goes_on_after_its_end, warm_start_first, init_from,
     damaged_checkpoint, a_run_goes_on_from_an_older_checkpoint, an_evaluation_without_outcomes_is_counted_once, evaluation, export_and_generate, descriptions, closed_pipe)

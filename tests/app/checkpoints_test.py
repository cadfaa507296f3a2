"""Checkpoints of the whole program: written by several ranks, read by any number of them, the best one kept, and old ones refused by name."""
import json
import resource
import shutil
import time

from harness import check, main, metrics, result, sets

# Large enough that four update ranks each write a slice of the moments (1 MiB or more), and a reference that every later checkpoint links.
WIDE = sets(model__hidden_size=192, model__intermediate_size=384, model__num_hidden_layers=3, model__head_dim=48, model__num_attention_heads=4,
            sft__steps=4, train__steps=6, train__prompts_per_step=4, objective__pieces__regularizer="kl_convex", eval__before="false", eval__after="false")
REQUEUE = 75


def files(folder, name):
    return json.loads((folder / "checkpoints" / name / "manifest.json").read_text())["files"]


def written_by_four(harness):
    """Stopped by a stop file on four ranks behind its second step; three runs go on from copies of it."""
    reference, stopped = harness.work / "wide", harness.work / "wide_4"
    harness.train(reference, *WIDE, ranks=1)
    job = harness.start("train", harness.tiny, *sets(run__dir=stopped), *WIDE, *sets(checkpoint__every=1), ranks=4)
    while not (stopped / "checkpoints/train_000002").exists() and job.poll() is None:
        time.sleep(0.005)
    (stopped / "stop").touch()
    out, err = job.communicate(timeout=90)
    check(job.returncode == REQUEUE, f"exit code {job.returncode}, not {REQUEUE}\n{out}\n{err}")
    newest = max((stopped / "checkpoints").glob("train_*"), key=lambda folder: folder.name)
    slices = [name for name in files(stopped, newest.name) if name.startswith("optimizer-")]
    check(len(slices) == 4 and all(name.endswith("-of-00004.safetensors") for name in slices), f"not four slices of the moments: {slices}")
    check((newest / "reference.safetensors").stat().st_nlink > 1, "the reference, which did not change, was written again")
    for ranks in (1, 3, 6):
        folder = harness.work / f"wide_resumed_{ranks}"
        harness.copy(stopped, folder)
        harness.train(folder, "--resume", *WIDE, *sets(checkpoint__every=1), ranks=ranks)
        for key in ("policy_sha256", "archive_sha256"):
            check(result(folder)[key] == result(reference)[key], f"resumed on {ranks} ranks: {key} differs from the undisturbed run on one")


def full_disk(harness):
    """The thread that writes meets a full disk: the run ends with one message, and goes on from nothing or an older checkpoint when there is room."""
    folder, limit = harness.work / "full", 1 << 20  # bytes of a file: shards fit, weights do not
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *WIDE, restore_signals=False,  # Python ignores SIGXFSZ, and so shall the program
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    out, err = job.communicate(timeout=90)
    said = [line for line in err.splitlines() if line.startswith("rollcall: ")]
    check(job.returncode == 3 and len(said) == 1 and "cannot write" in said[0] and "/checkpoints/" in said[0], f"exit code {job.returncode}, not one clear message:\n{err}\n{out}")
    check(not list(folder.glob("checkpoints/[!.]*")), "a checkpoint is shown that could not be written")
    harness.train(folder, "--resume", *WIDE)
    check(result(folder)["policy_sha256"] == result(harness.work / "wide")["policy_sha256"], "the run after the full disk ended otherwise")


def the_best_is_kept(harness):
    """The step of smallest gradient norm among those that write a checkpoint; it outlives keep_last=1."""
    folder = harness.work / "best"
    harness.train(folder, *sets(train__steps=6, checkpoint__every=1, checkpoint__keep_last=1, checkpoint__keep_best="-actor/grad_norm", eval__after="false"))
    rows = metrics(folder)
    best = min(rows, key=lambda row: row["actor/grad_norm"])["step"]
    kept = sorted(path.name for path in (folder / "checkpoints").iterdir())
    check(kept == sorted({f"train_{best:06}", "train_000006"}), f"kept {kept}; the smallest gradient norm was that of step {best}")
    for value, words in (("validation/pass_at_9", "no validation measures"), ("nothing/like_it", "a step of this run does not measure"),
                         ("actor/gradnorm", "did you mean actor/grad_norm")):
        code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "unknown", checkpoint__keep_best=value))
        check(code == 2 and words in err, f"keep_best={value}: exit code {code}\n{err}")
        check(not (harness.work / "unknown").exists(), f"keep_best={value} is told behind the first step")


def the_best_is_of_all_updates(harness):
    """A step's figure is that of all its updates, and the best is chosen by it: the first update of
    each step clips nothing."""
    folder = harness.work / "best_of_all"
    keep = sets(checkpoint__every=1, checkpoint__keep_last=1,
                checkpoint__keep_best="actor/pg_clipfrac")
    harness.train(folder, *keep, *sets(train__mini_batches=2, train__epochs=3, train__lr=1e-2,
                                       train__warmup_steps=0, train__steps=6, sft__steps=10,
                                       eval__before="false", eval__after="false"))
    figures = {row["step"]: row["actor/pg_clipfrac"] for row in metrics(folder)}
    best = max(figures, key=figures.get)
    check(1 < best < 6 and figures[best] > 0, f"it says nothing that the best is kept: {figures}")
    kept = sorted(path.name for path in (folder / "checkpoints").iterdir())
    check(kept == [f"train_{best:06}", "train_000006"],
          f"kept {kept}; most was clipped in step {best}: {figures}")


def a_step_without_the_metric_is_no_candidate(harness):
    """No step replays in the first, so that the first cannot be the one of least staleness."""
    folder = harness.work / "no_candidate"
    harness.train(folder, *sets(train__steps=3, checkpoint__every=1, checkpoint__keep_last=1, checkpoint__keep_best="-replay/staleness_mean", replay__share=0.5,
                                eval__before="false", eval__after="false"))
    rows = [row for row in metrics(folder) if "replay/staleness_mean" in row]
    best = min(rows, key=lambda row: row["replay/staleness_mean"])["step"]
    check(rows and best > 1, f"every step replays: {rows}")
    kept = sorted(path.name for path in (folder / "checkpoints").iterdir())
    check(kept == sorted({f"train_{best:06}", "train_000003"}), f"kept {kept}; the smallest staleness was that of step {best}")


def another_best_is_compared_anew(harness):
    """A length is more than any norm with its sign turned: only steps behind the change are candidates."""
    folder = harness.work / "another_best"
    settings = sets(checkpoint__every=1, checkpoint__keep_last=1, eval__before="false", eval__after="false", train__min_lr_ratio=1)
    harness.train(folder, *settings, *sets(train__steps=2, checkpoint__keep_best="response_length/mean"))
    harness.train(folder, "--resume", *settings, *sets(train__steps=6, checkpoint__keep_best="-actor/grad_norm"))
    best = min((row for row in metrics(folder) if row["step"] > 2), key=lambda row: row["actor/grad_norm"])["step"]
    kept = sorted(path.name for path in (folder / "checkpoints").iterdir())
    check(kept == sorted({f"train_{best:06}", "train_000006"}), f"kept {kept}; the smallest gradient norm since the change was that of step {best}")


def the_best_validation_is_kept(harness):
    """eval.every=1: a row a step; the best step, here in the middle of a run that ruins its policy, has a checkpoint that nothing else asked for."""
    folder, steps = harness.work / "validated", 12
    harness.train(folder, *sets(run__seed=2, sft__steps=120, train__steps=steps, train__lr=0.1, eval__every=1, checkpoint__every=100, checkpoint__keep_last=1,
                                checkpoint__keep_best="validation/pass_at_1", eval__before="false", eval__after="false"))
    rows = metrics(folder, "validation")
    check([row["step"] for row in rows] == list(range(1, steps + 1)), f"validated after steps {[row['step'] for row in rows]}")
    check(all(0 <= row["validation/pass_at_1"] <= row["validation/pass_at_8"] <= 1 for row in rows), f"pass@1 <= pass@8 does not hold: {rows}")
    best = max(rows, key=lambda row: row["validation/pass_at_1"])["step"]  # the first of equals
    check(best < steps, "the last step is the best, so keeping it says nothing")
    kept = sorted(path.name for path in (folder / "checkpoints").iterdir())
    check(kept == [f"train_{best:06}", f"train_{steps:06}"], f"kept {kept}; the best validation was that of step {best}")
    found = json.loads(harness.succeed("eval", f"{folder}@{best}").splitlines()[-1])
    check(found["prompts"] == 8, f"the best checkpoint cannot be evaluated: {found}")


def patience(harness):
    """The training ends with the third validation in a row without a new best, also where a resume lies between them, and goes on where a later start has more patience."""
    always = sets(run__seed=2, eval__every=1, eval__before="false", eval__after="false", train__min_lr_ratio=1, checkpoint__keep_last=1)
    steps, settings = 24, [*always, *sets(checkpoint__patience=3)]
    whole, resumed = harness.work / "patient", harness.work / "patient_resumed"
    told = harness.train(whole, *settings, *sets(train__steps=steps))
    values = [row["validation/pass_at_1"] for row in metrics(whole, "validation")]
    best = values.index(max(values)) + 1  # the first of equals
    ended = best + 3
    check(len(values) == ended == len(metrics(whole)) < steps, f"it ended after step {len(values)}, not {ended}: {values}")
    early = result(whole)
    said = f"3 of 3 validations without a new best of validation/pass_at_1, which was that of train_{best:06}: the training ends after step {ended}"
    check(early["train_steps"] == ended and early["ended_early"].startswith(said) and f"ended early: {said}" in told, f"{early}\n{told}")
    status = json.loads((whole / "status.json").read_text())
    check(status["phase"] == "done" and status["patience"].startswith(said), f"{status}")
    check(f"patience    {said}" in harness.succeed("status", whole), "rollcall status does not say why it ended")
    kept = sorted(path.name for path in (whole / "checkpoints").iterdir())
    check(kept == [f"train_{best:06}", f"train_{ended:06}"], f"kept {kept}")
    server = harness.ranks(1)
    server.train(whole, "--resume", *settings, *sets(train__steps=steps))
    check(result(whole)["train_steps"] == ended, "a resume went on")

    server.train(resumed, *settings, *sets(train__steps=ended - 1))
    check("ended_early" not in result(resumed), "a run that has done its steps has not ended early")
    server.train(resumed, "--resume", *settings, *sets(train__steps=steps))
    check((result(resumed)["train_steps"], result(resumed)["policy_sha256"]) == (ended, early["policy_sha256"]), "a resume before the end changes the end")
    server.train(resumed, "--resume", *always, *sets(train__steps=ended + 1))
    check(result(resumed)["train_steps"] == ended + 1, "it does not go on without patience")
    for more, words in ((sets(eval__every=1, checkpoint__keep_best="-actor/grad_norm"), "names no metric of validations"), ((), "eval.every is 0: nothing is validated")):
        code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "impatient", checkpoint__patience=2), *more)
        check(code == 2 and "checkpoint.patience" in err and words in err, f"{more}: exit code {code}\n{err}")


def waiting_is_measured(harness):
    rows = metrics(harness.work / "best")
    check(all("timing_s/checkpoint" in row for row in rows), "no row says what the step waited for its checkpoint")


def numerics(harness, name, *more, ranks=1, start=None):
    """The arguments of a run that goes on from two steps in fp32 for ten more in bf16: trains, or only starts."""
    folder, first = harness.work / name, harness.work / "fp32"
    if not first.exists():
        harness.train(first, *BRIEF, *sets(train__steps=2))
    if not folder.exists():
        shutil.copytree(first, folder)
    words = ("train", harness.tiny, "--resume", *sets(run__dir=folder, run__numerics="bf16_sliced8"), *BRIEF, *more)
    return folder, harness.start(*words) if start else harness.run(*words, ranks=ranks)


BRIEF = sets(train__steps=12, sft__steps=4, checkpoint__every=1, archive__pack_every=1, eval__before="false", eval__after="false", train__min_lr_ratio=1)
ALLOWED = sets(run__allow_numerics_change="true")


def other_numerics_where_they_are_allowed(harness):
    """Killed and resumed or not, on one rank and three, with the same end; what is archived from then on says where the change was, once."""
    folder, (code, out, err, _) = numerics(harness, "refused")
    check(code == 2 and 'run.numerics is "bf16_sliced8"' in err and "run.allow_numerics_change=true" in err, f"exit code {code}\n{out}\n{err}")
    settings = folder / "config.toml"
    settings.write_text(settings.read_text().replace("fp32_fixed_order", "bf16_sliced8"))  # as a change leaves it that was killed before its first checkpoint
    _, (code, out, err, _) = numerics(harness, "refused")
    check(code == 2 and 'was started with "fp32_fixed_order"' in err and "run.allow_numerics_change=true" in err, f"exit code {code}\n{out}\n{err}")
    for ranks in (1, 3):
        folder, (code, out, err, _) = numerics(harness, f"bf16_{ranks}", *ALLOWED, ranks=ranks)
        check(code == 0 and "its archive notes the change" in err, f"exit code {code}\n{out}\n{err}")
    folder, job = numerics(harness, "killed", *ALLOWED, start=True)
    while not list(folder.glob("checkpoints/train_00000[4-9]")):
        check(job.poll() is None, "the run ended before it could be killed")
        time.sleep(0.002)
    job.kill()
    job.communicate()
    check(not (folder / "result.json").exists() or result(folder)["train_steps"] == 2, "the kill came after the end of the run: it tested nothing")
    _, (code, out, err, _) = numerics(harness, "killed")
    check(code == 0 and "numerics" not in err, f"allowed once, and asked for again: exit code {code}\n{out}\n{err}")
    ends = {name: (result(harness.work / name)["policy_sha256"], result(harness.work / name)["archive_sha256"]) for name in ("bf16_1", "bf16_3", "killed")}
    check(len(set(ends.values())) == 1, f"ends differ: {ends}")
    noted = b'[{"after_sft_steps":0,"after_train_steps":0,"numerics":"fp32_fixed_order"},{"after_sft_steps":4,"after_train_steps":2,"numerics":"bf16_sliced8"}]'
    for name in ends:
        for file in (harness.work / name / "archive").glob("*.h5"):
            check((noted in file.read_bytes()) == (int(file.stem[-6:]) > 2) and file.read_bytes().count(b"after_sft_steps") in (0, 2), f"{file}: the change is noted wrongly")
        for words in (("status", harness.work / name), ("archive", "ls", harness.work / name)):
            check("fp32_fixed_order, after 2 training steps bf16_sliced8\n" in harness.succeed(*words), f"{words} does not say it")


main(written_by_four, full_disk, other_numerics_where_they_are_allowed, the_best_is_kept, the_best_validation_is_kept, waiting_is_measured,
     the_best_is_of_all_updates, a_step_without_the_metric_is_no_candidate,
     another_best_is_compared_anew, patience)

"""The run folder is the run: a copy resumes as itself, an edited config.toml is noticed, and --resume starts nothing new unless it is asked to."""
import json
import os
import re
import shutil
import subprocess

from harness import check, main, result, sets

SHORT = sets(sft__steps=2, eval__before="false", eval__after="false", checkpoint__every=2)


def begun(harness):
    """Four steps; every test copies them."""
    folder = harness.work / "runs/begun"
    if not folder.exists():
        harness.ranks(1).train(folder, *SHORT, *sets(train__steps=4))
    return folder


def copied(harness, name):
    shutil.copytree(begun(harness), harness.work / name)
    return harness.work / name


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def refused(harness, *words, says):
    code, out, err, _ = harness.run("train", *words)
    check(code == 2 and err.count("rollcall: ") == 1 and all(text in err for text in says), f"exit code {code}, wanted 2 and {says}: {words}\n{out}\n{err}")


def edit(folder, **values):
    text = (folder / "config.toml").read_text()
    for key, value in values.items():
        text, count = re.subn(rf"(?m)^{key} = \S+", f"{key} = {value}", text)
        check(count > 0, f"config.toml has no {key}")
    (folder / "config.toml").write_text(text)


def a_copy_resumes_where_it_lies(harness):
    """And a moved run where it was moved to, from any directory."""
    original = begun(harness)
    before, copy = content(original), copied(harness, "copy")
    for ranks, steps in ((1, 5), (3, 6)):
        _, _, err, _ = harness.run("train", "--resume", copy / "config.toml", *sets(train__steps=steps), ranks=ranks)
        told = err.count(f'run.dir = "{original}" of {copy / "config.toml"} is ignored')
        check(told == (1 if steps == 5 else 0), f"told {told} times where the run lies\n{err}")
        check(result(copy)["train_steps"] == steps, f"the copy did not go on: {result(copy)['train_steps']} steps")
    check(content(original) == before, "the original was changed")
    moved = harness.work / "elsewhere/moved"
    moved.parent.mkdir()
    copy.rename(moved)
    harness.succeed("train", "--resume", "elsewhere/moved/config.toml", *sets(train__steps=7))
    check(result(moved)["train_steps"] == 7 and not copy.exists(), "a moved run began again where it was")
    refused(harness, moved / "config.toml", says=["already holds a run", str(moved)])
    edited = harness.work / "edited_copy"
    edited.mkdir()
    (edited / "config.toml").write_text((moved / "config.toml").read_text().replace(str(moved), "runs/new"))
    refused(harness, edited / "config.toml", *sets(model__path="/no/such/model", sft__steps=2),
            says=["already holds a run", 'run.dir = "runs/new"', "is ignored", str(edited)])


def an_edited_config_is_noticed(harness):
    """Every key that differs is named, with what the newest checkpoint says."""
    folder = copied(harness, "edited")
    edit(folder, seed=9, lr="0.5")
    before = content(folder)
    refused(harness, "--resume", folder / "config.toml", *sets(train__steps=6),
            says=["run.seed is 9 and was 1", "was started with 0.001", "train.lr is 0.5 and was 0.001", "checkpoint train_000004 records", "was edited since"])
    check(content(folder) == before, "a refusal changed the run")
    code, _, err, _ = harness.run("train", "--resume", harness.tiny, *SHORT, *sets(run__dir=folder, train__steps=6))
    check(code == 0 and "config.toml was edited: it said" in err and "run.seed = 9" in err, f"exit code {code}\n{err}")
    check("seed = 1 " in (folder / "config.toml").read_text(), "the record stays false")
    (folder / "config.toml").unlink()
    refused(harness, "--resume", harness.tiny, *SHORT, *sets(run__dir=folder, train__steps=6, run__seed=3), says=["run.seed is 3", "train_000006 records"])


def a_resume_needs_a_run(harness):
    new, words = harness.work / "none_yet", (*SHORT, *sets(train__steps=1))
    refused(harness, harness.tiny, "--resume", *words, *sets(run__dir=new), says=["holds no run", "--start-if-none"])
    check(not new.exists(), "a refusal made the folder")
    new.mkdir()
    refused(harness, harness.tiny, "--resume", *words, *sets(run__dir=new), says=["holds no run"])
    check(not any(new.iterdir()), "a refusal left something behind")
    refused(harness, harness.tiny, "--start-if-none", *words, *sets(run__dir=new), says=["--resume"])
    code, out, err, _ = harness.run("train", harness.tiny, "--resume", "--start-if-none", *words, *sets(run__dir=new, run__log_level="info"), ranks=3)
    check(code == 0 and "holds no run yet: it starts one" in err and result(new)["train_steps"] == 1, f"exit code {code}\n{out}\n{err}")


def a_new_run_is_checked_however_it_starts(harness):
    """By one that says --resume --start-if-none, as every batch script does."""
    for settings, says in ((sets(objective__recipe="pods", sandbox__cpu_s=33), ["objective.recipe is pods", "sandbox.cpu_s is set"]),
                           (sets(objective__pieces__reward="kl_limit", scheduler__policy="dapo"), ["kl_limit", "scheduler.policy dapo"]),
                           (sets(objective__recipe="grpo", experts__share=0.1, task__shuffle_rewards="true"), ["task.shuffle_rewards is set"])):
        new = harness.work / "unchecked"
        for words in ([], ["--resume", "--start-if-none"]):
            refused(harness, harness.tiny, *words, *settings, *sets(run__dir=new, model__path="/no/such/model", sft__steps=2), says=says)
        check(not new.exists(), "a refusal made the folder")


QUESTIONS = {"here": [f"{a}+1" for a in range(40)], "there": [f"{a}+2" for a in range(40)]}
OWN_FILE = [*SHORT, *sets(task__name="file", task__file="q.jsonl", text__tokenizer="byte", task__train_prompts=30, task__heldout_prompts=4, task__validation_prompts=2,
                          task__answer_marker='""', task__format_weight=0, reward__verifier="exact_match", train__prompts_per_step=4, checkpoint__every=1)]


def write_questions(path, questions):
    path.write_text("".join(json.dumps({"question": text, "answer": str(sum(map(int, text.split("+"))))}) + "\n" for text in questions))


def relative_paths_stay_where_they_were(harness):
    """Also on three ranks, for a branch, and for a grader; a path of the command line is relative to where it is given."""
    for name, questions in QUESTIONS.items():
        (harness.work / name).mkdir()
        write_questions(harness.work / name / "q.jsonl", questions)
    here, there = harness.work / "here", harness.work / "there"

    def run(folder, *words, ranks=1):
        done = subprocess.run(harness.command(["train", *words], ranks), cwd=folder, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    code, said = run(here, harness.tiny, *OWN_FILE, *sets(run__dir="run", train__steps=1))
    check(code == 0, said)
    data = result(here / "run")["data_hash"]
    for ranks, steps in ((1, 2), (3, 3)):
        code, said = run(there, "--resume", "../here/run/config.toml", *sets(train__steps=steps, run__log_level="info"), ranks=ranks)
        check(code == 0 and f"are read from {here.resolve()}" in said and "the prompts are not those" not in said, f"{ranks} ranks: {code}\n{said}")
        check(result(here / "run")["data_hash"] == data and result(here / "run")["train_steps"] == steps, "it trained on the other file")
    code, said = run(there, "--from", "../here/run", *sets(run__dir="branch", train__steps=4))
    check(code == 0 and result(there / "branch")["data_hash"] == data and not (here / "branch").exists(), f"{code}\n{said}")
    check((there / "branch/directory").read_text().strip() == str(here.resolve()), "the branch's own paths are relative to another folder")
    code, said = run(there, "--resume", "../here/run/config.toml", *sets(train__steps=4, task__file="q.jsonl"))
    check(code == 2 and f"task.file is \"{there.resolve() / 'q.jsonl'}\"" in said, f"{code}\n{said}")
    code, said = run(there, "--resume", "../here/run/config.toml", *sets(train__steps=4, task__file="../here/q.jsonl"))
    check(code == 0 and result(here / "run")["train_steps"] == 4, f"the same file by another name: {code}\n{said}")
    write_questions(here / "q.jsonl", QUESTIONS["there"])
    code, said = run(here, "--resume", "run/config.toml", *sets(train__steps=5))
    check(code == 0 and f"the prompts are not those of the last start: {here.resolve() / 'q.jsonl'} hold" in said, f"{code}\n{said}")


def what_the_folder_refuses_is_told_before_the_data_are_read(harness):
    """The file of questions is gone, which no message says: settings, folder and checkpoint are enough for all of these."""
    folder, questions = harness.work / "early", harness.work / "early.jsonl"
    write_questions(questions, QUESTIONS["here"])
    words = [*OWN_FILE, *sets(task__file=questions)]
    _, _, err, _ = harness.run("train", harness.tiny, *words, *sets(run__dir=folder, train__steps=2, run__log_level="info"))
    check("2 supervised steps come first" in err, err)
    for again in (["--resume", folder / "config.toml", *sets(train__steps=3)], ["--from", folder, *sets(run__dir=harness.work / "early_branch", train__steps=4)]):
        code, out, err, _ = harness.run("train", *again, *sets(run__log_level="info"))
        check(code == 0 and "supervised steps come first" not in err, f"{again}: {code}\n{out}\n{err}")
    questions.unlink()
    below = questions.with_name("a_file")
    below.write_text("")
    early = [harness.tiny, *words, *sets(train__steps=5)]
    for wrong, says in (([*early, "--resume", *sets(run__dir=folder, train__lr=0.5, sampling__temperature=0.7)], ["train.lr is 0.5", "sampling.temperature is 0.7", "as checkpoint train_000003 records"]),
                        ([*early, "--resume", *sets(run__dir=folder, train__steps=1, train__lr=0.5)], ["mistakes, one a line", "train.lr is 0.5", "has done 3"]),
                        ([*early, *sets(run__dir=below / "run")], [f"cannot create run.dir {below / 'run'}: Not a directory"]),
                        ([*early, *sets(run__dir=folder, environment__name="tool", teacher__model="x")], ["mistakes, one a line", "already holds a run", "environment.name", "teacher.model is set"]),
                        (["--from", folder, *sets(train__steps=5)], ["needs a folder for the branch"]),
                        (["--from", folder, *sets(run__dir=harness.work / "later", train__steps=2)], ["has done 3"])):
        code, out, err, _ = harness.run("train", *wrong)
        check(code == 2 and all(part in err for part in says) and "early.jsonl" not in err, f"{wrong}: {code}, wanted {says}\n{out}\n{err}")


def other_heldout_prompts_are_not_compared(harness):
    """As many others, and fewer: `before` is left out, and `after` is made again where the run has ended."""
    folder, held = harness.work / "heldout", harness.work / "held.jsonl"
    write_questions(harness.work / "q.jsonl", QUESTIONS["here"])
    words = [*OWN_FILE, *sets(run__dir=folder, task__heldout_file=held, eval__before="true", eval__after="true", eval__samples=8)]
    write_questions(held, [f"{a}+50" for a in range(4)])
    harness.succeed("train", harness.tiny, *words, *sets(train__steps=1))
    check("gain" in result(folder), "nothing was compared")
    for steps, count in ((2, 4), (2, 3)):
        write_questions(held, [f"{a}+{60 + count}" for a in range(count)])
        code, out, err, _ = harness.run("train", harness.tiny, "--resume", *words, *sets(train__steps=steps))
        check(code == 0 and "is of other held-out prompts" in err, f"exit code {code}\n{out}\n{err}")
        end = result(folder)
        check("eval_before" not in end and "gain" not in end and end["eval_after"]["prompts"] == count and "rollouts_missing" not in end, str(end))
        check("all checksums" in harness.succeed("archive", "verify", folder), "the archive is not whole")


def links_of_ones_own_are_followed(harness):
    """Folders of large files may lie elsewhere; a link under the name of a file that is written, of another's or into another run, may not."""
    folder, scratch = harness.work / "linked", harness.work / "scratch"
    folder.mkdir()
    for name in ("archive", "checkpoints"):
        (scratch / name).mkdir(parents=True)
        (folder / name).symlink_to(scratch / name)
    (folder / "slurm.log").symlink_to("/dev/null")
    words = [harness.tiny, *SHORT, *sets(run__dir=folder, run__log_level="info")]
    _, _, err, _ = harness.run("train", *words, *sets(train__steps=2))
    harness.succeed("train", "--resume", *words, *sets(train__steps=4), ranks=3)
    check(result(folder)["policy_sha256"] == result(begun(harness))["policy_sha256"] and list((scratch / "archive").glob("*.h5")), "the links were not used")
    check(f"{folder / 'checkpoints'} lies in {scratch.resolve() / 'checkpoints'}" in err, err)

    def refuses(says):
        refused(harness, "--resume", *words, *sets(train__steps=5), says=["is a symbolic link that " + says])

    (folder / "status.json").unlink()
    (folder / "status.json").symlink_to(harness.work / "elsewhere.json")
    refuses("is none of the folders that may lie elsewhere")
    (folder / "status.json").unlink()
    (folder / "shards").rmdir()
    (folder / "shards").symlink_to(begun(harness) / "shards")
    refuses("leads into the run folder")
    if os.geteuid() == 0:
        (folder / "shards").unlink()
        (folder / "shards").symlink_to(scratch)
        os.lchown(folder / "shards", 65534, 65534)
        refuses("belongs to somebody else")


def without_a_checkpoint_it_begins_again(harness):
    """As after a kill before the first one."""
    folder = harness.work / "no_checkpoint"
    folder.mkdir()
    shutil.copy(begun(harness) / "config.toml", folder)
    code, out, err, _ = harness.run("train", "--resume", folder / "config.toml")
    check(code == 0 and "has no checkpoint yet: it begins at step 0" in out + err, f"exit code {code}\n{out}\n{err}")
    check(result(folder)["policy_sha256"] == result(begun(harness))["policy_sha256"], "it began otherwise")


def a_record_without_its_first_line(harness):
    """Somebody took the comments away: it is the record of the folder that it lies in all the same."""
    original = begun(harness)
    before, bare = content(original), copied(harness, "bare")
    text = "".join(line + "\n" for line in (bare / "config.toml").read_text().splitlines() if not line.startswith("#"))
    (bare / "config.toml").write_text(text)
    harness.succeed("train", "--resume", bare / "config.toml", *sets(train__steps=5))
    check(result(bare)["train_steps"] == 5 and content(original) == before, "the run that run.dir names went on")


def a_model_folder_is_no_run_folder(harness):
    model = harness.work / "model_here"
    harness.succeed("export", begun(harness), model)
    before = content(model)
    refused(harness, harness.tiny, *SHORT, *sets(run__dir=f"{model}/", model__path=model, train__steps=2), says=["model.path and run.dir are the same folder"])
    check(content(model) == before, "the model's folder was changed")


def files_of_ones_own_are_kept(harness):
    """Where no run is, files with the names of a run's are somebody's."""
    for name in ("report.html", "metrics.jsonl", "result.json", "archive/notes.txt"):
        folder = harness.work / f"own_{name[:6]}"
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("mine")
        for words in ([], ["--resume", "--start-if-none"]):
            refused(harness, harness.tiny, *words, *SHORT, *sets(run__dir=folder, train__steps=2), says=[f"holds {name.split('/')[0]}, and no run"])
        check((folder / name).read_text() == "mine", f"{name} was written")


main(a_record_without_its_first_line, a_model_folder_is_no_run_folder, files_of_ones_own_are_kept, a_copy_resumes_where_it_lies, an_edited_config_is_noticed, a_resume_needs_a_run, a_new_run_is_checked_however_it_starts, relative_paths_stay_where_they_were, what_the_folder_refuses_is_told_before_the_data_are_read,
     other_heldout_prompts_are_not_compared, links_of_ones_own_are_followed, without_a_checkpoint_it_begins_again)

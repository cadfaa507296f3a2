"""The run folder is the run: a copy resumes as itself, an edited config.toml is noticed, and --resume starts nothing new unless it is asked to."""
import re
import shutil

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
        harness.succeed("train", "--resume", copy / "config.toml", *sets(train__steps=steps), ranks=ranks)
        check(result(copy)["train_steps"] == steps, f"the copy did not go on: {result(copy)['train_steps']} steps")
    check(content(original) == before, "the original was changed")
    moved = harness.work / "elsewhere/moved"
    moved.parent.mkdir()
    copy.rename(moved)
    harness.succeed("train", "--resume", "elsewhere/moved/config.toml", *sets(train__steps=7))
    check(result(moved)["train_steps"] == 7 and not copy.exists(), "a moved run began again where it was")
    refused(harness, moved / "config.toml", says=["already holds a run", str(moved)])


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


def without_a_checkpoint_it_begins_again(harness):
    """As after a kill before the first one."""
    folder = harness.work / "no_checkpoint"
    folder.mkdir()
    shutil.copy(begun(harness) / "config.toml", folder)
    code, out, err, _ = harness.run("train", "--resume", folder / "config.toml")
    check(code == 0 and "has no checkpoint yet: it begins at step 0" in out + err, f"exit code {code}\n{out}\n{err}")
    check(result(folder)["policy_sha256"] == result(begun(harness))["policy_sha256"], "it began otherwise")


main(a_copy_resumes_where_it_lies, an_edited_config_is_noticed, a_resume_needs_a_run, without_a_checkpoint_it_begins_again)

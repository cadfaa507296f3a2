"""Run folders of others: no command waits for a pipe or reads a device without end, no link leads what is written to another's file, and commands that a folder
names are said before they run."""
import concurrent.futures
import os
import shutil

from harness import check, main, sets

SHORT = sets(sft__steps=2, train__steps=4, checkpoint__every=2, archive__pack_every=2, eval__before="false", eval__after="false")
LIMIT_S = 20


def whole(harness):
    folder = harness.work / "whole"
    if not folder.exists():
        harness.train(folder, *SHORT)
    return folder


def copy(harness, name):
    folder = harness.work / name
    shutil.copytree(whole(harness), folder)
    return folder


def commands(folder, harness):
    return (("status", folder), ("archive", "verify", folder), ("view", folder, "--out", f"{folder}.pages"),
            ("train", harness.tiny, *sets(run__dir=folder), *SHORT, "--resume"))


def side_files(folder):
    checkpoint = sorted(folder.glob("checkpoints/*"))[-1]
    packed = sorted(folder.glob("archive/*.h5"))[-1]
    return ["status.json", "result.json", "metrics.jsonl", ".lock", "config.toml", "watch", "archive/manifest.json", str(packed.relative_to(folder)),
            *(str((checkpoint / name).relative_to(folder)) for name in ("manifest.json", "config.json", "model.safetensors", "coordinator.json"))]


def refused_or_done(harness, folder, name, what):
    said = ""
    for words in commands(folder, harness):
        job = harness.start(*words)
        try:
            out, err = job.communicate(timeout=LIMIT_S)
        except Exception as failure:
            job.kill()
            raise AssertionError(f"{name} is {what}: no end of {' '.join(map(str, words[:2]))}") from failure
        check(job.returncode in (0, 2, 3) and "bad_alloc" not in err, f"{name} is {what}: {words[:2]} ends with {job.returncode}\n{out}\n{err}")
        said += out + err
        shutil.rmtree(f"{folder}.pages", ignore_errors=True)
    return said


def side_files_of_another_kind(harness):
    whole(harness)

    def attempt(number, name, what):
        folder = copy(harness, f"odd_{number}")
        (folder / name).unlink(missing_ok=True)
        if what == "a pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to("/dev/zero")
        said = refused_or_done(harness, folder, name, what)
        if name not in (".lock", "watch"):  # of which nothing that counts is read
            check(name.rpartition("/")[2] in said, f"{name} is {what}: nobody names it\n{said}")
        shutil.rmtree(folder)
    odd = [(name, "a pipe") for name in side_files(whole(harness))] + [("archive/manifest.json", "a device")]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:  # they mostly wait
        list(pool.map(attempt, range(len(odd)), *zip(*odd)))


def links_lead_nowhere(harness):
    """What a folder's links point to stays as it is, whether the run goes on or is refused."""
    names = ["metrics.jsonl", ".lock", "config.toml.partial", "archive", "checkpoints", "archive/manifest.json.partial", "archive/train_000005-000006.h5.partial", "eval-train_000004"]
    for number, name in enumerate(names):
        folder, victim = copy(harness, f"link_{number}"), harness.work / f"victim_{number}"
        is_folder = name in ("archive", "checkpoints", "eval-train_000004")
        victim.mkdir() if is_folder else victim.write_text("mine\n")
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(victim)
        if name in ("archive", "checkpoints"):  # one's own link to a folder of one's own is followed
            if os.geteuid() != 0:
                continue
            os.lchown(path, 65534, 65534)
        steps = 4 if name.startswith("eval") else 6  # an evaluation of another checkpoint would have another name
        code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder), *SHORT, *sets(train__steps=steps), "--resume")
        check(code in (0, 2, 3), f"{name}: exit code {code}\n{out}\n{err}")
        if name.startswith("eval"):
            code, _, err, _ = harness.run("eval", f"{folder}@4")
            check(code == 2 and "is a symbolic link" in err, f"eval: exit code {code}\n{err}")
        check(not list(victim.iterdir()) if is_folder else victim.read_text() == "mine\n", f"{name}: what it points to was written\n{out}\n{err}")
        shutil.rmtree(folder)


def a_foreign_command_is_said(harness):
    folder, grader = harness.work / "graded", harness.work / "grade.py"
    grader.write_text("import json, sys\nfor line in sys.stdin:\n    print(json.dumps({'id': json.loads(line)['id'], 'score': 1, 'correct': True}), flush=True)\n")
    harness.train(folder, *SHORT, "--set", f'reward.command=["python3", "{grader}"]', *sets(task__format_weight=0))
    for words, expected in (([], True), (["--set", "reward.command=[]"], False)):
        code, _, err, _ = harness.run("eval", folder, "--out", harness.work / f"eval_{expected}", *words)
        check(code == 0 and ("is about to be run, as you" in err and f'"python3" "{grader}"' in err) == expected, f"exit code {code}\n{err}")


main((side_files_of_another_kind, links_lead_nowhere), a_foreign_command_is_said, at_a_time=2)

"""What the file system refuses, or shows to one rank and not to another, is said, and never taken for an answer."""
import json
import os
import subprocess

from archive_runs import flip, stopped
from harness import check, main, result, sets


def one_message(harness, fragment, *words):
    code, out, err, _ = harness.run(*words)
    check(code in (2, 3) and err.count("rollcall: ") == 1 and fragment in err, f"exit code {code}, or no '{fragment}': {words}\n{out}\n{err}")


def unreadable(path):
    """Even for root: a link to itself."""
    path.unlink()
    path.symlink_to(path.name)


def ranks_that_read_other_files(harness):
    """Relative paths, and every rank in a folder of its own: as with files on a node's own disk. Ranks of a node share its weights; processes that do not see each other are nodes."""
    for seed in (1, 2):
        folder = harness.work / f"rank_{seed - 1}"
        run = harness.work / f"seed_{seed}"
        harness.train(run, *sets(run__seed=seed, sft__steps=1, train__steps=0, eval__before="false", eval__after="false"))
        harness.succeed("export", run, folder / "model")
        questions = [json.dumps({"question": f"{n} + {seed}?", "answer": f"#### {n + seed}"}) for n in range(100)]
        (folder / "questions.jsonl").write_text("\n".join(questions) + "\n")
    script = f'cd {harness.work}/rank_${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} && exec unshare --pid --fork --kill-child "$0" "$@"'
    asked = harness.source / "tests/app/gsm8k.toml"
    for words, what in (
        ((harness.tiny, *sets(model__path="model")), "initial weights differ"),
        ((asked, *sets(task__file="questions.jsonl", train__steps=1)), "text files differ"),
    ):
        command = [*harness.launcher, "2", "sh", "-c", script, harness.binary, "train", *map(str, words), *sets(run__dir=harness.work / what.replace(" ", "_"))]
        ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                               env={**os.environ, "OMPI_MCA_btl": "self,tcp"})  # not by shared memory, which Open MPI expects where hosts have one name
        told = [line for line in ended.stderr.splitlines() if line.startswith("rollcall: ")]
        check(ended.returncode != 0 and len(told) == 1 and what in ended.stderr, f"{ended.returncode}\n{ended.stdout}\n{ended.stderr}")


def a_checkpoint_that_cannot_be_read(harness):
    """It may be the newest for all that is known."""
    run = stopped(harness, "unreadable", 100)
    manifest = run / "checkpoints/train_000004/manifest.json"
    kept = manifest.read_bytes()
    unreadable(manifest)
    for words in (("archive", "pack", run), ("generate", run, "21"), ("generate", f"{run}@4", "21")):
        one_message(harness, "train_000004/manifest.json", *words)
    code, out, err, _ = harness.run("archive", "verify", run)
    check(code == 3 and "train_000004/manifest.json" in out and "check the disk" in out + err, f"{code}\n{out}\n{err}")
    harness.succeed("generate", f"{run}@2", "21")
    check(len(list((run / "shards").iterdir())) > 0, "something was packed")
    manifest.unlink()
    manifest.write_bytes(kept)
    harness.train(run, "--resume", *sets(train__steps=6, checkpoint__every=2, archive__pack_every=100, checkpoint__keep_last=4))


def a_damaged_checkpoint(harness):
    run = stopped(harness, "damaged", 100)
    manifest = run / "checkpoints/train_000004/manifest.json"
    flip(manifest, 40)
    one_message(harness, "train_000004/manifest.json", "generate", f"{run}@4", "21")
    manifest.unlink()
    for name in ("4", "train_000004"):
        one_message(harness, "train_000004", "generate", f"{run}@{name}", "21")
    for name in ("", "..", ".", "../checkpoints/train_000002"):
        one_message(harness, "has no checkpoint", "generate", f"{run}@{name}", "21")
    out = harness.succeed("archive", "pack", run)
    check("skipped a checkpoint: " in out and "train_000004" in out and "train_000001-000002" in out, out)


def a_reader_of_standard_output(harness):
    with open("/dev/full", "w") as full:
        for words in (("recipes",), ("generate", stopped(harness, "asked"), "21"), ("plan", harness.tiny)):
            job = harness.start(*words, stdout=full, stdin=subprocess.DEVNULL)
            err = job.communicate(timeout=60)[1]
            check(job.returncode == 3 and err.count("rollcall: ") == 1 and "standard output" in err, f"{words}: exit code {job.returncode}\n{err}")
    reader, writer = os.pipe()
    os.close(reader)
    job = harness.start("recipes", stdout=writer, stdin=subprocess.DEVNULL)
    os.close(writer)
    err = job.communicate(timeout=60)[1]
    check(job.returncode == 0 and not err, f"nobody reads any more: exit code {job.returncode}\n{err}")


def standard_input_that_cannot_be_read(harness):
    folder = os.open(harness.work, os.O_RDONLY)
    for words in (("schedule", "uniform"), ("generate", stopped(harness, "told"), "-")):
        job = harness.start(*words, stdin=folder)
        out, err = job.communicate(timeout=60)
        check(job.returncode == 2 and err.count("rollcall: ") == 1 and "standard input" in err, f"{words}: exit code {job.returncode}\n{out}{err}")
    os.close(folder)


def status_after_a_power_cut(harness):
    run = stopped(harness, "power_cut")
    (run / "status.json").write_text("")
    out = harness.succeed("status", run)
    check("state       unknown" in out and "train_000004" in out and "--resume" in out, out)
    harness.train(run, "--resume", *sets(train__steps=6, checkpoint__every=2, archive__pack_every=4, checkpoint__keep_last=4))
    check(json.loads((run / "status.json").read_text())["phase"] == "done" and result(run)["train_steps"] == 6, "the next start did not replace it")


main(ranks_that_read_other_files, a_checkpoint_that_cannot_be_read, a_damaged_checkpoint, a_reader_of_standard_output, standard_input_that_cannot_be_read,
     status_after_a_power_cut)

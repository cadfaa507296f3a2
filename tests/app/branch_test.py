"""A run branches off another, and what differs is recorded; runs are compared, and reported whatever became of them."""
import json
import re
import shutil

from harness import check, main, metrics, result, sets

STEPS = 5
SHORT = sets(sft__steps=3, train__steps=STEPS, eval__before="false", eval__samples=4, eval__pass_k=2, checkpoint__every=2, checkpoint__keep_last=9,
             train__min_lr_ratio=1, archive__pack_every=4)
REPLAY = sets(replay__share=0.5, replay__max_staleness=8)


def parent(harness):
    """Its last evaluation is of step 5, and its steps 1 to 4 are in one archive file."""
    folder = harness.work / "parent"
    if not folder.exists():
        harness.ranks(1).train(folder, *SHORT, *REPLAY)
    return folder


def branch(harness, name, *settings, step=2, ranks=1, code=0):
    folder = harness.work / name
    got, out, err, _ = harness.run("train", "--from", f"{parent(harness)}@{step}", *sets(run__dir=folder, run__log_level="info"), *settings, ranks=ranks)
    check(got == code, f"{name}: exit code {got}, not {code}\n{out}\n{err}")
    return folder, out + err


def rollouts_of(folder):
    """In its archive, without greedy ones."""
    return sum(entry["rollouts"] for entry in json.loads((folder / "archive/manifest.json").read_text())["files"] if entry["purpose"] != "greedy")


def it_goes_on_bit_for_bit(harness):
    """Weights, moments, scheduler and replay: with no setting changed a branch ends as its parent did, also when it is resumed."""
    before = {path: path.read_bytes() for path in parent(harness).rglob("*") if path.is_file()}
    for ranks, first in ((1, STEPS), (3, STEPS - 1)):
        folder, told = branch(harness, f"same_{ranks}", *sets(train__steps=first), ranks=ranks)
        check("branching from train_000002" in told and "eval before" not in told, told)
        if first < STEPS:
            harness.ranks(1).train(folder, "--resume", *SHORT, *REPLAY)
        check(result(folder)["policy_sha256"] == result(parent(harness))["policy_sha256"], f"other weights on {ranks} ranks")
        steps = sorted(path.name for path in (folder / "archive").glob("train_*.h5"))
        check(steps[0].startswith("train_000003-") and len(metrics(folder)) == STEPS, f"{steps}, {len(metrics(folder))} rows")
        kept = rollouts_of(folder)
        check("rollouts_missing" not in result(folder) and result(folder)["rollouts_total"] == kept, f"{kept} rollouts of its own: {result(folder)}")
        check("eval_before" not in result(folder) and "eval_after" in result(folder), "an evaluation too many, or too few")
    check({path: path.read_bytes() for path in before} == before, "the parent was changed")


def what_differs_is_named(harness):
    """By the branch, by its archive, by status; a scheduler with other pieces begins afresh."""
    folder, told = branch(harness, "changed", *sets(train__lr=0.002, scheduler__policy="gdro_both", replay__share=0, objective__recipe="dapo"))
    check("train.lr is 0.002 from here on; it was 0.001" in told and "the scheduler starts afresh" in told, told)
    said = json.loads((folder / "parent.json").read_text())
    check(said["run"] == str(parent(harness)) and said["checkpoint"] == "train_000002" and said["train_steps"] == 2, f"{said}")
    check(said["changed"]["train.lr"] == ["0.001", "0.002"] and said["changed"]["objective.recipe"][1] == '"dapo"' and "sft.steps" not in said["changed"], f"{said}")
    check(result(folder)["parent"] == said, "result.json says otherwise")
    archives = list((folder / "archive").glob("*.h5"))
    check(archives and all(b'"checkpoint":"train_000002"' in path.read_bytes() for path in archives), "an archive file does not name the parent")
    check(f"branched    from train_000002 of {parent(harness)}" in harness.succeed("status", folder), "status does not name the parent")
    check(not (folder / "parent").exists(), "files that nothing reads were kept")


def wrong_branches_are_refused(harness):
    run, new = parent(harness), harness.work / "new"
    edited = harness.work / "edited"
    shutil.copytree(run, edited)
    text = (edited / "config.toml").read_text()
    (edited / "config.toml").write_text(re.sub(r"(?m)^seed = 1\b", "seed = 4", text))
    there = sets(run__dir=new)
    for words, says in ((["--from", run], "needs a folder for the branch"),
                        (["--from", f"{run}@3", *there], "train_000004"),  # one that there is
                        (["--from", f"{run}@4", *sets(run__dir=edited)], "already holds a run"),
                        (["--from", f"{run}@3", *there], "(done_000005 is of the same step as train_000005, after the last evaluation)"),
                        (["--from", harness.work, *there], "names no run"),
                        (["--from", f"{run}@4", *there, *sets(train__steps=4)], "train_000004 has done 4"),
                        (["--from", f"{run}/checkpoints/train_000004/", *there, *sets(train__steps=4)], "train_000004 has done 4"),
                        (["--from", f"{run}@4", *there, *sets(sft__steps=9)], "without a warm start"),
                        (["--from", f"{run}@4", *there, *sets(model__hidden_size=64)], "model.hidden_size is 64"),
                        (["--from", f"{edited}@4", *there], "run.seed = 4 for 1"),
                        (["--from", run, harness.tiny, *there], "excludes"),
                        (["--from", run, "--resume", *there], "excludes")):
        code, out, err, _ = harness.run("train", *words)
        check(code == 2 and err.count("rollcall: ") == 1 and says in err, f"{words}: exit code {code}, wanted {says!r}\n{out}\n{err}")
    check(not new.exists(), "a refusal left a folder behind")


def what_only_looks_may_change(harness):
    """And every third checkpoint stays for good."""
    folder = harness.work / "looks"
    kept = sets(checkpoint__keep_every=3, checkpoint__keep_last=1, checkpoint__keep_best='""')
    harness.ranks(1).train(folder, *SHORT, *sets(train__steps=3), *kept)
    seen = [*sets(train__steps=7, eval__samples=8, eval__every=2, eval__validation_samples=3, eval__pass_k=3, eval__before="true", run__watch_s=0, run__log_level="info")]
    code, out, err, _ = harness.run("train", harness.tiny, "--resume", *SHORT, *kept, *seen, *sets(run__dir=folder))
    check(code == 0 and "eval.samples is 8 from here on; it was 4" in err, f"exit code {code}\n{out}\n{err}")
    check(any(row["phase"] == "validation" for row in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())), "nothing was validated")
    names = {path.name for path in (folder / "checkpoints").glob("train_*")}
    check({"train_000003", "train_000006"} <= names and "train_000002" not in names, f"kept: {names}")
    for steps, every in ((9, 0), (13, 4)):  # what was kept for good stays, whatever is kept from here on
        harness.ranks(1).train(folder, "--resume", *SHORT, *kept, *sets(train__steps=steps, checkpoint__keep_every=every, eval__before="true"))
        names = {path.name for path in (folder / "checkpoints").glob("train_*")}
        check({"train_000003", "train_000006"} <= names and ("train_000012" in names) == (every == 4), f"kept: {names}")


def an_unfinished_branch_begins_again(harness):
    """A crash before config.toml is written leaves what the same command replaces, and what a run of its own removes."""
    whole, _ = branch(harness, "whole")
    for name in ("again", "plain"):
        left = harness.work / name
        (left / "checkpoints").mkdir(parents=True)
        for part in ("parent", "checkpoints/train_000002"):
            shutil.copytree(parent(harness) / part if part.startswith("check") else whole / part, left / part)
        for part in ("parent.json", "metrics.jsonl"):
            shutil.copy(whole / part, left)
    again, told = branch(harness, "again")
    check("what a branch left that did not begin" in told and result(again)["policy_sha256"] == result(whole)["policy_sha256"], told)
    plain = harness.work / "plain"
    harness.succeed("train", harness.tiny, *SHORT, *sets(run__dir=plain, train__steps=1))
    check("parent" not in result(plain) and not (plain / "parent.json").exists() and len(metrics(plain)) == 1, f"leftovers of the branch: {result(plain)}")


def an_end_is_measured_with_more_samples(harness):
    """The archive holds the new evaluation in place of the old one, beside the one before training, and every rollout counts once."""
    for ranks in (1, 3):
        folder = harness.work / f"measured_{ranks}"
        harness.ranks(1).train(folder, *SHORT, *sets(train__steps=2, eval__before="true"))
        before = result(folder)
        words = ["train", harness.tiny, "--resume", *SHORT, *sets(run__dir=folder, train__steps=2, eval__before="true", eval__samples=16, eval__pass_k=16)]
        harness.succeed(*words, ranks=ranks)
        end = result(folder)
        check(end["eval_after"]["samples"] == 8 * 16 and end["rollouts_total"] == before["rollouts_total"] + 8 * 12, f"{end}")
        for _ in range(2):
            check("rollouts_missing" not in result(folder) and rollouts_of(folder) == result(folder)["rollouts_total"], f"{result(folder)}")
            check("all checksums" in harness.succeed("archive", "verify", folder), "the archive is not whole")
            harness.succeed(*words)
        check(result(folder)["archive_sha256"] == end["archive_sha256"], "the next start changed the archive")


def a_changed_grader_is_told(harness):
    folder, grader, table = harness.work / "graded", harness.work / "grade.py", harness.work / "table.txt"
    grader.write_text('import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    print(json.dumps({"id": asked["id"], "score": 1.0, "correct": True}), flush=True)\n')
    table.write_text("1\n")
    words = ("train", harness.tiny, *SHORT, *sets(run__dir=folder, task__format_weight=0, reward__command=json.dumps(["python3", str(grader), str(table)])))
    harness.succeed(*words, *sets(train__steps=1))
    archive = b"".join(path.read_bytes() for path in (folder / "archive").glob("*.h5"))
    check(str(table).encode() in archive and b"xxh3_64" in archive, "the archive does not record the grader's files")
    for steps, changes in ((2, ""), (3, f"{table} has changed")):
        if changes:
            table.write_text("2\n")
        code, out, err, _ = harness.run(*words, "--resume", *sets(train__steps=steps))
        check(code == 0 and ("the grader is not what it was" in err) == bool(changes) and changes in err, f"exit code {code}\n{out}\n{err}")


def two_runs_are_compared(harness):
    other, _ = branch(harness, "compared", *sets(train__lr=0.05, replay__share=0))
    out = harness.succeed("compare", parent(harness), other)
    gain = re.search(r"pass@1 +([\d.]+) +([\d.]+) +([+-][\d.]+)  \[([+-][\d.]+), ([+-][\d.]+)\]", out)
    check(gain, out)
    a, b, difference, low, high = map(float, gain.groups())
    check(abs(a - result(parent(harness))["eval_after"]["pass_at_1"]) < 1e-4 and abs(b - result(other)["eval_after"]["pass_at_1"]) < 1e-4, out)
    check(abs(b - a - difference) < 2e-4 and low <= difference <= high, out)
    check(("no difference shown" in out.split("pass@1")[1].splitlines()[0]) == (low <= 0 <= high), out)
    check("8 prompts that both answered" in out and re.search(r"train.lr +0.001 -> 0.05", out) and re.search(r"training steps +5 +5", out), out)
    same = harness.succeed("compare", other, other)
    check("+0.0000  [+0.0000, +0.0000]  no difference shown" in same and "A and B are the same run" in same, same)
    copied = harness.work / "copied"
    shutil.copytree(other, copied)
    check("no key differs but run.dir" in harness.succeed("compare", other, copied), "a copy is another folder")
    check("the judges" not in out + same and "too few" not in out + same, out + same)
    few, judged = harness.work / "few", harness.work / "judged"
    for folder, settings in ((few, sets(task__heldout_prompts=5)), (judged, sets(task__extract="final_line"))):
        harness.train(folder, *SHORT, *REPLAY, *settings)
    out = harness.succeed("compare", parent(harness), few)
    check(re.search(r"\b[1-5] prompts? that both answered", out) and "too few for an interval" in out and "[" not in out.split("pass@1")[1].splitlines()[0] and "interval\n" not in out.split("pass@1")[0], out)
    out = harness.succeed("compare", parent(harness), judged)
    check("the judges of A and B differ (task.extract)" in out and "too few" not in out, out)
    code, _, err, _ = harness.run("compare", other, harness.work)
    check(code == 2 and "is not a run folder" in err, err)


def both_folders_are_looked_at_first(harness):
    """Of the first one no rollout is read, which its damaged archive would refuse."""
    damaged, none = harness.work / "damaged", harness.work / "none"
    shutil.copytree(parent(harness), damaged)
    for file in damaged.glob("archive/*.h5"):
        file.write_bytes(file.read_bytes()[:100])
    for words, fragment in ((("compare", damaged, none), f"{none} is not a run folder"), (("view", damaged, none, "--out", harness.work / "pages"), f"{none} does not exist"),
                            (("view", damaged, "--out", parent(harness)), "was not written by rollcall view")):
        code, _, err, _ = harness.run(*words)
        check(code == 2 and fragment in err and err.count("\n") == 1, f"{words}: {code} {err}")


def a_report_of_any_run(harness):
    """Of a run that is done, one whose process died, one without a checkpoint; nothing of it is lost to the page."""
    dead = harness.work / "dead"
    shutil.copytree(parent(harness), dead)
    for name in ("result.json", "report.html", "checkpoints/train_000005", "checkpoints/done_000005"):
        shutil.rmtree(dead / name) if (dead / name).is_dir() else (dead / name).unlink()
    (dead / "status.json").write_text(json.dumps({"phase": "train"}))
    (dead / "failure").write_text("rank 1: the <cause>")
    said = harness.succeed("report", dead)
    page = (dead / "report.html").read_text()
    check("(failed (its last phase was train); 4 of 5 steps" in said, said)
    check("\nstate       failed (its last phase was train), " in harness.succeed("status", dead), harness.succeed("status", dead))
    for words in (str(dead), "failed (its last phase was train)", "rank 1: the &lt;cause&gt;", "sorting, made", "new: 1 layers of 32", "train.lr", "Mean response length", "cut at the token limit"):
        check(words in page, f"the page lacks {words!r}")
    check("run.watch_s" not in page, "a default is shown")
    (dead / "failure").unlink()
    check("(train, but no process holds the folder; 4 of 5 steps" in harness.succeed("report", dead), "a run that was killed")
    check("\nstate       train, but no process holds the folder, " in harness.succeed("status", dead), harness.succeed("status", dead))
    shutil.rmtree(dead / "checkpoints")
    harness.succeed("report", dead, "--out", harness.work / "page.html")
    check("0 of 5" in (harness.work / "page.html").read_text(), "a run without a checkpoint")
    end = result(parent(harness))
    for _ in range(2):  # as the run wrote it, and made again from its folder
        page = (parent(harness) / "report.html").read_text()
        for words in (end["policy_sha256"], f"{end['parameters']}", end["layout"], end["version"]):
            check(words in page, f"a finished run's page lacks {words!r}")
        harness.succeed("report", parent(harness))


main(it_goes_on_bit_for_bit, what_differs_is_named, wrong_branches_are_refused, an_unfinished_branch_begins_again, what_only_looks_may_change,
     an_end_is_measured_with_more_samples, a_changed_grader_is_told, two_runs_are_compared, both_folders_are_looked_at_first,
     a_report_of_any_run)

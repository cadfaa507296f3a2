"""Training from an archive alone: with the settings of the run that wrote it the same bits come out, on any ranks and after a stop; other tokenizers are refused."""
import json
import shutil

from archive_runs import stopped
from harness import check, main, metrics, result, sets

STEPS = 6
SETTINGS = sets(train__steps=STEPS, eval__before="false", eval__after="false", checkpoint__every=2, archive__pack_every=4, train__min_lr_ratio=1)


def written(harness):
    folder = harness.work / "written"
    if not folder.exists():
        harness.train(folder, *SETTINGS)
    return folder


def offline(harness, name, *words, source=None, **options):
    harness.train(harness.work / name, *SETTINGS, "--from-archive", source or written(harness), *words, **options)
    return harness.work / name


def same_bits_as_the_run_that_wrote_it(harness):
    """Same start, same rollouts, same updates: nothing but the sampling is left out."""
    reference = written(harness)
    for ranks in (1, 3):
        folder = offline(harness, f"offline_{ranks}", ranks=ranks)
        check(result(folder)["policy_sha256"] == result(reference)["policy_sha256"], f"other weights than the run that sampled, on {ranks} ranks")
        check(result(folder)["rollouts_total"] == 0 and not list(folder.glob("archive/train*")), "something was sampled or archived for training")
    sampled, stored = metrics(reference), metrics(harness.work / "offline_1")
    for key in ("train/pass_rate", "response_length/mean", "critic/score/mean", "actor/grad_norm"):
        check([row[key] for row in sampled] == [row[key] for row in stored], f"{key} differs")
    check(all(row["train/rollouts_generated"] == 0 and row["timing_s/generation"] == 0 for row in stored), "rollouts count as generated")


def other_settings_are_what_it_is_for(harness):
    other = offline(harness, "other_recipe", *sets(objective__recipe="dr_grpo", train__lr=5e-4))
    check(result(other)["policy_sha256"] != result(written(harness))["policy_sha256"], "another recipe gives the same weights")
    greedy = harness.run("train", harness.tiny, *SETTINGS, *sets(run__dir=harness.work / "x", objective__recipe="remax"), "--from-archive", written(harness))
    check(greedy[0] == 2 and "holds none" in greedy[2], greedy[2])


def a_stop_changes_nothing(harness):
    folder = offline(harness, "halves", *sets(train__steps=3))
    harness.train(folder, *SETTINGS, "--from-archive", written(harness), "--resume")
    check(result(folder)["policy_sha256"] == result(written(harness))["policy_sha256"], "two halves are not the whole")


def a_source_that_changes_meanwhile_is_refused(harness):
    source = harness.work / "source"
    harness.copy(written(harness), source)
    folder = offline(harness, "begun", *sets(train__steps=3), source=source)
    manifest = source / "archive/manifest.json"
    kept = manifest.read_text()
    harness.train(source, *SETTINGS, *sets(train__steps=STEPS + 1), "--resume")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    code, out, err, _ = harness.run("train", harness.tiny, *SETTINGS, *sets(run__dir=folder), "--from-archive", source, "--resume")
    check(code == 2 and "are not those this run began with" in err, f"{code}\n{out}\n{err}")
    check(all(path.read_bytes() == content for path, content in before.items()), "a refusal changed the run")
    manifest.write_text(kept)
    offline(harness, "begun", "--resume", source=source)
    check(result(folder)["policy_sha256"] == result(written(harness))["policy_sha256"], "the rest is not what it would have been")


def one_file_again_and_again(harness):
    """The first file holds steps 1 to 4; steps 5 and 6 are its first two again."""
    entries = json.loads((written(harness) / "archive/manifest.json").read_text())["files"]
    first = next(e for e in entries if e["purpose"] == "train")
    check((first["first_step"], first["last_step"]) == (1, 4), str(first))
    rows = metrics(offline(harness, "one_file", source=written(harness) / first["file"]["path"]))
    scores = [row["critic/score/mean"] for row in rows]
    check(scores[4:] == scores[:2] and len(set(scores)) > 2, f"{scores}")


def steps_without_a_checkpoint_are_left_out(harness):
    """Of the steps behind the last checkpoint a crash may have left a part: the shards are those of 1 to 4, or more, and the checkpoint at 4 goes."""
    source = stopped(harness, "crashed", 100)
    shards = {int(path.name.split("-")[1]) for path in (source / "shards").glob("train-*")}
    check(shards >= {1, 2, 3, 4}, f"shards of {shards}")

    def train(folder, steps, *words):
        return harness.run("train", harness.tiny, *SETTINGS, *sets(run__dir=harness.work / folder, train__steps=steps), "--from-archive", source, *words)

    def scores(folder):
        return [(row["critic/score/mean"], row["response_length/mean"]) for row in metrics(harness.work / folder)]

    check(train("of_four", 4)[0] == 0 and len(set(scores("of_four"))) == 4, f"{scores('of_four')}")
    shutil.rmtree(source / "checkpoints/train_000004")
    code, out, err, _ = train("of_four", 5, "--resume")
    check(code == 2 and "not those this run began with" in err, f"other steps would be trained on: {code}\n{out}\n{err}")
    code, out, err, _ = train("of_two", 4)
    check(code == 0 and "are left out" in err and scores("of_two") == scores("of_four")[:2] * 2, f"two steps again and again: {scores('of_two')}\n{err}")


def foreign_archives_are_refused(harness):
    byte = harness.work / "byte"
    harness.train(byte, *SETTINGS, *sets(text__tokenizer="byte", train__steps=2))
    for source, words, fragment in (
        (written(harness), sets(text__tokenizer="byte"), "tokenizer"),
        (byte, [], "the tokenizer \"character\""),
        (written(harness), sets(replay__share=0.5), "replay.share is 0.5"),
        (harness.work / "none", [], "does not exist"),
        (harness.tiny, [], "is not an HDF5 file"),
    ):
        code, out, err, _ = harness.run("train", harness.tiny, *SETTINGS, *sets(run__dir=harness.work / "new"), *words, "--from-archive", source)
        check(code == 2 and fragment in err and err.count("rollcall: ") == 1, f"{code}\n{out}\n{err}")
        check(not (harness.work / "new").exists(), "a refused run left a folder")


main(same_bits_as_the_run_that_wrote_it, other_settings_are_what_it_is_for, a_stop_changes_nothing, a_source_that_changes_meanwhile_is_refused, one_file_again_and_again, steps_without_a_checkpoint_are_left_out, foreign_archives_are_refused)

"""`rollcall archive`, the verbs that check and mend: damage is named, set aside and explained, and a resumed run ends as if nothing had happened."""
import json
import re
import shutil

from archive_runs import SETTINGS, archive, flip, packed, stopped, whole
from harness import check, main, result, sets


def verify_names_file_and_column(harness):
    run = harness.work / "damaged"
    shutil.copytree(whole(harness), run)
    check("all checksums and structures are correct" in archive(harness, "verify", run), "the run is whole")
    victim = packed(run)[0]
    tokens = [json.loads(line) for line in archive(harness, "export", run, "--purpose", "train", "--tokens").splitlines()][0]["turns"][0]["tokens"]
    at = victim.read_bytes().find(b"".join(t.to_bytes(4, "little") for t in tokens))
    flip(victim, at)
    out = archive(harness, "verify", run, code=3)
    check(f"archive/{victim.name}: its checksum is" in out and f"archive/{victim.name}: tokens/id has checksum" in out, out)
    check(sum(line.startswith("archive/") for line in out.splitlines()) == 2, f"another file is accused:\n{out}")
    repaired = archive(harness, "repair", run)
    check(f"lost       archive/{victim.name}: " in repaired and "put a copy of the file in its place" in repaired, repaired)
    check((run / "set_aside/0" / victim.name).exists() and (run / "set_aside/0/manifest.json").exists(), "set aside, not deleted")
    check("all checksums" in archive(harness, "verify", run), "what is left is whole")


def repair_then_resume_is_the_undisturbed_run(harness):
    """A damaged shard behind the last checkpoint costs nothing; one that the newest checkpoint goes on with costs the steps since the one before. Neither costs a bit."""
    shard = "shards/train-{:06}-00-0000-scored.h5".format
    for name, path, resumes_from, aside in (("late", shard(5), "train_000004", shard(5)), ("needed", shard(3), "train_000002", "checkpoints/train_000004"),
                                           ("decided", "shards/train-000003-00-0000-training.h5", "train_000002", "checkpoints/train_000004")):
        run = stopped(harness, name)
        victim = run / path
        flip(victim, victim.stat().st_size // 2)
        check(f"{path}: " in archive(harness, "verify", run, code=3), "the damaged file is named")
        out = archive(harness, "repair", run)
        check(f"set aside  {path}: " in out and f"set aside  {aside}" in out and "lost" not in out, out)
        check("again      a resume draws train step" in out and f"resume     from checkpoint {resumes_from}, " in out, out)
        check((run / "set_aside/0" / victim.name).exists(), "set aside, not deleted")
        check("all checksums" in archive(harness, "verify", run), "what is left is whole")
        harness.train(run, "--resume", *SETTINGS)
        for key in ("policy_sha256", "archive_sha256"):
            check(result(run)[key] == result(whole(harness))[key], f"{name}: {key} differs after repair and resume")
        check("the same content" in archive(harness, "diff", run, whole(harness)), "diff sees a difference")
    check("nothing is damaged" in archive(harness, "repair", run), "a whole run needs no repair")


def a_lost_file_costs_its_rollouts_and_nothing_else(harness):
    run = stopped(harness, "holed", 2)
    victim = packed(run)[0]
    check(victim.name == "train_000001-000002.h5", victim.name)
    copy = victim.read_bytes()
    flip(victim, victim.stat().st_size // 2)
    check("lost       archive/train_000001-000002.h5: 16 groups, 64 rollouts of train steps 1 to 2" in archive(harness, "repair", run), "what is lost")
    harness.train(run, "--resume", *SETTINGS)
    check(result(run)["policy_sha256"] == result(whole(harness))["policy_sha256"], "other weights")
    check("0 groups differ, 0 are only in A, 16 only in B" in archive(harness, "diff", run, whole(harness), code=3), "other rollouts than the lost ones are missing")
    victim.write_bytes(copy)
    check("readmitted archive/train_000001-000002.h5: " in archive(harness, "repair", run), "the copy is not taken in")
    check("the same content" in archive(harness, "diff", run, whole(harness)), "the copy brings back what was lost")
    check("nothing is damaged" in archive(harness, "repair", run), "the second repair finds something")
    other = harness.work / "other"
    harness.train(other, *SETTINGS, *sets(run__seed=2, archive__pack_every=2))
    manifest = json.loads((run / "archive/manifest.json").read_text())
    check(victim.name in {packed_file.name for packed_file in packed(other)}, "the other run has no such file")
    for name, content, said in (("damaged", re.sub(rb"[0-9a-f]{64}", b"0" * 64, copy, count=1), "differ from those of the file that was withdrawn"),
                                ("foreign", (other / "archive" / victim.name).read_bytes(), "differ from those of the file that was withdrawn")):
        victim.write_bytes(content)
        archive(harness, "repair", run)  # withdraws it
        check(not victim.exists(), f"the {name} file is still there")
        victim.write_bytes(content)
        out = archive(harness, "repair", run)
        check(said in out and not victim.exists(), f"{name}:\n{out}")
    check(len(json.loads((run / "archive/manifest.json").read_text())["files"]) == len(manifest["files"]) - 1, "the manifest is not what it should be")
    stranger = run / "archive/train_000001-000002-copy.h5"
    stranger.write_bytes((other / "archive" / victim.name).read_bytes())
    check("it belongs to another run" in archive(harness, "repair", run) and not stranger.exists(), "another run's file is taken in")


def a_damaged_checkpoint_is_set_aside(harness):
    for name, path in (("manifest", "manifest.json"), ("weights", "model.safetensors")):
        run = stopped(harness, f"checkpoint_{name}")
        flip(run / "checkpoints/train_000004" / path, 40)
        check(harness.run("archive", "verify", run)[0] == 3, f"{path} damaged and verified")
        out = archive(harness, "repair", run)
        check("set aside  checkpoints/train_000004: " in out and "resume     from checkpoint train_000002, " in out, out)
        check("all checksums" in archive(harness, "verify", run), "what is left is whole")
        harness.train(run, "--resume", *SETTINGS)
        check(result(run)["policy_sha256"] == result(whole(harness))["policy_sha256"], "other weights")


def an_older_manifest_costs_nothing(harness):
    """As it comes from a backup: the files it does not name yet are taken in, and the last checkpoint, whose shards they hold, stays."""
    run = harness.work / "older"
    shutil.copytree(whole(harness), run)
    done = stopped(harness, "before", 2)
    shutil.rmtree(run / "archive")
    shutil.copytree(done / "archive", run / "archive")
    for path in (whole(harness) / "archive").glob("train_000005*"):
        shutil.copy(path, run / "archive")
    out = archive(harness, "repair", run)
    check("readmitted archive/train_000005-000006.h5" in out, out)


def the_only_checkpoint_is_kept(harness):
    """With nothing to fall back to, a run that has lost a step is more than none."""
    run = stopped(harness, "only")
    for checkpoint in (run / "checkpoints").iterdir():
        if checkpoint.name != "train_000004":
            shutil.rmtree(checkpoint)
    victim = run / "shards/train-000003-00-0000-scored.h5"
    flip(victim, victim.stat().st_size // 2)
    out = archive(harness, "repair", run)
    check("lost       train step 3: " in out and "resume     from checkpoint train_000004, 4 " in out and "set aside  checkpoints" not in out, out)
    check(re.search(r"again      a resume draws train steps? 5( to \d)? again", out) and (run / "set_aside/0/coordinator.json").exists(), out)
    check("nothing is damaged" in archive(harness, "repair", run), "the second repair finds something")
    harness.train(run, "--resume", *SETTINGS)
    check(result(run)["policy_sha256"] == result(whole(harness))["policy_sha256"], "other weights")
    check("0 groups differ, 0 are only in A, 8 only in B" in archive(harness, "diff", run, whole(harness), code=3), "other rollouts than the lost ones are missing")


def a_checkpoint_that_stepped_aside_comes_back(harness):
    """As a crash leaves it where the file system cannot exchange two names."""
    for verb, said in (("repair", "from checkpoint train_000004"), ("pack", "train_000001-000004.h5")):
        run = stopped(harness, f"aside_{verb}")
        (run / "checkpoints/train_000004").rename(run / "checkpoints/.replaced-train_000004")
        check(said in archive(harness, verb, run), f"{verb} did not see it")


def a_lost_manifest_is_written_anew(harness):
    run = harness.work / "unlisted"
    shutil.copytree(whole(harness), run)
    manifest = run / "archive/manifest.json"
    for spoil in (lambda: manifest.write_text(manifest.read_text().replace("128", "129", 1)), manifest.unlink):
        spoil()
        check(harness.run("archive", "verify", run)[0] == 3, "a manifest that is not the run's passes")
        out = archive(harness, "repair", run)
        check("rebuilt    archive/manifest.json from 4 archive files" in out and "lost " not in out, out)
        check("all checksums" in archive(harness, "verify", run) and "the same content" in archive(harness, "diff", run, whole(harness)), "another content")


def pack_offline_is_what_the_run_does(harness):
    run = stopped(harness, "unpacked")
    shutil.copytree(run / "shards", harness.work / "shards")
    out = archive(harness, "pack", run)
    check("archive/train_000001-000004.h5" in out and packed(run), out)
    replaced = json.loads((run / "archive/manifest.json").read_text())["replaced"]
    for left in replaced:  # as a pack leaves them that cannot remove them
        shutil.copy(harness.work / left["path"], run / "shards")
    out = archive(harness, "pack", run)
    check(f"removed {len(replaced)} files" in out and not any((run / left["path"]).exists() for left in replaced), f"an interrupted pack is not ended:\n{out}")
    harness.train(run, "--resume", *SETTINGS)
    check(result(run)["archive_sha256"] == result(whole(harness))["archive_sha256"], f"other content after packing offline:\n{out}")
    early = harness.work / "early"
    harness.train(early, *SETTINGS, *sets(archive__pack_every=100, train__steps=4, eval__after="false"))
    check("nothing to pack" in archive(harness, "pack", early), "a run that ended in order has packed")


main(verify_names_file_and_column, repair_then_resume_is_the_undisturbed_run, a_lost_file_costs_its_rollouts_and_nothing_else,
     a_damaged_checkpoint_is_set_aside, an_older_manifest_costs_nothing, the_only_checkpoint_is_kept, a_checkpoint_that_stepped_aside_comes_back, a_lost_manifest_is_written_anew, pack_offline_is_what_the_run_does)

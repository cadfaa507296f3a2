"""On a file system that shows a node late what another has made, a run waits a little and ends with the same bits, resumed or not."""
import os
import time

from harness import check, main, result, sets

# A frozen reference is written once: every later checkpoint links it from the one before. A constant rate: two halves are the whole.
SETTINGS = sets(train__steps=3, sft__steps=5, eval__before="false", archive__pack_every=2, checkpoint__every=1, train__min_lr_ratio=1,
                objective__pieces__regularizer="kl", objective__knobs__kl_coef=0.5)
LATE_S = 0.3


def same_end(harness, folder, *arguments, ranks):
    """Goes to the end of `folder` while names show late, and ends as one rank did that saw them all at once."""
    reference, count = harness.work / "reference", harness.work / f"{folder.name}.count"
    if not reference.exists():
        harness.train(reference, *SETTINGS)
    late = {"LD_PRELOAD": os.environ["ROLLCALL_LATE_LIBRARY"], "ROLLCALL_LATE_S": str(LATE_S), "ROLLCALL_LATE_COUNT": str(count)}
    harness.train(folder, *SETTINGS, *arguments, ranks=ranks, env=late)
    for key in ("policy_sha256", "archive_sha256"):
        check(result(folder)[key] == result(reference)[key], f"{folder.name}: {key} differs")
    in_vain = [int(line) for line in count.read_text().split()]
    check(len(in_vain) > 1 and sum(in_vain) > 20, f"{folder.name}: names were hidden {in_vain} times: nothing was tried")


def late_names_change_nothing(harness):
    for layout, ranks in (("colocated", 3), ("disaggregated", 4)):
        folder = harness.work / layout
        same_end(harness, folder, *sets(run__layout=layout), ranks=ranks)
        links = [file.stat().st_nlink for file in folder.glob("checkpoints/*/reference.safetensors")]
        check(links and max(links) > 1, f"{layout}: no reference was taken from an earlier checkpoint: nothing was tried")


def a_resume_waits_for_its_checkpoint(harness):
    """Two of three steps on one rank; config.toml is lost, and the checkpoint counts all the same."""
    folder = harness.work / "resumed"
    harness.train(folder, *SETTINGS, *sets(train__steps=2, eval__after="false"))
    (folder / "config.toml").unlink()
    time.sleep(LATE_S)  # what is there when a job starts is no longer late
    same_end(harness, folder, "--resume", ranks=3)
    check(not (folder / "set_aside").exists(), "steps were drawn again: it began anew")


main(late_names_change_nothing, a_resume_waits_for_its_checkpoint)

"""Runs for the tests of `rollcall archive`: a whole one, and one that was killed; and what the tests do to their files."""
import json
import shutil
import signal
import time

from harness import check, metrics, sets

STEPS = 6
SETTINGS = sets(train__steps=STEPS, checkpoint__every=2, archive__pack_every=4, checkpoint__keep_last=4)


def whole(harness):
    folder = harness.work / "whole"
    if not folder.exists():
        harness.train(folder, *SETTINGS)
    return folder


def stopped(harness, name, pack_every=4):
    """A run killed after five steps, its newest checkpoint at 4: steps are packed up to the checkpoint before where that is due."""
    folder = harness.work / name
    source = harness.work / f"stopped_{pack_every}"
    if not source.exists():
        job = harness.start("train", harness.tiny, *sets(run__dir=source), *SETTINGS, *sets(archive__pack_every=pack_every))
        while not (source / "checkpoints/train_000004").exists() or len(metrics(source)) < 5:
            check(job.poll() is None, "the run ended before it could be killed")
            time.sleep(0.002)
        job.send_signal(signal.SIGKILL)
        job.communicate()
        check(not (source / "result.json").exists(), "the kill came after the end")
    shutil.copytree(source, folder)
    return folder


def archive(harness, *words, code=0):
    return harness.succeed("archive", *words, code=code)


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def packed(folder, purpose="train"):
    entries = json.loads((folder / "archive/manifest.json").read_text())["files"]
    return [folder / e["file"]["path"] for e in entries if e["purpose"] == purpose]

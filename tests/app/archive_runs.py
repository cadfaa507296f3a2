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
    tries = 0
    while not source.exists():
        tries += 1
        job = harness.start("train", harness.tiny, *sets(run__dir=source), *SETTINGS, *sets(archive__pack_every=pack_every))
        while job.poll() is None and (not (source / "checkpoints/train_000004").exists() or len(metrics(source)) < 5):
            time.sleep(0.002)
        job.send_signal(signal.SIGKILL)
        job.communicate()
        if job.returncode == -signal.SIGKILL and not (source / "checkpoints/train_000006").exists():
            break
        check(tries < 10, "each kill came after the last checkpoint")  # steps take milliseconds
        shutil.rmtree(source)
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

"""`rollcall archive`, the verbs that read: on a finished run, an unfinished one, one file copied elsewhere, and a run that goes on."""
import json
import os
import pathlib
import shutil
import subprocess
import time
from collections import Counter

from archive_runs import SETTINGS, STEPS, archive, flip, packed, stopped, whole
from harness import check, main, sets


def rows(text):
    return {words[0]: words for words in (line.split() for line in text.splitlines()) if words}


def ls_counts_every_file(harness):
    run = whole(harness)
    listed = rows(archive(harness, "ls", run))
    entries = json.loads((run / "archive/manifest.json").read_text())["files"]
    check(len(entries) >= 3, "train and eval files")
    for e in entries:
        words = listed[e["file"]["path"]]
        check(words[1] == "archive" and words[4:7] == [str(e["groups"]), str(e["rollouts"]), str(e["file"]["bytes"])] and words[7] == "packed", str(words))
    killed = rows(archive(harness, "ls", stopped(harness, "listed")))
    kinds = [words[1] for path, words in killed.items() if path.startswith("shards/train-")]
    # A kill may come between the answers of a step and what it trained on.
    check(kinds.count("training") >= 1 and kinds.count("scored") - kinds.count("training") in (0, 1), f"what steps trained on is not listed: {killed}")
    check(any("checkpoint yet" in " ".join(words) for words in killed.values()), f"no shard without a checkpoint: {killed}")
    (harness.work / "listed/shards/train-000009-00-0000.h5.partial").write_text("half")
    check(rows(archive(harness, "ls", harness.work / "listed"))["shards/train-000009-00-0000.h5.partial"][-1] == "partial", "a partial file")


def show_and_export_agree(harness):
    run = whole(harness)
    lines = [json.loads(line) for line in archive(harness, "export", run, "--purpose", "train", "--tokens").splitlines()]
    check(len(lines) == STEPS * 32, f"{len(lines)} rollouts")
    check([line["step"] for line in lines] == sorted(line["step"] for line in lines), "the order is that of the steps")
    one = lines[0]
    check(one["components"].keys() and len(one["turns"][1]["logprob"]) == len(one["turns"][1]["tokens"]), str(one))
    shown = archive(harness, "show", run, "--prompt", one["prompt_id"], "--step", one["step"], "--purpose", "train")
    check(f"train step {one['step']}, prompt {one['prompt_id']}, draw {one['draw']}: level {one['level']}" in shown, shown)
    for text in (one["prompt"], one["reference"], one["completion"]):
        check("".join(f"      | {line}\n" for line in text.split("\n")) in shown, shown)
    group = [line for line in lines if (line["step"], line["prompt_id"], line["draw"]) == (one["step"], one["prompt_id"], one["draw"])]
    check(all(f"  sample {line['sample']}: reward {line['reward']:g} (" in shown for line in group) and shown.count("  sample ") == len(group) >= 2, shown)
    archive(harness, "export", run, "--purpose", "train", "--tokens", "--out", harness.work / "lines.jsonl")
    check([json.loads(line) for line in (harness.work / "lines.jsonl").read_text().splitlines()] == lines, "the file says the same as standard output")
    total = sum(line["correct"] for line in lines)
    stats = json.loads(archive(harness, "stats", run, "--purpose", "train", "--json"))
    check(len(stats) == STEPS and abs(sum(s["pass_rate_rollouts"] * s["rollouts"] for s in stats) - total) < 1e-9, str(stats))
    by_level = json.loads(archive(harness, "stats", run, "--purpose", "train", "--json", "--by", "level"))
    check(sum(s["rollouts"] for s in by_level) == len(lines) and {s["level"] for s in by_level} == {line["level"] for line in lines}, str(by_level))
    check(len(archive(harness, "stats", run).splitlines()) == 1 + STEPS + 2, "one row a step, and the two evaluations")


def conversations_are_shown_and_exported(harness):
    """What environments made of turns, how rollouts began and ended, and what groups were made of; the sample's rollouts have up to seven turns."""
    run = harness.work / "sample"
    subprocess.run([os.environ["ROLLCALL_SAMPLE_RUN"], run], check=True, stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for line in archive(harness, "export", run, "--purpose", "train").splitlines()]
    with_tokens = [json.loads(line) for line in archive(harness, "export", run, "--purpose", "train", "--tokens").splitlines()]
    told = [line for line in lines if "turns" in line]
    check(0 < len(told) < len(lines) and {line["finish"] for line in lines} == {"stop", "length", "turns", "lost"}, f"{len(told)} of {len(lines)}")
    check(all("tokens" not in turn and len(turn["state"]) == 16 for line in told for turn in line["turns"]), f"{told[0]}")
    for line, more in zip(lines, with_tokens):
        kept = [{key: value for key, value in turn.items() if key in ("role", "text", "reward", "components", "state", "action", "flags", "kind", "seat", "reason")} for turn in more["turns"]]
        check(("turns" not in line and all("flags" not in turn for turn in kept)) or line["turns"] == kept, f"{line}\n{more}")
    flags = {flag for line in told for turn in line["turns"] for flag in turn["flags"]}
    check(flags == {"invalid", "void", "error", "patched", "repeated", "decided", "correct", "ended", "by_clock"}, f"{flags}")
    check(any("left" in line for line in lines) and all(not line["trained"] for line in lines if "left" in line), "nothing has left its group")
    derived = [line for line in lines if "from" in line]
    check({line["prompt_id"] % 2 for line in derived} == {1} and all(line["from"]["kind"] != "none" for line in derived), f"{derived[0]}")
    check(any("opening" in line for line in lines) and any("fork" in line for line in lines) and any("start" in line for line in derived), "no beginnings")
    for line in told[:8]:
        shown = archive(harness, "show", run, "--prompt", line["prompt_id"], "--step", line["step"], "--purpose", "train")
        turn = max(line["turns"], key=lambda turn: abs(turn["reward"]))
        number = line["turns"].index(turn)
        check(f"    turn {number} {turn['role']}, " in shown and f", reward {turn['reward']:g}" in shown and f", state {turn['state']}" in shown, f"{turn}\n{shown}")
        check("from" not in line or f"  {line['from']['kind']} of step {line['from']['step']}, prompt {line['from']['prompt_id']}, draw {line['from']['draw']}" in shown, shown)
        for action in line["completion"].split("\x1e"):
            check("".join(f"      | {row}\n" for row in action.split("\n")) in shown, f"{action!r}\n{shown}")
        end = {"turns": " (at the limit of turns)", "lost": " (lost by its environment)"}.get(line["finish"], "")
        check(end in shown, shown)


def a_closed_pipe_is_quiet(harness):
    reader = subprocess.Popen(["head", "-1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    writer = harness.start("archive", "export", whole(harness), "--tokens", stdout=reader.stdin)
    reader.stdin.close()
    reader.stdin = None  # communicate() would flush it
    err = writer.communicate()[1]
    check(reader.communicate()[0].startswith(b'{"purpose":"train"') and writer.returncode == 0 and err == "", f"{writer.returncode} {err}")


def one_file_tells_the_same(harness):
    elsewhere = harness.work / "elsewhere"
    elsewhere.mkdir()
    copy = pathlib.Path(shutil.copy(packed(whole(harness))[0], elsewhere / "copy.h5"))
    lines = archive(harness, "export", copy).splitlines()
    check(archive(harness, "export", whole(harness), "--purpose", "train").splitlines()[: len(lines)] == lines and lines, "a copy of the first file holds the first steps")
    check("all checksums" in archive(harness, "verify", copy) and "one file" in archive(harness, "ls", copy), "verify and ls of one file")
    flip(copy, copy.stat().st_size // 2)
    archive(harness, "verify", copy, code=3)


def diff_finds_the_first_value(harness):
    other = harness.work / "other"
    harness.train(other, *SETTINGS, *sets(train__lr=2e-3))
    out = archive(harness, "diff", whole(harness), other, code=3)
    check("first: train step 2, prompt" in out and "groups differ" in out, f"step 1 is sampled before the first update:\n{out}")
    half = archive(harness, "diff", whole(harness), packed(whole(harness))[0], code=3)
    check("only in A, 0 only in B" in half, half)


def reading_while_the_run_writes(harness):
    """Every verb that reads, again and again, beside a run that writes, packs and removes checkpoints: no complaint, and every step of a checkpoint that was there before is there."""
    run = harness.work / "live"
    job = harness.start("train", harness.tiny, *sets(run__dir=run, train__steps=50000, checkpoint__every=20, checkpoint__keep_last=1, archive__pack_every=20,
                                                     eval__before="false"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(4):
            before = committed(run, job)
            steps = Counter(json.loads(line)["step"] for line in archive(harness, "export", run, "--purpose", "train").splitlines())
            check(all(steps[step] == 32 for step in range(1, before + 1)), f"{before} steps have a checkpoint; export: {steps}")
            before = committed(run, job)
            stats = {row["step"]: row["rollouts"] for row in json.loads(archive(harness, "stats", run, "--purpose", "train", "--json"))}
            check(all(stats[step] == 32 for step in range(1, before + 1)), f"{before} steps have a checkpoint; stats: {stats}")
            before = committed(run, job)
            listed = archive(harness, "ls", run)
            check(int(listed.splitlines()[-1].split()[2]) >= 32 * before and "unreadable" not in listed, f"{before} steps have a checkpoint\n{listed}")
            archive(harness, "verify", run)
        check(job.poll() is None and committed(run, job) >= 80, "the run did not pack beside the reads")
    finally:
        job.kill()
        job.wait()


def committed(run, job):
    """Training steps that the newest checkpoint covers, once there is one."""
    while True:
        steps = [int(folder.name[6:]) for folder in run.glob("checkpoints/train_*")]
        if steps:
            return max(steps)
        check(job.poll() is None, "the run ended early")
        time.sleep(0.01)


def wrong_inputs_give_one_message(harness):
    (harness.work / "note.h5").write_text("hello")
    (harness.work / "empty").mkdir(exist_ok=True)
    shard = next((stopped(harness, "halved") / "shards").glob("train-*-scored.h5"))
    alone = shutil.copy(shard, harness.work / shard.name.replace("-scored", "-scores"))
    for words, code, fragment in (
        (["ls", harness.work / "none"], 2, "does not exist"),
        (["ls", harness.work / "empty"], 2, "is not a run folder"),
        (["stats", harness.tiny], 2, "is not an HDF5 file"),
        (["stats", harness.work / "note.h5"], 3, "cannot open"),
        (["export", alone], 2, "half of a shard"),
        (["show", whole(harness), "--prompt", "123456"], 2, "holds no rollouts of prompt 123456"),
        (["stats", whole(harness), "--purpose", "trian"], 2, "did you mean train"),
        (["stats", whole(harness), "--by", "steps"], 2, "did you mean step"),
        (["pack", harness.work / "note.h5"], 2, "is not a run folder"),
        (["lss", whole(harness)], 2, "did you mean ls?"),
        (["export", whole(harness), "--out", harness.work / "none/x.jsonl"], 2, "there is no folder"),
    ):
        got, out, err, _ = harness.run("archive", *words)
        check(got == code and fragment in err and err.count("\n") == 1 and err.startswith("rollcall: "), f"{words}: {got}\n{out}\n{err}")


def only_a_plain_file_is_replaced(harness):
    """A device, a pipe, a link, a folder and a file of something else stay what they are; an earlier export is replaced whole."""
    own, folder = harness.work / "own.jsonl", harness.work / "out_folder"
    own.write_text("mine\n")
    folder.mkdir()
    (harness.work / "out_link").symlink_to(own)
    os.mkfifo(harness.work / "out_pipe")
    for name, kind in (("out_link", "a symbolic link"), ("out_pipe", "a pipe"), ("out_folder", "a folder"), ("/dev/null", "a device")):
        code, _, err, _ = harness.run("archive", "export", whole(harness), "--out", harness.work / name)
        check(code == 2 and f"it is {kind}" in err, f"{name}: {code} {err}")
    code, _, err, _ = harness.run("report", whole(harness), "--out", harness.work / "out_link")
    check(code == 2 and "it is a symbolic link" in err, f"{code} {err}")
    check(own.read_text() == "mine\n" and not list(harness.work.glob("out_*.partial")), "the file behind the link was written, or something is left")
    for words in (("archive", "export", whole(harness)), ("report", whole(harness))):
        code, _, err, _ = harness.run(*words, "--out", own)
        check(code == 2 and "it holds something else than this command writes" in err and own.read_text() == "mine\n", f"{words}: {code} {err}")
    out = harness.work / "rollouts.jsonl"
    for words in (("--step", "1"), ()):
        archive(harness, "export", whole(harness), "--out", out, *words)
    check(out.read_text() == archive(harness, "export", whole(harness)), "an earlier export is not replaced")


main(only_a_plain_file_is_replaced, ls_counts_every_file, show_and_export_agree, conversations_are_shown_and_exported, a_closed_pipe_is_quiet,
     one_file_tells_the_same, diff_finds_the_first_value, reading_while_the_run_writes, wrong_inputs_give_one_message)

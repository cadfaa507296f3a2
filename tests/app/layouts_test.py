"""One policy and one archive, whoever hosts what: every layout at 1, 3, 4 and 6 ranks, with one thread or three, ends with the same bits; ranks of a node store one file. Ranks that compute other bits are
found out."""
import os
import re
import subprocess
import time

from harness import check, main, metrics, policy_line, result, sets

# ranks, layout, threads
LAYOUTS = [(1, "single", 1), (1, "colocated", 3), (3, "colocated", 1), (3, "colocated", 3), (4, "colocated", 1), (4, "disaggregated", 1), (6, "colocated", 1),
           (6, "disaggregated", 1)]
FAILED, STOPPED = 3, 75
SMALL = sets(sft__steps=20, train__steps=4)


def ends_agree(ends):
    """ends: result.json by name"""
    bits = {name: (end["policy_sha256"], end["archive_sha256"]) for name, end in ends.items()}
    check(len(set(bits.values())) == 1, "policies or archives differ (policy sha256, archive sha256):\n" + "\n".join(f"{k}: {v}" for k, v in bits.items()))


def layouts_agree(harness):
    ends = {}
    for ranks, layout, threads in LAYOUTS:
        name = f"{layout} on {ranks} ranks with {threads} threads"
        folder = harness.work / f"{layout}_{ranks}_{threads}"
        out = harness.train(folder, *SMALL, *sets(run__layout=layout, run__threads=threads), ranks=ranks)
        rows = metrics(folder)
        check(len(rows) == 4, f"{name}: {len(rows)} training rows, not 4")
        for row in rows:
            check(row["actor/ratio_min"] == 1 == row["actor/ratio_max"],
                  f"{name}, step {row['step']}: ratio in [{row['actor/ratio_min']}, {row['actor/ratio_max']}], not exactly 1")
        check(any(row["actor/grad_norm"] > 0 for row in rows), f"{name}: no step moved the weights, so equal bits say nothing")
        ends[name] = result(folder)
        check(policy_line(out) == f"policy sha256 {ends[name]['policy_sha256']}", f"{name}: the printed line is not that of result.json")
    ends_agree(ends)


def ranks_of_a_node_store_one_file(harness):
    """And what they have stored by the time they are stopped is whole, and goes on on other ranks."""
    folder, settings = harness.work / "one_file", sets(train__steps=120, checkpoint__every=10, archive__pack_every=120, eval__before="false", eval__after="false")
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *settings, ranks=3)
    while not (folder / "checkpoints/train_000010").exists():
        check(job.poll() is None, "the run ended before it could be stopped")
        time.sleep(0.01)
    (folder / "stop").touch()
    out, err = job.communicate(timeout=60)
    check(job.returncode == STOPPED, f"exit code {job.returncode}\n{out}\n{err}")
    stored = sorted(path.name for path in (folder / "shards").iterdir())
    expected = [f"train-{step:06}-00-0000-{what}.h5" for step in range(1, len(stored) // 2 + 1) for what in ("scored", "training")]
    check(len(stored) >= 20 and stored == expected, f"not one file a step, and one of what it trained on: {stored}")
    check("all checksums" in harness.succeed("archive", "verify", folder), "what they have stored is not whole")
    ends = {}
    for name, end in (("resumed", folder), ("whole", harness.work / "one_rank")):
        harness.train(end, *["--resume"] * (name == "resumed"), *settings, ranks=4 if name == "resumed" else 1)
        ends[name] = result(end)
    ends_agree(ends)


def bf16_agrees(harness):
    """The same of run.numerics=bf16_sliced8, on every set of kernels that this processor has for it."""
    bf16, ends = sets(run__numerics="bf16_sliced8"), {}
    for ranks, layout, threads in ((1, "single", 3), (3, "colocated", 1), (4, "disaggregated", 1)):
        folder = harness.work / f"bf16_{ranks}"
        harness.train(folder, *SMALL, *bf16, *sets(run__layout=layout, run__threads=threads), ranks=ranks)
        check(all(row["actor/ratio_min"] == 1 == row["actor/ratio_max"] and row["actor/grad_norm"] > 0 for row in metrics(folder)), f"ratios or gradients of {folder.name}")
        ends[f"{layout} on {ranks} ranks"] = result(folder)
    found = re.search(r"bf16_sliced8: (\w+) of (.*)", harness.succeed("doctor"))
    names = found[2].split(", ")
    check(found[1] in names and "scalar" in names, f"doctor's sets: {found[0]}")
    for name in names:
        folder = harness.work / f"bf16_{name}"
        harness.train(folder, *SMALL, *bf16, env={"ROLLCALL_KERNELS": name})
        ends[name] = result(folder)
    ends_agree(ends)
    check(ends["scalar"]["policy_sha256"] != result(harness.work / "single_1_1")["policy_sha256"], "run.numerics changes no bit")


def the_quickstart_agrees(harness):
    """The file that README.md names, shortened: its own model and steps, its default threads on one rank."""
    file, ends = harness.source / "jobs/runs/quickstart.toml", {}
    check("layout colocated on 4 ranks" in harness.succeed("plan", file, "--ranks", 4), "the quickstart cannot be planned")
    # Two supervised steps answer nothing right; the format's share of the reward lets rewards differ, so that training moves the weights.
    short = sets(sft__steps=2, train__steps=2, task__format_weight=0.5, task__heldout_prompts=8, eval__samples=8, eval__bootstrap=10)
    for ranks, layout, threads in ((1, "auto", []), (3, "colocated", sets(run__threads=1)), (4, "disaggregated", sets(run__threads=1))):
        folder = harness.work / f"quickstart_{ranks}"
        out = harness.succeed("train", file, *short, *threads, *sets(run__dir=folder, run__layout=layout), ranks=ranks)
        check(any(row["actor/grad_norm"] > 0 for row in metrics(folder)), "no step moved the weights, so equal bits say nothing")
        ends[f"{layout} on {ranks} ranks"] = result(folder) | {"policy_sha256": policy_line(out)}
    ends_agree(ends)


def other_bits_are_found_out(harness):
    """Rank 1 rounds otherwise, as another processor would: the training forward of its leaves is not what rank 0 sampled."""
    if "ROLLCALL_ROUNDS_DOWN" not in os.environ:
        return  # sanitizers allow no preloaded library
    for numerics in ("fp32_fixed_order", "bf16_sliced8"):
        other_bits_are_found_out_in(numerics, harness)


def other_bits_are_found_out_in(numerics, harness):
    folder, count, small = harness.work / f"mixed_{numerics}", harness.launcher[-1], [*SMALL, *sets(run__numerics=numerics)]
    harness.train(folder, *small, *sets(train__steps=1, eval__before="false"))  # first weights would differ at once
    before = set(folder.glob("checkpoints/train_*"))
    train = [harness.binary, "train", harness.tiny, "--resume", *small, *sets(run__dir=folder, eval__before="false")]
    command = [*harness.launcher, "1", *train, ":", count, "1", "env", f"LD_PRELOAD={os.environ['ROLLCALL_ROUNDS_DOWN']}", *train]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=harness.work, timeout=60)
    check(ended.returncode == FAILED and "gives other log-probs than generation stored" in ended.stderr, f"exit code {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    check(set(folder.glob("checkpoints/train_*")) == before, "a step was trained on what another policy sampled")


main(layouts_agree, ranks_of_a_node_store_one_file, bf16_agrees, the_quickstart_agrees, other_bits_are_found_out)

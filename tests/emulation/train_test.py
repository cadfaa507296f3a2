"""A tiny run with generation and update on the emulated device: the same policy and archive on one rank and three, killed or not; refused by name where it cannot go on."""
import pathlib
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "app"))
from harness import check, main, metrics, result, sets  # noqa: E402

MISCONFIGURED, ENVIRONMENT, FAILED = 2, 2, 3
STEPS = 5
OTHER = {"EMULATED_CAPABILITY": "10"}
# The entropy bonus moves the weights also where all answers of so short a warm start are wrong.
DEVICE = sets(run__numerics="cuda_bf16_sliced8", objective__pieces__regularizer="entropy", model__num_hidden_layers=2, sft__steps=2, sft__batch_size=6, train__steps=STEPS,
              train__prompts_per_step=2, train__rollouts_per_prompt=3, task__heldout_prompts=2, task__validation_prompts=2, eval__samples=2, eval__pass_k=2, eval__bootstrap=10,
              checkpoint__every=1, archive__pack_every=1)


def bits(folder):
    end = result(folder)
    return end["policy_sha256"], end["archive_sha256"]


def planned_bytes(harness, *wanted):
    """Of one GPU: what `rollcall plan` says of each item that the emulated device is asked for."""
    told = harness.succeed("plan", harness.tiny, *wanted, "--gpus", 1)
    items = dict(re.findall(r"([A-Za-z][A-Za-z 0-9-]*) ([0-9.]+ [kMG]?B)", told.split("in numerics cuda_bf16_sliced8")[1].split("at least")[0]))
    left_out = ("CUDA and these kernels", "on the way to other ranks", "NCCL", "scratch of kernels")  # the driver's, the host's where ranks share a device, and stream-ordered
    check(all(name in items for name in left_out), told)
    units = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
    return sum(float(size.split()[0]) * units[size.split()[1]] for name, size in items.items() if name not in left_out)


def ranks_agree(harness):
    memory = harness.work / "memory"
    for ranks in (1, 3):
        folder = harness.work / f"ranks_{ranks}"
        harness.train(folder, *DEVICE, *sets(run__layout="colocated"), ranks=ranks, env={"EMULATED_MEMORY": str(memory)} if ranks == 1 else None)
        rows = metrics(folder)
        check(len(rows) == STEPS, f"{len(rows)} training rows, not {STEPS}")
        check(all(row["actor/ratio_min"] == 1 == row["actor/ratio_max"] for row in rows), "the training forward does not repeat generation")
        check(any(row["actor/grad_norm"] > 0 for row in rows), "no step moved the weights, so equal bits say nothing")
    check(bits(harness.work / "ranks_1") == bits(harness.work / "ranks_3"), "one rank and three end differently")
    planned, taken = planned_bytes(harness, *DEVICE, *sets(train__leaf_tokens=1024)), int(memory.read_text())
    # The plan has full leaves, by default of 16,384 tokens; this run fills none. Item by item device_memory_test.cpp compares what is taken.
    check(0.3 * planned < taken <= planned, f"the device was asked for {taken} bytes, the plan has {planned:.0f}")


def shares_agree(harness):
    """So many weights that the optimizer has a share for each of two ranks of three, the third has none; one step."""
    cold = [word for pair in zip(DEVICE[::2], DEVICE[1::2]) if not pair[1].startswith("sft.") for word in pair]
    wide = (*cold, *sets(model__intermediate_size=1400, sft__steps=0, train__steps=1, train__rollouts_per_prompt=2, run__layout="colocated"))
    for ranks in (1, 3):
        harness.train(harness.work / f"shares_{ranks}", *wide, ranks=ranks)
    parts = sorted(path.name for path in (harness.work / "shares_3").glob("checkpoints/*/optimizer-*"))
    check(any("of-00002" in name for name in parts), f"no two shares: {parts}")
    check(bits(harness.work / "shares_1") == bits(harness.work / "shares_3"), "one share and two end differently")
    check(metrics(harness.work / "shares_1")[-1]["actor/grad_norm"] > 0, "the step moved nothing")


def a_killed_run_ends_alike(harness):
    folder = harness.work / "killed"
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *DEVICE)
    while not (folder / "checkpoints").exists() or not list(folder.glob("checkpoints/train_*")):
        check(job.poll() is None, "the run ended before it could be killed")
        time.sleep(0.02)
    job.send_signal(signal.SIGKILL)
    job.communicate()
    check(not (folder / "result.json").exists(), "the kill came after the end of the run: it tested nothing")
    harness.train(folder, "--resume", *DEVICE)
    check(bits(folder) == bits(harness.work / "ranks_1"), "a killed and resumed run ends differently")


def other_numerics_are_refused_by_name(harness):
    code, out, err, _ = harness.run("train", harness.tiny, "--resume", *DEVICE, *sets(run__dir=harness.work / "ranks_1", run__numerics="bf16_sliced8", train__steps=STEPS + 1))
    check(code == MISCONFIGURED and 'run.numerics is "bf16_sliced8"' in err and 'was started with "cuda_bf16_sliced8"' in err, f"exit code {code}\n{out}\n{err}")


def another_kind_of_device_is_refused_by_name(harness):
    code, out, err, _ = harness.run("train", harness.tiny, "--resume", *DEVICE, *sets(run__dir=harness.work / "ranks_1", train__steps=STEPS + 1), env=OTHER)
    check(code == MISCONFIGURED and "was computed in cuda_bf16_sliced8 (compute capability 9.0) and would go on in cuda_bf16_sliced8 (compute capability 10.0)" in err
          and "run.allow_numerics_change=true" in err, f"exit code {code}\n{out}\n{err}")


def numerics_change_where_that_is_allowed(harness):
    """From a device to processors and back to a device, of another kind: the same end on one rank and three. The launcher's number of the rank is told where it is another."""
    change = (*DEVICE, *sets(run__allow_numerics_change="true", eval__after="false"))
    for ranks in (1, 3):
        folder = harness.work / f"changed_{ranks}"
        shutil.copytree(harness.work / "ranks_1", folder)
        harness.train(folder, "--resume", *change, *sets(run__numerics="bf16_sliced8", train__steps=STEPS + 1), ranks=ranks)
        told = harness.run("train", harness.tiny, "--resume", *change, *sets(run__dir=folder, train__steps=STEPS + 2), ranks=ranks, env=OTHER | ({"SLURM_LOCALID": "1"} if ranks == 1 else {}))
        check(told[0] == 0 and ("the launcher numbers rank 0 1 on its node" in told[2]) == (ranks == 1), f"exit code {told[0]}\n{told[1]}\n{told[2]}")
        newest = (folder / f"archive/train_{STEPS + 2:06}-{STEPS + 2:06}.h5").read_bytes()
        noted = [f'"after_train_steps":{step},"numerics":"{numerics}"' for step, numerics in ((0, "cuda_bf16_sliced8"), (STEPS, "bf16_sliced8"), (STEPS + 1, "cuda_bf16_sliced8"))]
        check(all(text.encode() in newest for text in noted) and b'"device":"compute capability 10.0"' in newest, "the archive does not note the changes")
    check(bits(harness.work / "changed_1") == bits(harness.work / "changed_3"), "one rank and three end differently")


def a_rollback_brings_back_the_weights(harness):
    """Of the warm start, to what passes read and to the optimizer's shares: the one step of training that was applied is taken back."""
    short = (*DEVICE, *sets(sft__steps=1, eval__before="false", eval__after="false", checkpoint__every=100))
    harness.train(harness.work / "warm", *short, *sets(train__steps=0))
    code, out, err, _ = harness.run("train", harness.tiny, *short, *sets(run__dir=harness.work / "rolled_back", train__steps=3, train__loss_spike_factor=1e-9, train__max_bad_steps=9,
                                                                         train__on_nonfinite="rollback"), ranks=3)
    check(code == 0 and "step 3: rolling back" in err, f"exit code {code}, or nothing was rolled back\n{out}\n{err}")
    check(result(harness.work / "rolled_back")["policy_sha256"] == result(harness.work / "warm")["policy_sha256"], "not the weights of the checkpoint")


def what_finds_no_room_is_told(harness):
    """By the name that `rollcall plan` has for it, and once; the emulated device has 64 MiB."""
    wide, item = (*DEVICE, *sets(model__intermediate_size=20000)), "share of weights, moments and sums"
    check(item in harness.succeed("plan", harness.tiny, *wide, "--gpus", 1, "--gpu-memory", "64M"), "the plan has no such item")
    code, out, err, _ = harness.run("train", harness.tiny, *wide, *sets(run__dir=harness.work / "no_room"))
    check(code == FAILED and err.count("rollcall: ") == 1 and f"no room for {item}: " in err and "of 67.1 MB free" in err and "rollcall plan RUN.toml --gpus N" in err,
          f"exit code {code}\n{out}\n{err}")


def a_build_without_cuda_says_so(harness):
    """The same command of the program as it is built here."""
    own, harness.binary = harness.binary, str(pathlib.Path(harness.binary).with_name("rollcall"))
    code, out, err, _ = harness.run("train", harness.tiny, *DEVICE, *sets(run__dir=harness.work / "without"))
    harness.binary = own
    check(code == ENVIRONMENT and "the numerics are cuda_bf16_sliced8, but this build has no CUDA kernels" in err and "cmake --preset cuda" in err,
          f"exit code {code}\n{out}\n{err}")
    check(not (harness.work / "without").exists(), "a run that cannot start left a folder")


if __name__ == "__main__":
    main(ranks_agree, shares_agree, a_killed_run_ends_alike, other_numerics_are_refused_by_name, another_kind_of_device_is_refused_by_name, numerics_change_where_that_is_allowed, a_rollback_brings_back_the_weights, what_finds_no_room_is_told, a_build_without_cuda_says_so)

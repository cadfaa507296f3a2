"""A tiny run with generation and update on the emulated device: the same policy and archive on one rank and three, killed or not; refused by name where it cannot go on."""
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "app"))
from harness import check, main, metrics, result, sets  # noqa: E402

MISCONFIGURED, ENVIRONMENT = 2, 2
STEPS = 5
# The entropy bonus moves the weights also where all answers of so short a warm start are wrong.
DEVICE = sets(run__numerics="cuda_bf16_sliced8", objective__pieces__regularizer="entropy", model__num_hidden_layers=2, sft__steps=2, sft__batch_size=6, train__steps=STEPS,
              train__prompts_per_step=2, train__rollouts_per_prompt=3, task__heldout_prompts=2, task__validation_prompts=2, eval__samples=2, eval__pass_k=2, eval__validation_samples=2, eval__bootstrap=10,
              checkpoint__every=1, archive__pack_every=1)


def bits(folder):
    end = result(folder)
    return end["policy_sha256"], end["archive_sha256"]


def ranks_agree(harness):
    for ranks in (1, 3):
        folder = harness.work / f"ranks_{ranks}"
        harness.train(folder, *DEVICE, *sets(run__layout="colocated"), ranks=ranks)
        rows = metrics(folder)
        check(len(rows) == STEPS, f"{len(rows)} training rows, not {STEPS}")
        check(all(row["actor/ratio_min"] == 1 == row["actor/ratio_max"] for row in rows), "the training forward does not repeat generation")
        check(any(row["actor/grad_norm"] > 0 for row in rows), "no step moved the weights, so equal bits say nothing")
    check(bits(harness.work / "ranks_1") == bits(harness.work / "ranks_3"), "one rank and three end differently")


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


def a_build_without_cuda_says_so(harness):
    """The same command of the program as it is built here."""
    own, harness.binary = harness.binary, str(pathlib.Path(harness.binary).with_name("rollcall"))
    code, out, err, _ = harness.run("train", harness.tiny, *DEVICE, *sets(run__dir=harness.work / "without"))
    harness.binary = own
    check(code == ENVIRONMENT and "the numerics are cuda_bf16_sliced8, but this build has no CUDA kernels" in err and "cmake --preset cuda" in err,
          f"exit code {code}\n{out}\n{err}")
    check(not (harness.work / "without").exists(), "a run that cannot start left a folder")


if __name__ == "__main__":
    main(ranks_agree, a_killed_run_ends_alike, other_numerics_are_refused_by_name, a_build_without_cuda_says_so)

"""What `rollcall doctor` says of a machine without a GPU, one clear line each, and of a driver with two devices, which fake libraries stand for."""
import os
import re

from harness import check, main

FAKES = os.environ["ROLLCALL_FAKE_DRIVER"]


def line(text, subject):
    found = re.search(rf"^(ok  |note|FAIL)  {re.escape(subject)} +(.*)$", text, re.M)
    check(found, f"no line of {subject}:\n{text}")
    return found[1].strip(), found[2]


def without_a_gpu(harness):
    told = harness.succeed("doctor")
    if "libcuda.so.1 is not here" not in told:
        return  # this machine has a driver
    check(line(told, "NVIDIA driver") == ("ok", "none (libcuda.so.1 is not here)"), told)
    check(line(told, "device") == ("ok", "none"), told)
    check(line(told, "CUDA runtime")[1].startswith("not built in"), told)
    check(line(told, "run.comm auto") == ("ok", "MPI: the ranks compute on their processors"), told)
    check("GPUDirect" not in told, f"of no device there is nothing to say:\n{told}")


def with_two_devices(harness):
    told = harness.succeed("doctor", env={"LD_LIBRARY_PATH": FAKES})
    advice = r"\n +this program cannot use it: configure with cmake --preset cuda" if line(told, "CUDA runtime")[1].startswith("not built in") else ""
    check(line(told, "NVIDIA driver") == ("ok", "580.65.06, CUDA 13.0"), told)
    check(re.search(r"device +Fake H100 at 0000:01:00\.0, compute capability 9\.0, 80(\.0)? GB" + advice, told), told)
    check(re.search(r"note  device +Fake V100 at 0000:02:00\.0, compute capability 7\.0, 80(\.0)? GB\n +the kernels need compute capability 8\.0", told), told)
    check(line(told, "NCCL") == ("ok", "2.28.9"), told)
    check(re.fullmatch(r"RDMA on [02] of 2 devices", line(told, "GPUDirect")[1]), told)


def a_driver_that_does_not_start(harness):
    told = harness.succeed("doctor", env={"LD_LIBRARY_PATH": FAKES, "FAKE_NO_DEVICE": "1"})
    check(line(told, "device") == ("note", "the driver does not start (cuInit: error 100)"), told)


def a_plan_for_gpus(harness):
    told = harness.succeed("plan", harness.source / "jobs/runs/quickstart.toml", "--gpus", 4)
    check("on 4 ranks" in told and "GPUs of 85.9 GB, one a rank" in told, told)
    check(re.search(r"weights in bf16 .*share of weights, moments and sums .*\n +at least .*: fits, \d+ sequences", told), told)
    told = harness.succeed("plan", harness.tiny, "--gpus", 2, "--gpu-memory", "500M")
    check("does not fit, " in told, told)


main(without_a_gpu, with_two_devices, a_driver_that_does_not_start, a_plan_for_gpus)

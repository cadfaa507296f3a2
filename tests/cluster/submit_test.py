"""rollcall submit on a private Slurm cluster of two nodes: to the end, stopped by a signal and requeued, cancelled and submitted again; always the same policy."""
import pathlib
import re
import signal
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/app"))
from harness import SKIPPED, Harness, check, policy_line, sets  # noqa: E402
from private_cluster import PrivateCluster, Unavailable  # noqa: E402

LIMIT_S = 60
LONG = sets(train__steps=60, checkpoint__every=10)
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY")


class SubmittedRun:
    """A run folder and the Slurm job that trains in it."""

    def __init__(self, cluster, harness, name, *settings):
        self.cluster, self.harness, self.folder, self.settings = cluster, harness, harness.work / name, settings
        self.submit()

    def submit(self):
        said = self.harness.succeed("submit", self.harness.tiny, "--nodes", "2", *sets(run__dir=self.folder), *self.settings, env=self.cluster.env)
        self.job = re.search(r"Submitted batch job (\d+)", said).group(1)

    def fact(self, name):
        return re.search(rf"\b{name}=(\S+)", self.cluster.run("scontrol", "show", "job", self.job)).group(1)

    def log(self):
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("slurm-*.log")))

    def until(self, what, holds):
        end = time.monotonic() + LIMIT_S
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"not so after {LIMIT_S} s: {what}\n{self.cluster.run('scontrol', 'show', 'job', self.job)}{self.log()}\n{self.cluster.logs()}")
            time.sleep(0.1)

    def until_over(self, wanted):
        self.until("the job is over", lambda: self.fact("JobState") in OVER)
        check(self.fact("JobState") == wanted, f"the job is {self.fact('JobState')}, not {wanted}\n{self.log()}\n{self.cluster.logs()}")

    def until_training(self):
        self.until("training has its first checkpoint", lambda: list(self.folder.glob("checkpoints/train_*")))


def same_policy(run, *settings):
    reference = run.harness.work / f"plain_{len(settings)}"
    wanted = policy_line(run.harness.train(reference, "--resume", *settings))  # the second time it only reports
    check(policy_line(run.log()) == wanted, f"the job's policy differs from that of rollcall train without Slurm, {wanted}:\n{run.log()}")


def to_the_end(cluster, harness):
    run = SubmittedRun(cluster, harness, "to_the_end")
    run.until_over("COMPLETED")
    check(run.fact("NodeList") == "n[1-2]" and "on n[1-2]:" in run.log(), f"not on two nodes\n{run.log()}")
    same_policy(run)


def signalled(cluster, harness):
    run = SubmittedRun(cluster, harness, "signalled", *LONG)
    run.until_training()
    cluster.run("scancel", "--signal=USR1", "--batch", run.job)
    run.until("the job is requeued", lambda: run.fact("Restarts") == "1" or run.fact("JobState") in OVER)
    check(run.fact("Restarts") == "1", f"the job is {run.fact('JobState')}, not requeued\n{run.log()}")
    check(not (run.folder / "result.json").exists(), "the signal came after the end of the run: it tested nothing")
    run.until_over("COMPLETED")
    check("resuming from" in run.log() or "restart 1" in run.log(), f"the second start did not resume\n{run.log()}")
    same_policy(run, *LONG)


def cancelled(cluster, harness):
    run = SubmittedRun(cluster, harness, "cancelled", *LONG)
    run.until_training()
    cluster.run("scancel", run.job)
    run.until_over("CANCELLED")
    check(not (run.folder / "result.json").exists(), "scancel came after the end of the run: it tested nothing")
    first = run.job
    run.submit()
    run.until_over("COMPLETED")
    check(run.job != first, "no second job")
    same_policy(run, *LONG)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ctest's first word at its limit: through the `with`
    harness, failures = Harness(sys.argv[1:]), 0
    try:
        with PrivateCluster(shared=[SOURCE, pathlib.Path(harness.binary).parent, harness.work]) as cluster:
            print(f"nodes with {'namespaces of their own' if cluster.isolated else 'the namespaces of this host: /tmp and host name are shared'}", flush=True)
            for test in (to_the_end, signalled, cancelled):
                began = time.monotonic()
                try:
                    test(cluster, harness)
                    print(f"ok    {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
                except AssertionError as failure:
                    failures += 1
                    print(f"FAIL  {test.__name__}: {failure}", flush=True)
    except Unavailable as reason:
        print(f"skip  {reason}")
        sys.exit(SKIPPED)
    sys.exit(1 if failures else 0)


main()

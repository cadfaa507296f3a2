"""A run's life on a private Slurm cluster: whatever ends a job early, the run goes on and ends with the weights of an undisturbed one.

Scenarios run side by side, on nodes that they do not share with a disturbance: ordinary ones on n1 and n2, the death of a node on n3 to n5, preemption on n6 and n7."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/app"))
from harness import SKIPPED, Harness, check, policy_line, ranks_of, sets, stands_still  # noqa: E402
from private_cluster import PrivateCluster, Unavailable  # noqa: E402

LIMIT_S = 90
SIDE_BY_SIDE = 3
SHORT = sets(run__log_level="info")
LONG = [*SHORT, *sets(train__steps=200, checkpoint__every=20)]  # Slurm takes a second or two to preempt
LONGER = [*SHORT, *sets(train__steps=1200, checkpoint__every=50)]  # more than a fast machine does in the seconds that wall_time() gives it
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY")
PARTITIONS = ("PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE PriorityTier=1",
              "PartitionName=mortal Nodes=n3,n4,n5 MaxTime=INFINITE PriorityTier=1",
              "PartitionName=patient Nodes=n6,n7 MaxTime=INFINITE PriorityTier=1 GraceTime=30",
              "PartitionName=urgent Nodes=n6,n7 MaxTime=INFINITE PriorityTier=2 PreemptMode=OFF")


class Submitted:
    """The Slurm jobs of one `rollcall submit`, and the run folder they train in."""

    def __init__(self, bench, name, *arguments, env=None):
        self.cluster, self.harness, self.folder = bench.cluster, bench.harness, bench.harness.work / name
        said = self.harness.succeed("submit", self.harness.tiny, "--tasks-per-node", 1, *sets(run__dir=self.folder), *arguments, env=env or self.cluster.env)
        self.jobs = re.findall(r"Submitted batch job (\d+)", said)
        self.job = self.jobs[0]

    def fact(self, name, job=None):
        return re.search(rf"\b{name}=(\S+)", self.cluster.run("scontrol", "show", "job", job or self.job)).group(1)

    def log(self):
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("slurm-*.log")))

    def until(self, what, holds):
        end = time.monotonic() + LIMIT_S
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"not so after {LIMIT_S} s: {what}\n{self.cluster.run('scontrol', 'show', 'job', self.job)}{self.log()}\n{self.cluster.logs()}")
            time.sleep(0.2)

    def until_over(self, wanted, job=None):
        self.until(f"job {job or self.job} is over", lambda: self.fact("JobState", job) in OVER)
        found = self.fact("JobState", job)
        check(found == wanted, f"job {job or self.job} is {found}, not {wanted}\n{self.log()}\n{self.cluster.logs()}")

    def until_training(self):
        self.until("training has its first checkpoint", lambda: list(self.folder.glob("checkpoints/train_*")))

    def until_requeued(self):
        self.until("the job is requeued", lambda: self.fact("Restarts") == "1" or self.fact("JobState") in OVER)
        check(self.fact("Restarts") == "1", f"the job is {self.fact('JobState')}, not requeued\n{self.log()}")
        check(not (self.folder / "result.json").exists(), "the disturbance came after the end of the run: it tested nothing")

    def until_resumed(self, wanted):
        self.until_over("COMPLETED")
        check("restart 1 on" in self.log(), f"the job did not start a second time\n{self.log()}")
        check(policy_line(self.log()) == wanted, f"the policy differs from the undisturbed {wanted}:\n{self.log()}")


def submit_an_array(bench):
    """Two seeds as one job, each on a node of its own."""
    run = Submitted(bench, "array", "--seeds", "1-2", *SHORT)
    run.until("both elements are done", lambda: len(list(run.folder.glob("seed_*/result.json"))) == 2)
    run.until_over("COMPLETED")
    logs = {seed: (run.folder / f"slurm-{run.job}_{seed - 1}.log").read_text() for seed in (1, 2)}
    check(policy_line(logs[1]) == bench.short and policy_line(logs[2]) != bench.short, f"seed 1 is not that of a plain run, or seed 2 is:\n{logs}")


def an_odd_name(bench):
    """Slurm, bash, two ranks and MPI read it as it is. From about 200 characters on two ranks used to die in MPI."""
    name = "it's 100% %j \"odd\" @TIME@ a;b #1 Läufe 数 " + "long " * 30 + "x"
    run = Submitted(bench, name, "--nodes", 2, *SHORT)
    run.until_over("COMPLETED")
    check(policy_line(run.log()) == bench.short, f"another policy than under a plain name\n{run.log()}")


def run_on_two_nodes(bench):
    run = Submitted(bench, "two_nodes", "--nodes", 2, "--bind", "none", *SHORT)
    run.until_over("COMPLETED")
    check(run.fact("NodeList") == "n[1-2]" and " on n[1-2] until 20" in run.log(), f"not on two nodes, or without an end\n{run.log()}")
    ranks = [r"n1: rank 0 on cores \d", r"n2: rank 1 on cores \d"] if bench.cluster.isolated else [r": ranks 0-1 on cores \d"]  # nodes that share a host name are one host
    check(all(re.search(rank, run.log()) for rank in ranks), f"no rank map\n{run.log()}")
    check(policy_line(run.log()) == bench.short, f"another policy than without Slurm\n{run.log()}")


def without_signal(bench):
    """An environment whose sbatch asks for no signal. Slurm may send one a minute before it is due, which is earlier than a run of seconds begins."""
    real, folder = shutil.which("sbatch", path=bench.cluster.env["PATH"]), bench.harness.work / "without_signal"
    folder.mkdir()
    (folder / "sbatch").write_text(f"""#!/bin/bash\nsed -i '/^#SBATCH --signal=/d' "${{@: -1}}" && exec {real} "$@"\n""")
    (folder / "sbatch").chmod(0o755)
    return bench.cluster.env | {"PATH": f"{folder}:{bench.cluster.env['PATH']}"}


def wall_time(bench):
    """The first start has seconds only (shorter than --time can say), and nobody signals it: it stops by its own clock, whatever form of time the user likes."""
    site = bench.harness.work / "hasty.toml"
    site.write_text("""setup = ['export SLURM_TIME_FORMAT=relative', '[[ ${SLURM_RESTART_COUNT:-0} != 0 ]] || scontrol update JobId=$SLURM_JOB_ID EndTime=now+6']\n""")
    run = Submitted(bench, "wall_time", "--nodes", 2, "--site", site, *LONGER, env=without_signal(bench))
    run.until_requeued()
    check(re.search(r"stopping on the wall-time limit: .* s are left", run.log()), f"no word of the limit\n{run.log()}")
    run.until_resumed(policy_line(bench.harness.train(bench.harness.work / "longer", *LONGER)))


def scancel_signal(bench):
    """Sent to every process of the step, graders too, which finish their verdicts. In a chain the next job continues, instead of the same one again."""
    grader = bench.harness.work / "grader.py"
    grader.write_text("#!/usr/bin/env python3\nimport json, os, sys, time\nopen(f'{__file__}.{os.environ.get(\"SLURM_JOB_ID\")}', 'a').write('started\\n')\nfor line in sys.stdin:\n    asked = json.loads(line)\n    time.sleep(0.03)\n"
                      "    print(json.dumps({'id': asked['id'], 'score': len(asked['response']) % 5 / 4, 'correct': asked['response'] == asked['answer']}), flush=True)\n")
    grader.chmod(0o755)
    graded = [*SHORT, "--set", f'reward.command=["{grader}"]', *sets(task__format_weight=0, train__steps=24, checkpoint__every=4, reward__processes=1)]
    run = Submitted(bench, "signalled", "--nodes", 2, "--chain", 2, *graded)
    starts = lambda: len(pathlib.Path(f"{grader}.{run.job}").read_text().splitlines())
    run.until_training()
    before = starts()
    bench.cluster.run("scancel", "--signal=USR1", run.job)
    run.until_over("FAILED")
    check(starts() == before, "a grader was ended and replaced")
    check(run.fact("ExitCode") == "75:0" and not (run.folder / "result.json").exists(), f"exit code {run.fact('ExitCode')}, not 75\n{run.log()}")
    check("stopping on SIGUSR1" in run.log(), f"not stopped by the signal\n{run.log()}")
    run.until_over("COMPLETED", run.jobs[1])
    check("undecided" not in run.log(), f"a grader was disturbed\n{run.log()}")
    wanted = policy_line(bench.harness.train(bench.harness.work / "graded", *graded))
    check(policy_line(run.log()) == wanted, f"the policy differs from the undisturbed {wanted}:\n{run.log()}")


def requeue(bench):
    """By an operator, without a warning; under mpirun."""
    run = Submitted(bench, "requeued", "--nodes", 2, "--launcher", f"{bench.harness.launcher[0]} --bind-to none", *LONG)
    run.until_training()
    bench.cluster.run("scontrol", "requeue", run.job)
    run.until_requeued()
    run.until_resumed(bench.long)


def node_death(bench):
    run = Submitted(bench, "node_death", "--nodes", 2, "--partition", "mortal", *LONG)
    run.until_training()
    bench.cluster.kill(f"n{run.fact('NodeList')[-2]}")  # n[3-4]: the one without the batch shell
    run.until_requeued()
    run.until_resumed(bench.long)


def rank_death(bench):
    """Its launcher sees it and ends the others at once; the batch script says so in one line."""
    run = Submitted(bench, "rank_death", "--nodes", 2, *LONG)
    run.until_training()
    os.kill(ranks_of(run.folder)[1], signal.SIGKILL)
    run.until_requeued()
    check(run.log().count("a rank or node died (exit code 137); the run goes on from checkpoint ") == 1, f"not one message\n{run.log()}")
    run.until_resumed(bench.long)


def preemption(bench):
    run = Submitted(bench, "preempted", "--nodes", 2, "--partition", "patient", *LONG)
    run.until_training()
    bench.cluster.run("sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap", "sleep 1")
    run.until_requeued()
    check("stopping on SIGUSR1" in run.log(), f"the grace time was not used\n{run.log()}")
    run.until_resumed(bench.long)


def suspension(bench):
    """By an operator or by gang scheduling, for longer than the run's deadline: the job goes on where it stood, on both nodes."""
    deadline_s = 4
    run = Submitted(bench, "suspended", "--nodes", 2, *LONG, *sets(run__deadline_s=deadline_s, run__watch_s=4))
    run.until_training()
    bench.cluster.run("scontrol", "suspend", run.job)
    steps = lambda: len((run.folder / "metrics.jsonl").read_text().splitlines())
    run.until("the ranks stand still", lambda: all(stands_still(pid) for pid in ranks_of(run.folder).values()))
    before = steps()
    check(not (run.folder / "result.json").exists(), "the run was over: nothing was suspended")
    time.sleep(deadline_s + 6)
    check(steps() == before, "it trained meanwhile: nothing was suspended")
    bench.cluster.run("scontrol", "resume", run.job)
    run.until_over("COMPLETED")
    check(policy_line(run.log()) == bench.long, f"the policy differs from the undisturbed {bench.long}:\n{run.log()}")
    check(run.fact("Restarts") == "0" and "the job was suspended" in run.log(), f"it was started again, or not a word\n{run.log()}")


def two_jobs_on_one_folder(bench):
    """Whoever comes second is told so, once, and changes nothing. The first stands still meanwhile: it could be over before the other starts."""
    first = Submitted(bench, "shared", *LONG)
    first.until_training()
    rank = ranks_of(first.folder)[0]
    os.kill(rank, signal.SIGSTOP)
    try:
        second = Submitted(bench, "shared", *LONG)
        second.until_over("FAILED")
    finally:
        os.kill(rank, signal.SIGCONT)
    said = (second.folder / f"slurm-{second.job}.log").read_text()
    refusals = [line for line in said.splitlines() if line.startswith("rollcall: ")]
    check(second.fact("ExitCode") == "2:0" and len(refusals) == 1 and str(second.folder) in refusals[0], f"no single refusal with exit code 2\n{said}")
    first.until_over("COMPLETED")
    check(policy_line(first.log()) == bench.long, f"the policy differs from the undisturbed {bench.long}:\n{first.log()}")


def scaling_study(bench):
    """benchmarks/scaling/run inside an allocation of two nodes: its ranks are one job, however they are started."""
    out, log = bench.harness.work / "study", bench.harness.work / "study.log"
    study = [SOURCE / "benchmarks/scaling/run", "--binary", bench.harness.binary, "--ranks", 2, "--layouts", "colocated", "--rounds", 1, "--steps", 4, "--sft-steps", 1, "--out", out,
             "--set", "model.hidden_size=32", "--set", "model.num_hidden_layers=1"]
    try:
        bench.cluster.run("sbatch", "--wait", "--nodes=2", "--ntasks-per-node=1", f"--output={log}", "--wrap", shlex.join([sys.executable, *map(str, study)]), timeout=LIMIT_S)
    except AssertionError as failure:
        raise AssertionError(f"{failure}\n{log.read_text() if log.exists() else 'no log'}") from failure
    runs = json.loads((out / "measurements.json").read_text())["runs"]
    check([(run["kind"], run["ranks"]) for run in runs] == [("strong", 2), ("weak", 2), ("weak", 2), ("strong", 2)], f"other runs than asked for: {runs}")
    check(all(json.loads((pathlib.Path(run["folder"]) / "status.json").read_text())["ranks"] == 2 for run in runs), "a run had another number of ranks")


# The longest waits first.
SCENARIOS = (node_death, suspension, scaling_study, wall_time, rank_death, preemption, requeue, scancel_signal, two_jobs_on_one_folder, an_odd_name, run_on_two_nodes, submit_an_array)


class Bench:
    """The cluster, and what runs without Slurm end with."""

    def __init__(self, cluster, harness):
        self.cluster, self.harness = cluster, harness
        self.short, self.long = (policy_line(harness.train(harness.work / name, *settings)) for name, settings in (("short", SHORT), ("long", LONG)))

    def tell(self, scenario):
        began = time.monotonic()
        try:
            scenario(self)
        except Exception as failure:  # a scenario's own error is a failure too
            print(f"FAIL  {scenario.__name__}: {failure!r}\n{failure}", flush=True)
            return False
        print(f"ok    {scenario.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        return True


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ctest's first word at its limit: through the `with`
    harness = Harness(sys.argv[1:])
    try:
        with PrivateCluster(7, 4, [SOURCE, pathlib.Path(harness.binary).parent, harness.work], PARTITIONS) as cluster:
            print(f"nodes with {'namespaces of their own' if cluster.isolated else 'the namespaces of this host: /tmp and host name are shared'}", flush=True)
            bench = Bench(cluster, harness)
            scenarios = [s for s in SCENARIOS if cluster.isolated or s is not node_death]
            if not cluster.isolated:
                print("skip  node_death: namespaces are not permitted here, and a node without one cannot die alone", flush=True)
            with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
                passed = list(pool.map(bench.tell, scenarios))
    except Unavailable as reason:
        print(f"skip  {reason}")
        sys.exit(SKIPPED)
    sys.exit(0 if all(passed) else 1)


main()

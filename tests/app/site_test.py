"""What sites do to a run: folders that are cleaned while it runs, limits of files and memory, launchers that start every rank alone. Each is said, with exit code 2 or 3."""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

from harness import check, family, main, metrics, ranks_of, result, sets

MISCONFIGURED, FAILED, STOPPED = 2, 3, 75
SHORT = sets(sft__steps=2, eval__before="false", eval__after="false")
LONG = [*SHORT, *sets(train__steps=4000, checkpoint__every=2)]
LIMIT_S = 60


def disturbed(harness, name, disturb, *arguments):
    """Standard error of a run that ends with exit code 3 after `disturb` has met it in training."""
    folder = harness.work / name
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *LONG, *arguments)
    while not (folder / "metrics.jsonl").exists() or len(metrics(folder)) < 3:
        check(job.poll() is None, f"{name}: the run ended too early: {job.poll()}")
        time.sleep(0.01)
    disturb(folder)
    try:
        _, err = job.communicate(timeout=LIMIT_S)
    finally:
        job.kill()
    check(job.returncode == FAILED, f"{name}: exit code {job.returncode}, not {FAILED}\n{err}")
    check(not (folder / "result.json").exists(), f"{name}: it has a result")
    return err


def metrics_are_removed(harness):
    for name, disturb in (("removed", lambda path: path.unlink()), ("replaced", lambda path: shutil.copy(path, f"{path}.new") and os.replace(f"{path}.new", path))):
        err = disturbed(harness, f"metrics_{name}", lambda folder: disturb(folder / "metrics.jsonl"))
        check("metrics.jsonl was removed or replaced while the run wrote it" in err, err)


def the_lock_is_replaced(harness):
    other = []  # another job's lock

    def taken(path):
        path.unlink()
        other.append(open(path, "w", encoding="utf-8"))
        fcntl.flock(other[0], fcntl.LOCK_EX)

    for name, disturb in (("gone", lambda path: path.unlink()), ("new", lambda path: (path.unlink(), path.touch())), ("taken", taken)):
        err = disturbed(harness, f"lock_{name}", lambda folder: disturb(folder / ".lock"))
        check(".lock was removed or replaced while the run held it" in err, err)


def the_archive_is_purged(harness):
    """After its first pack. The run goes on, since nothing reads it, but has no result of which it cannot answer for."""
    folder = harness.work / "purged"
    settings = [*SHORT, *sets(train__steps=80, checkpoint__every=2, archive__pack_every=2)]
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *settings)
    while not list(folder.glob("archive/train*.h5")):
        check(job.poll() is None, f"the run ended too early: {job.poll()}")
        time.sleep(0.01)
    for file in (folder / "archive").glob("*[!l]"):  # but for a .partial file, which is just being written
        file.unlink()
    # A pack whose file is removed before rank 0 has seen it is waited for, 60 s, as on a slow network file system.
    _, err = job.communicate(timeout=2 * LIMIT_S)
    told = re.search(r"the archive in \S+ holds \d+ rollouts where the run drew \d+", err) or re.search(r"archive/train_\d+-\d+\.h5", err)
    check(job.returncode == FAILED and told and not (folder / "result.json").exists(), f"exit code {job.returncode}\n{err}")


def verify_asks_the_result(harness):
    folder = harness.work / "whole"
    harness.train(folder, *SHORT, *sets(archive__pack_every=2, train__steps=4, checkpoint__every=2))
    check("all checksums and structures are correct" in harness.succeed("archive", "verify", folder), "a whole run is refused")
    path = folder / "result.json"
    told = json.loads(path.read_text())
    for change, said in (({"rollouts_total": told["rollouts_total"] + 1}, "all checksums"),  # of another end than the newest checkpoint: the run has gone on
                         ({"archive_sha256": "0" * 64}, "its rollouts are not those of which result.json has the hash")):
        path.write_text(json.dumps(told | change))
        code, out, err, _ = harness.run("archive", "verify", folder)
        check(said in out and code == (0 if "all" in said else FAILED), f"{change}: exit code {code}\n{out}{err}")
    path.write_text(json.dumps(told))
    manifest = json.loads((folder / "archive/manifest.json").read_text())
    shutil.copytree(folder, harness.work / "purged_later")
    later = harness.work / "purged_later"
    for file in (later / "archive").iterdir():
        file.unlink()
    check(manifest["files"], "nothing was packed")
    code, out, err, _ = harness.run("archive", "verify", later)
    check(code == FAILED and "it holds 0 rollouts where result.json counts" in out, f"exit code {code}\n{out}{err}")


def limits_of_files_are_said(harness):
    """ulimit -f, and a file system that holds no more files."""
    folder = harness.work / "limited"
    limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *SHORT, preexec_fn=limited)
    _, err = job.communicate(timeout=LIMIT_S)
    check(job.returncode == FAILED and "ulimit -f" in err, f"exit code {job.returncode}\n{err}")
    small = harness.work / "small"
    small.mkdir()
    script = 'mount -t tmpfs -o nr_inodes=24,size=64m none "$0" && exec "$@"'
    words = harness.command(["train", harness.tiny, *sets(run__dir=small / "run"), *SHORT])
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "bash", "-c", script, small, *words], capture_output=True, text=True, timeout=LIMIT_S)
    if "permitted" in done.stderr or "denied" in done.stderr:
        return print("skip  inodes: no mount namespace here")
    check(done.returncode == FAILED and "can hold no more files (inodes)" in done.stderr, f"exit code {done.returncode}\n{done.stderr}")


def memory_for_sharing_is_read_only(harness):
    """/dev/shm, on two ranks: either they do without it, or the run says what is missing before it trains."""
    script = 'mount -t tmpfs -o ro none /dev/shm && exec "$@"'
    work = tempfile.mkdtemp(prefix="rollcall_", dir="/var/tmp")  # the harness may work in /dev/shm
    try:
        words = harness.command(["train", harness.tiny, *sets(run__dir=f"{work}/run"), *SHORT, *sets(train__steps=4, checkpoint__every=2, archive__pack_every=2)], ranks=2)
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "bash", "-c", script, "x", *words], capture_output=True, text=True, timeout=LIMIT_S, cwd=work)
        if "permitted" in done.stderr or "denied" in done.stderr:
            return print("skip  /dev/shm: no mount namespace here")
        check(done.returncode == 0 or "/dev/shm" in done.stderr, f"exit code {done.returncode}\n{done.stderr}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def every_task_alone_is_recognised(harness):
    """srun without the plugin of this MPI."""
    folder = harness.work / "alone"
    code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=folder), *SHORT, env={"SLURM_STEP_NUM_TASKS": "2"})
    check(code == MISCONFIGURED and "srun started 2 tasks, but each of them is alone" in err and not folder.exists(), f"exit code {code}\n{err}")
    harness.train(folder, *SHORT, *sets(train__steps=1), ranks=2, env={"SLURM_STEP_NUM_TASKS": "2"})


def slurms_memory_counts(harness):
    """--mem, which a site need not enforce by a control group."""
    for limit in ({"SLURM_MEM_PER_NODE": "9"}, {"SLURM_MEM_PER_CPU": "3", "SLURM_CPUS_ON_NODE": "3"}):
        code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "memory"), *SHORT, env=limit)
        check(code == MISCONFIGURED and "memory" in err, f"{limit}: exit code {code}\n{err}")
    for nonsense in ({"SLURM_MEM_PER_NODE": "0"}, {"SLURM_MEM_PER_NODE": "all"}):
        harness.train(harness.work / f"memory_{nonsense['SLURM_MEM_PER_NODE']}", *SHORT, *sets(train__steps=1), env=nonsense)


def an_alarm_from_outside_ends_nothing(harness):
    folder = harness.work / "alarm"
    job = harness.start("train", harness.tiny, *sets(run__dir=folder, run__log_level="info"), *SHORT, *sets(train__steps=60), ranks=2)
    while not (folder / "metrics.jsonl").exists() or not metrics(folder):
        check(job.poll() is None, f"the run ended too early: {job.poll()}")
        time.sleep(0.01)
    pids = ranks_of(folder)
    for _ in range(20):
        for pid in pids.values():
            try:
                os.kill(pid, signal.SIGALRM)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
    _, err = job.communicate(timeout=LIMIT_S)
    check(len(pids) == 2 and job.returncode == 0 and result(folder)["train_steps"] == 60, f"exit code {job.returncode}\n{err}")


def a_stop_leaves_graders_alone(harness):
    """srun sends SIGUSR1 to every process of a step. The verdicts at hand are finished, so the run goes on to the end of an undisturbed one."""
    grader = harness.work / "grader.py"
    grader.write_text("import json, sys, time\nfor line in sys.stdin:\n    asked = json.loads(line)\n    time.sleep(0.03)\n"
                      "    print(json.dumps({'id': asked['id'], 'score': len(asked['response']) % 3 / 2, 'correct': False}), flush=True)\n")
    settings = [*SHORT, "--set", f'reward.command=["python3", "{grader}"]', *sets(task__format_weight=0, train__steps=5, reward__processes=2)]
    calm, folder = harness.work / "calm", harness.work / "stopped"
    harness.train(calm, *settings)
    job = harness.start("train", harness.tiny, *sets(run__dir=folder), *settings)
    while not (folder / "metrics.jsonl").exists() or not metrics(folder):
        check(job.poll() is None, f"the run ended too early: {job.poll()}")
        time.sleep(0.005)
    processes = family(job.pid)
    for pid in processes:
        os.kill(pid, signal.SIGUSR1)
    _, err = job.communicate(timeout=LIMIT_S)
    check(job.returncode == STOPPED and len(processes) >= 4, f"exit code {job.returncode}, {len(processes)} processes\n{err}")
    check("reward.command: " not in err, f"a grader was hurt\n{err}")
    harness.train(folder, "--resume", *settings)
    check(result(folder)["archive_sha256"] == result(calm)["archive_sha256"], "other verdicts than in an undisturbed run")


def long_names_on_two_ranks(harness):
    folder = harness.work / ("long " * 30) / ("name" * 20)
    folder = folder.with_name(folder.name[: max(1, 240 - len(str(folder.parent)) - 1)] if len(str(folder.parent)) < 239 else folder.name)
    check(len(str(folder)) >= 240, f"{len(str(folder))} characters")
    harness.train(folder, *SHORT, *sets(train__steps=4, checkpoint__every=2, archive__pack_every=2), ranks=2)
    check(list(folder.glob("archive/*.h5")), "nothing was packed")


main(metrics_are_removed, the_lock_is_replaced, the_archive_is_purged, verify_asks_the_result, limits_of_files_are_said, memory_for_sharing_is_read_only, every_task_alone_is_recognised,
     slurms_memory_counts, a_stop_leaves_graders_alone, an_alarm_from_outside_ends_nothing, long_names_on_two_ranks, at_a_time=2)

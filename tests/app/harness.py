"""Starts rollcall alone or under the MPI launcher, as the end-to-end tests need it.

Every test program is called as: TEST.py BINARY SOURCE_DIR MPIEXEC NUMPROC_FLAG [LAUNCHER_FLAG ...]"""
import array
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 120  # a hang is a failure
SKIPPED = 77
LOG_LINE = re.compile(r"^\[?\d{4}-\d\d-\d\d|^\d\d:\d\d:\d\d")
PROGRESS = re.compile(r"(sft|train|eval|validation) \[[#.]+\]")


class Harness:
    def __init__(self, arguments, folder=None):
        """Works in a new folder of `folder`, or of the usual place, which other nodes see too."""
        self.binary, source, mpiexec, numproc_flag, *flags = arguments
        self.source = pathlib.Path(source)
        self.tiny = str(self.source / "tests/app/tiny.toml")
        self.launcher = [mpiexec, *flags, numproc_flag]
        self._folder = tempfile.TemporaryDirectory(prefix="rollcall_app_", dir=folder)
        self.work = pathlib.Path(self._folder.name)
        self._ranks, self._starting = {}, threading.Lock()

    @staticmethod
    def copy(source, target):
        """A run folder with its hard links as plain copies."""
        shutil.copytree(source, target)

    def command(self, arguments, ranks=1):
        alone = [self.binary, *map(str, arguments)]
        return alone if ranks == 1 else [*self.launcher, str(ranks), *alone]

    def start(self, *arguments, ranks=1, env=None, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace", "cwd": self.work} | options
        return subprocess.Popen(self.command(arguments, ranks), env=os.environ | (env or {}), **options)

    def run(self, *arguments, ranks=1, env=None, input=None):
        """(exit code, stdout, stderr, seconds)"""
        began = time.monotonic()
        process = self.start(*arguments, ranks=ranks, env=env, stdin=subprocess.PIPE if input else subprocess.DEVNULL)
        try:
            out, err = process.communicate(input, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.terminate()  # a launcher takes its ranks along
            out, err = process.communicate()
            raise AssertionError(f"no end after {LIMIT_S} s: {' '.join(map(str, arguments))}\n{out}\n{err}") from None
        return process.returncode, out, err, time.monotonic() - began

    def succeed(self, *arguments, ranks=1, code=0, **options):
        """stdout of a command that must end with `code`"""
        got, out, err, _ = self.run(*arguments, ranks=ranks, **options)
        check(got == code, f"exit code {got}, not {code}: {' '.join(map(str, arguments))} on {ranks} ranks\n{out}\n{err}")
        return out

    def train(self, folder, *arguments, ranks=1, code=0, run_file=None, **options):
        """stdout of a tiny run in `folder`, or of another run file"""
        return self.succeed("train", run_file or self.tiny, "--set", f"run.dir={folder}", *arguments, ranks=ranks, code=code, **options)

    def kill_after(self, folder, *arguments, steps=3, run_file=None):
        """Trains in `folder` until so many steps are told, then SIGKILL."""
        process = self.start("train", run_file or self.tiny, "--set", f"run.dir={folder}", *arguments, start_new_session=True, stdout=None, stderr=None)
        await_steps(process, folder, steps)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def ranks(self, count):
        """So many ranks for the rest of the test, see Ranks."""
        with self._starting:
            if count not in self._ranks:
                self._ranks[count] = Ranks(self, count)
            return self._ranks[count]

    def close(self):
        """Whether all of them ended in order."""
        return all([ranks.close() for ranks in self._ranks.values()])


class Ranks:
    """Ranks that run job after job (job_server.cpp): for runs of which a test wants to see the files alone, since a start of the program takes longer than they do."""

    def __init__(self, harness, count):
        self._harness, self._count, self._turn, self._killed = harness, count, threading.Lock(), False
        self._errors = harness.work / f"ranks_{count}.err"
        server = [str(pathlib.Path(harness.binary).with_name("job_server"))]
        command = server if count == 1 else [*harness.launcher, str(count), *server]
        with open(self._errors, "w") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=harness.work)

    def train(self, folder, *arguments, keep=None):
        """A tiny run in `folder`. `keep` (with one rank) tells folders by numbers of steps: each becomes what a SIGKILL after so many steps
        would have left, a copy made while the process stands still."""
        check(self._count == 1 or not keep, "only one rank can be stopped as a whole")
        job = {"run_file": self._harness.tiny, "assignments": [f"run.dir={folder}"], "resume": False, "start_if_none": False}
        words = iter(map(str, arguments))
        for word in words:
            if word in ("--resume", "--start-if-none"):
                job[word.removeprefix("--").replace("-", "_")] = True
            else:
                job["assignments"].append({"--set": "", "--init-from": "run.init_from=", "--from-archive": "train.from_archive="}[word] + next(words))
        with self._turn:
            check(not self._killed, f"the {self._count} ranks were ended after an earlier failure")
            try:
                told = self._run(job, pathlib.Path(folder), keep or {})
            except Exception as failure:
                self._kill()  # whatever it says from here on would be taken for the next job's
                raise AssertionError(f"{failure}{self._said()}") from failure
        check(told == "exit code 0\n", f"{told or 'the ranks have ended'} {job}{self._said()}")

    def _run(self, job, folder, keep):
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        for steps, copy in sorted(keep.items()):
            await_steps(self._process, folder, steps)
            deadline = time.monotonic() + LIMIT_S
            self._process.send_signal(signal.SIGSTOP)
            try:
                while not stands_still(self._process.pid):
                    check(self._process.poll() is None and time.monotonic() < deadline, "the process does not stand still")
                    time.sleep(0.001)
                self._harness.copy(folder, copy)
            finally:
                self._process.send_signal(signal.SIGCONT)
            check(not (copy / "result.json").exists(), f"{folder} was stopped after its end")
        watch = threading.Timer(LIMIT_S, self._kill)
        watch.start()
        try:
            return next((line for line in self._process.stdout if line.startswith("exit code ")), "")
        finally:
            watch.cancel()

    def _said(self):
        return "\n" + self._errors.read_text(errors="replace")[-4000:]

    def _kill(self):
        self._killed = True
        if self._count > 1:
            self._process.terminate()  # a launcher takes its ranks along
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                pass
        self._process.kill()

    def close(self):
        try:
            self._process.stdin.close()
            code = self._process.wait(LIMIT_S)
        except (OSError, subprocess.TimeoutExpired):
            self._kill()
            code = self._process.wait()
        if code != 0:
            print(f"FAIL  {self._count} ranks did not end in order ({code}):{self._said()}", flush=True)
        return code == 0


def in_memory():
    """A file system in memory where there is room: runs of a second would mostly wait for a disk. What a run leaves when it is killed is the same on both. None: TMPDIR, or the usual place."""
    place = pathlib.Path("/dev/shm")
    fits = "TMPDIR" not in os.environ and place.is_dir() and os.access(place, os.W_OK) and not os.statvfs(place).f_flag & os.ST_NOEXEC
    return place if fits and shutil.disk_usage(place).free > 4 << 30 else None


def await_steps(process, folder, steps):
    """Until the run's metrics tell of so many training steps."""
    path, size, deadline = folder / "metrics.jsonl", 0, time.monotonic() + LIMIT_S
    while True:
        now = path.stat().st_size if path.exists() else 0
        if now != size and len(metrics(folder)) >= steps:
            return
        check(process.poll() is None and time.monotonic() < deadline, f"the run ended too early: {process.poll()}")
        size = now
        time.sleep(0.002)


def stands_still(pid):
    """Whether every thread of the process is stopped, see proc(5)."""
    try:
        return all((task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False  # a thread has ended meanwhile


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def sets(**values):
    """--set arguments: section__key=value"""
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def result(folder):
    return json.loads((pathlib.Path(folder) / "result.json").read_text())


def metrics(folder, phase="train"):
    text = (pathlib.Path(folder) / "metrics.jsonl").read_text()
    rows = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]  # the last line of a run in progress may be half there
    return [row for row in rows if row["phase"] == phase]


def weights(folder):
    """Of a model folder: tensor name -> its numbers (F32)."""
    data = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for tensor, entry in json.loads(data[8: 8 + size]).items():
        if tensor != "__metadata__":
            tensors[tensor] = array.array("f", data[8 + size + entry["data_offsets"][0]: 8 + size + entry["data_offsets"][1]])
    return tensors


def ranks_of(folder):
    """Process ids of the ranks that train in `folder`, by rank."""
    found, named = {}, re.compile(rb"run\.dir=%b|%b/submitted-[0-9a-f]+\.toml" % ((re.escape(str(folder)).encode(),) * 2))
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (process / "cmdline").read_bytes().split(b"\0"), (process / "environ").read_bytes()
        except OSError:
            continue  # it has ended
        rank = re.search(rb"\0(?:PMIX_RANK|OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)\0", environment)
        if rank and any(map(named.fullmatch, command)) and command[0].endswith(b"rollcall"):
            found[int(rank.group(1))] = int(process.name)
    return found


def family(pid):
    """The process and all that it started."""
    parents = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def policy_line(out):
    lines = [line for line in out.splitlines() if line.startswith("policy sha256 ")]
    check(len(lines) == 1, f"{len(lines)} lines with the policy's sha256, not 1:\n{out}")
    return lines[0]


def core_s():
    """Core time of all that was started here and has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(*tests, at_a_time=1):
    """Runs the tests, all with one harness; the exit code tells ctest. Those that mostly wait may run side by side; the ones of a tuple need each other's runs and keep their order."""
    harness = Harness(sys.argv[1:], in_memory())

    def passes(test):
        if isinstance(test, tuple):
            return all([passes(one) for one in test])
        began = time.monotonic()
        try:
            test(harness)
            print(f"ok    {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
            return True
        except Exception as failure:
            print(f"FAIL  {test.__name__}: {'' if isinstance(failure, AssertionError) else type(failure).__name__ + ' '}{failure}", flush=True)
            return False

    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        passed = list(pool.map(passes, tests))
    passed.append(harness.close())
    print(f"{core_s():.1f} core s", flush=True)
    sys.exit(0 if all(passed) else 1)

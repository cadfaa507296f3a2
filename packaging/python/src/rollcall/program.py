"""Starts the program of Rollcall and talks with it: runs in the background of a notebook."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any, Dict, IO, Iterator, List, Mapping, Optional, Sequence

from .errors import InputError, ProgramError
from .run import Path, Row, Run, follow, parse_toml

STOPPED = 75  # exit code of a run that a resume continues
_PREFIX = "rollcall: "  # of what the program says on standard error
_DEFAULT_DIR = "runs/run"  # run.dir of a run file without one
_STARTUP_S = 5.0  # longest time from a start until the program has its handlers


def find_program(program: Optional[Path] = None) -> str:
    """The program: what is given, else the environment's ROLLCALL_PROGRAM, else `rollcall` of
    PATH. Raises ProgramError."""
    asked = (
        os.fspath(program)
        if program is not None
        else os.environ.get("ROLLCALL_PROGRAM", "rollcall")
    )
    found = shutil.which(asked)
    if not found:
        raise ProgramError(
            f"there is no program {asked}",
            "runs are started and answers judged by it",
            "put its folder on PATH (build/release/bin of a build), name it in ROLLCALL_PROGRAM, or"
            " give program=",
        )
    return found


def failure(what: str, code: int, said: str) -> ProgramError:
    """What the program said when it ended with an error."""
    lines = [line for line in said.strip().splitlines() if line.strip()]
    told = [
        line[len(_PREFIX) :] if line.startswith(_PREFIX) else line
        for line in lines
        if line.startswith((_PREFIX, "  | "))
    ] or lines[-3:]
    return ProgramError(f"{what} ended with exit code {code}: " + "\n".join(told), code=code)


def ask(arguments: Sequence[str], program: Optional[Path] = None) -> str:
    """Standard output of a command. Raises ProgramError with its message."""
    done = subprocess.run(
        [find_program(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise failure(
            "rollcall " + " ".join(arguments[:2]), done.returncode, done.stdout + done.stderr
        )
    return done.stdout


def _value(value: Any) -> str:
    """A setting's value in TOML."""
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (bool, int, float, list, tuple)):
        return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    raise InputError(
        f"{value!r} is no value of a setting",
        "settings are texts, numbers, true or false, and lists of them",
        "give one of these",
    )


def _folder(
    run_file: Optional[pathlib.Path], settings: Mapping[str, Any], resume: bool
) -> pathlib.Path:
    if "run.dir" in settings:
        return pathlib.Path(settings["run.dir"])
    if run_file is None:
        return pathlib.Path(_DEFAULT_DIR)
    if resume and run_file.name == "config.toml" and (run_file.parent / ".lock").exists():
        return run_file.parent  # it belongs to the folder that it lies in
    return pathlib.Path(str(parse_toml(run_file).get("run", {}).get("dir", _DEFAULT_DIR)))


def train(
    run_file: Optional[Path] = None,
    settings: Optional[Mapping[str, Any]] = None,
    *,
    resume: bool = False,
    start_if_none: bool = False,
    from_archive: Optional[Path] = None,
    launcher: Sequence[str] = (),
    program: Optional[Path] = None,
) -> "Job":
    """Starts `rollcall train` in the background and returns at once.

    run_file: a TOML run file; settings: {"section.key": value} over it. launcher: what starts
    several ranks, as ["mpirun", "-n", "4"]. The run goes on when a cell is interrupted. Raises
    ProgramError where there is no program, InputError for a value that no setting has; what the
    program itself finds wrong with the settings, Job.wait() and Job.watch() raise."""
    path = pathlib.Path(run_file) if run_file is not None else None
    if path is not None and not path.exists():
        raise InputError(
            f"{path} is not there",
            "it holds the settings of the run",
            "name a run file, or leave it out and give settings",
        )
    settings = dict(settings or {})
    command: List[str] = [*launcher, find_program(program), "train"]
    command += [str(path)] if path is not None else []
    command += [
        word for key, value in settings.items() for word in ("--set", f"{key}={_value(value)}")
    ]
    command += ["--resume"] if resume else []
    command += ["--start-if-none"] if start_if_none else []
    command += ["--from-archive", os.fspath(from_archive)] if from_archive is not None else []
    return Job(command, _folder(path, settings, resume).absolute())


class Job:
    """A run that this process has started."""

    def __init__(self, command: Sequence[str], folder: pathlib.Path) -> None:
        self.command, self.folder = list(command), folder
        metrics = folder / "metrics.jsonl"
        self._known = metrics.stat().st_size if metrics.exists() else 0
        self._said: IO[str] = tempfile.TemporaryFile("w+", errors="replace")
        self._began = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def __repr__(self) -> str:
        code = self.process.poll()
        return (
            f"<Job in {self.folder}:"
            f" {'running' if code is None else f'ended with exit code {code}'}>"
        )

    @property
    def run(self) -> Run:
        """The run, once it has a folder."""
        return Run(self.folder)

    @property
    def output(self) -> str:
        """What the program has printed so far."""
        descriptor = self._said.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def watch(self, phase: Optional[str] = None, every_s: float = 0.5) -> Iterator[Row]:
        """The metrics of each step as it is done. Raises ProgramError where the run fails.
        Interrupting it leaves the run alone."""
        yield from follow(
            self.folder / "metrics.jsonl", lambda: self.is_running, phase, every_s, from_start=True
        )
        self.wait()

    def wait(self, timeout_s: Optional[float] = None) -> str:
        """"done" or "stopped", when it has ended. Raises ProgramError where it failed,
        TimeoutError where it still runs."""
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.folder} still runs after {timeout_s} s") from None
        if code == 0:
            return "done"
        if code in (STOPPED, -signal.SIGUSR1):
            return "stopped"
        raise failure(f"the run in {self.folder}", code, self.output)

    def stop(self, timeout_s: Optional[float] = None) -> str:
        """Stops the run with a checkpoint, by SIGUSR1, which launchers pass on; returns what
        wait() returns."""
        while (
            self.is_running
            and time.monotonic() - self._began < _STARTUP_S
            and not (self.folder / ".lock").exists()
        ):
            time.sleep(0.02)  # a signal during the loading of libraries would end it without a word
        if self.is_running:
            self.process.send_signal(signal.SIGUSR1)
        return self.wait(timeout_s)

    def resume(self, settings: Optional[Mapping[str, Any]] = None) -> "Job":
        """Continues it from its newest checkpoint, in the same way as it was started."""
        words = self.command
        start = words.index("train")
        changes: Dict[str, Any] = dict(settings or {})
        return train(
            self.folder / "config.toml",
            changes,
            resume=True,
            launcher=words[: start - 1],
            program=words[start - 1],
        )

"""A run as its folder tells of it: settings, state, metrics, and the tables of its rollouts."""

from __future__ import annotations

import copy
import dataclasses
import fcntl
import json
import os
import pathlib
import sys
import time
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from .errors import InputError, StorageError
from .files import REPAIR, check_files
from .listing import Part, list_parts
from .readers import Reader
from .schema import PURPOSES
from .tables import Table, _package

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import pandas

    from .program import Job

Path = Union[str, "os.PathLike[str]"]
Row = Dict[str, Any]
T = TypeVar("T")

_TEXT_COLUMNS = (
    "purpose",
    "step",
    "prompt_id",
    "draw",
    "sample",
    "prompt",
    "reference",
    "completion",
    "extracted",
    "reward",
    "correct",
    "reason",
)
_TRIES = 5  # listings of a run that packs while it is read


@dataclasses.dataclass(frozen=True)
class Status:
    """What a run is doing, from its folder."""

    #: not started, starting, running, done, stopped, failed, or dead: no process holds the folder,
    #: and the run did not end
    state: str
    phase: str  #: the run's own word: train, eval, done, stopped on ...; empty before its first
    sft_steps: int
    sft_steps_wanted: int
    train_steps: int
    train_steps_wanted: int
    rollouts: int
    updated_unix_s: float  #: when it last said so; 0 where it never did
    diagnoses: Tuple[
        Mapping[str, str], ...
    ]  #: {"name", "kind", "what", "advice"}: docs/reference names them
    failure: str  #: why the last start failed; empty where it did not


def parse_toml(path: pathlib.Path) -> Dict[str, Any]:
    """Raises InputError naming the file and the line."""
    try:
        found: Dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return found
    except FileNotFoundError:
        raise InputError(
            f"{path} is not there", "it holds the settings", "name a run folder, or a run file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is no TOML: {error}", "its settings cannot be read", "mend that line"
        ) from None


def metric_lines(path: pathlib.Path, offset: int = 0) -> Tuple[List[Row], int]:
    """The whole lines of metrics.jsonl from a byte on, and the byte after them. A last line that
    is half written waits for the next call."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            block = file.read()
    except FileNotFoundError:
        return [], 0
    block = block[: block.rfind(b"\n") + 1]
    rows = []
    for number, line in enumerate(block.splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append(dict(row, phase=str(row["phase"]), step=int(row["step"])))
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{path}, line {number} after byte {offset} is no line of metrics ({error})",
                "what comes after it cannot be trusted either",
                "look at that line; a resume of the run cuts the file after its last whole step",
            ) from None
    return rows, offset + len(block)


class Run:
    """A run folder, or one HDF5 file of a run.

    Its tables (groups to fact_components, texts, steps) read from the files that it lists when the
    first is asked, so that rows keep their numbers while the run writes on; refresh() lists again. select() narrows it to a purpose and to steps."""

    def __init__(self, path: Path, check: bool = True) -> None:
        self.path = pathlib.Path(path)
        if not self.path.exists():
            raise InputError(
                f"{self.path} is not there",
                "there is nothing to read",
                "name a run folder, or an HDF5 file of one",
            )
        if self.path.is_dir() and not any(
            (self.path / name).exists()
            for name in ("config.toml", "archive", "shards", "metrics.jsonl")
        ):
            raise InputError(
                f"{self.path} is no run folder",
                "it has neither config.toml nor archive, shards or metrics",
                "name the folder that run.dir names",
            )
        self._check = check
        self._parts: Optional[List[Part]] = None
        self._until: Dict[str, int] = {}
        self._purpose: Optional[str] = None
        self._first, self._last = 0, 2**63 - 1
        self._components: Optional[List[str]] = None

    def __repr__(self) -> str:
        return f"<Run {self.path}>"

    # The folder

    def _file(self, name: str) -> pathlib.Path:
        if not self.path.is_dir():
            raise InputError(
                f"{self.path} is one file of a run",
                f"{name} lies in the run's folder",
                "open the folder",
            )
        return self.path / name

    @property
    def config(self) -> Dict[str, Any]:
        """Every setting of the run, by section: run.config["train"]["lr"]."""
        return parse_toml(self._file("config.toml"))

    @property
    def result(self) -> Optional[Row]:
        """result.json: hashes, evaluations and times of a run that is done; None before."""
        return self._json("result.json")

    def _json(self, name: str) -> Optional[Row]:
        path = self._file(name)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StorageError(
                f"{path} is no JSON ({error})",
                "a power cut may have left it incomplete",
                "resume the run, which writes it again",
            ) from None
        if not isinstance(found, dict):
            raise StorageError(
                f"{path} holds no object",
                "it is not what the run wrote",
                "resume the run, which writes it again",
            )
        return found

    @property
    def is_running(self) -> bool:
        """Whether a process holds the folder. A file system without locks never says so."""
        try:
            descriptor = os.open(self._file(".lock"), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)

    @property
    def status(self) -> Status:
        running = self.is_running
        said = self._json("status.json") or {}
        failure_file = self._file("failure")
        failure = (
            failure_file.read_text(encoding="utf-8", errors="replace").strip()
            if failure_file.exists() and not running
            else ""
        )
        phase = str(said.get("phase", ""))
        state = (
            ("running" if phase else "starting")
            if running
            else (
                "failed"
                if failure
                else (
                    "not started"
                    if not phase
                    else (
                        "done"
                        if phase == "done"
                        else "stopped" if phase.startswith("stopped") else "dead"
                    )
                )
            )
        )
        counts = {
            name: int(said.get(name, 0))
            for name in ("sft_steps", "sft_steps_wanted", "train_steps", "train_steps_wanted")
        }
        return Status(
            state=state,
            phase=phase,
            **counts,
            rollouts=int(said.get("rollouts_total", 0)),
            updated_unix_s=float(said.get("updated_unix_s", 0)),
            diagnoses=tuple(said.get("diagnoses", ())),
            failure=failure,
        )

    def metric_rows(self, phase: Optional[str] = None) -> List[Row]:
        """The lines of metrics.jsonl as dicts, each step once; phase: sft, train, validation or
        eval alone."""
        rows, _ = metric_lines(self._file("metrics.jsonl"))
        by_step = {(row["phase"], row["step"]): row for row in rows}
        return [row for row in by_step.values() if phase in (None, row["phase"])]

    def metrics(self, phase: Optional[str] = None) -> "pandas.DataFrame":
        """The metrics as a pandas frame; of one phase with the step as index.
        docs/reference/metrics.md explains the columns."""
        pandas = _package("pandas", "frames", "metric_rows()")
        frame = pandas.DataFrame(self.metric_rows(phase))
        return (
            frame if phase is None or frame.empty else frame.drop(columns="phase").set_index("step")
        )

    # The rollouts

    def select(
        self, purpose: Optional[str] = None, first_step: int = 0, last_step: Optional[int] = None
    ) -> "Run":
        """The same run, of whose rollouts only those of a purpose (train, validation, eval,
        greedy) and of these steps count, the last included.

        Files of other purposes and steps are not opened."""
        if purpose is not None and purpose not in PURPOSES:
            raise InputError(
                f"there is no purpose {purpose!r}",
                "files hold rollouts of one purpose each",
                f"take one of {', '.join(PURPOSES)}",
            )
        self._listed()
        chosen = copy.copy(self)
        chosen._purpose = purpose or self._purpose
        chosen._first = max(self._first, first_step)
        chosen._last = self._last if last_step is None else min(self._last, last_step)
        return chosen

    def refresh(self) -> "Run":
        """Lists the files again, so that what the run has written meanwhile is seen; returns
        itself."""
        self._parts = self._components = None
        return self

    def _listed(self) -> List[Part]:
        if self._parts is None:
            self._parts = list_parts(self.path)
            self._until = {}
            for part in self._parts:
                self._until[part.purpose] = max(part.last_step, self._until.get(part.purpose, 0))
        return self._parts

    def _chosen(self) -> List[Part]:
        return [
            part
            for part in self._listed()
            if self._purpose in (None, part.purpose)
            and part.last_step >= self._first
            and part.first_step <= min(self._last, self._until.get(part.purpose, -1))
        ]

    def _each_part(
        self, read: Callable[[Reader], T], begin: Callable[[], None] = lambda: None
    ) -> List[T]:
        """read() of every part in order. Where a shard goes because the run packs it, all is
        read again from the files that there are then."""
        for attempt in range(_TRIES):
            begin()
            try:
                parts = self._chosen()
                if self._check:
                    check_files([(path, part.size) for part in parts for path in part.paths])
                found = []
                for part in parts:
                    with part.open(
                        self._first, min(self._last, self._until[part.purpose])
                    ) as reader:
                        found.append(read(reader))
                return found
            except FileNotFoundError as error:
                gone = error
                self._parts = [
                    part
                    for part in list_parts(self.path)
                    if part.first_step <= self._until.get(part.purpose, -1)
                ]
                time.sleep(0.02 * attempt)
        raise StorageError(
            f"{gone.filename or gone} is missing",
            "the manifest of the archive lists it",
            "bring it back from a copy; " + REPAIR,
        )

    @property
    def purposes(self) -> List[str]:
        """What there are rollouts of, in the order of the archive."""
        return list(dict.fromkeys(part.purpose for part in self._chosen()))

    @property
    def component_names(self) -> List[str]:
        """Names of the parts of the reward."""
        if self._components is None:
            names: Dict[str, None] = {}
            whole = copy.copy(self)
            for purpose in self.purposes:
                first = next(part for part in self._chosen() if part.purpose == purpose)
                whole._purpose, whole._first, whole._last = (
                    purpose,
                    first.first_step,
                    first.first_step,
                )
                for found in whole._each_part(lambda reader: reader.component_names):
                    names.update(dict.fromkeys(found))
            self._components = list(names)
        return self._components

    @property
    def steps(self) -> Table:
        """A row for each purpose and step: groups, rollouts, tokens of the policy, and means
        over rollouts with a verdict."""
        return Table(self, "steps")

    @property
    def groups(self) -> Table:
        """A row for each prompt of a step."""
        return Table(self, "groups")

    @property
    def rollouts(self) -> Table:
        """A row for each answer."""
        return Table(self, "rollouts")

    @property
    def turns(self) -> Table:
        """A row for each turn of a rollout: prompt (role 0), policy (1), environment (2)."""
        return Table(self, "turns")

    @property
    def tokens(self) -> Table:
        """A row for each token of a turn."""
        return Table(self, "tokens")

    @property
    def kept(self) -> Table:
        """A row for each token that was drawn with top_k or top_p."""
        return Table(self, "kept")

    @property
    def kept_ids(self) -> Table:
        """A row for each token that top_k and top_p left to draw from, where a run stored them."""
        return Table(self, "kept_ids")

    @property
    def turn_facts(self) -> Table:
        """A row for each turn of a conversation: what the environment made of it."""
        return Table(self, "turn_facts")

    @property
    def fact_components(self) -> Table:
        """A row for each part of a turn's reward that the environment named."""
        return Table(self, "fact_components")

    @property
    def texts(self) -> Table:
        """The rollouts with what was asked and answered: prompt, reference, completion,
        extracted answer, reason of the verdict."""
        return Table(self, "rollouts", _TEXT_COLUMNS, "texts")

    # The program

    def verify(self, program: Optional[Path] = None) -> str:
        """What `rollcall archive verify` says of every checksum. Raises ProgramError where
        something is damaged."""
        from .program import ask

        return ask(["archive", "verify", str(self.path)], program)

    def watch(
        self, phase: Optional[str] = None, every_s: float = 1.0, from_start: bool = True
    ) -> Iterator[Row]:
        """The metrics of each step as it is done, until no process holds the folder.
        Interrupting it leaves the run alone."""
        return follow(
            self._file("metrics.jsonl"), lambda: self.is_running, phase, every_s, from_start
        )

    def stop(self) -> None:
        """Asks the run to stop between two steps with a checkpoint, from anywhere: makes
        RUN/stop. A job under Slurm is not requeued."""
        self._file("stop").touch()

    def resume(
        self,
        settings: Optional[Mapping[str, Any]] = None,
        *,
        launcher: Sequence[str] = (),
        program: Optional[Path] = None,
    ) -> "Job":
        """Continues the run from its newest checkpoint, as `rollcall train --resume
        RUN/config.toml`."""
        from .program import train

        return train(
            self._file("config.toml"), settings, resume=True, launcher=launcher, program=program
        )


def follow(
    path: pathlib.Path,
    alive: Callable[[], bool],
    phase: Optional[str],
    every_s: float,
    from_start: bool,
) -> Iterator[Row]:
    """Rows of metrics as they are written, each step once, until alive() is false and no row is
    left."""
    offset = 0
    seen = set()
    if not from_start:
        rows, offset = metric_lines(path)
        seen = {(row["phase"], row["step"]) for row in rows}
    while True:
        last = not alive()
        if path.exists() and path.stat().st_size < offset:
            offset = 0  # a resume has cut the file
        rows, offset = metric_lines(path, offset)
        for row in rows:
            key = (row["phase"], row["step"])
            if key not in seen and phase in (None, row["phase"]):
                seen.add(key)
                yield row
        if last:
            return
        if not rows:
            time.sleep(every_s)


def open_run(path: Path, *, check: bool = True) -> Run:
    """The run in a folder, or one HDF5 file of a run. Raises InputError where it is neither.

    check: a child process reads each file's structure before this one opens it, because HDF5 may
    crash on a damaged file; it takes about 0.3 s."""
    return Run(path, check)

"""Which files of a run hold its rollouts: the archive by its manifest, and shards that no
archive file has replaced yet."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import re
from typing import Dict, Iterator, List, Optional, Tuple

from .errors import InputError, SchemaError, StorageError
from .files import REPAIR, File, check_files
from .readers import ArchiveReader, Reader, StepReader, opened
from .schema import PURPOSES

MANIFEST_FORMAT = 2
_SHARD = re.compile(
    r"(?P<purpose>[a-z]+)-(?P<step>\d{6,})-(?P<round>\d{2,})-(?P<producer>\d{4,})"
    r"(?:-(?P<holds>scores|scored|training))?\.h5"
)


@dataclasses.dataclass(frozen=True)
class Part:
    """An archive file, or the shards of one step."""

    purpose: str
    first_step: int
    last_step: int
    archive: str = ""  #: path of the archive file; empty: shards
    size: Optional[int] = None  #: bytes of the archive file, by the manifest
    shards: Tuple[
        Tuple[str, str], ...
    ] = ()  #: (rollouts, scores), the same path where one file holds both
    training: str = ""

    @property
    def paths(self) -> List[str]:
        if self.archive:
            return [self.archive]
        return list(
            dict.fromkeys(
                [path for pair in self.shards for path in pair]
                + ([self.training] if self.training else [])
            )
        )

    @contextlib.contextmanager
    def open(self, first_step: int, last_step: int) -> Iterator[Reader]:
        """Raises FileNotFoundError where a shard has been packed meanwhile."""
        with opened(self.paths) as files:
            if self.archive:
                if files[0].purpose != self.purpose:
                    raise StorageError(
                        f"{self.archive} is of the purpose {files[0].purpose}, and the manifest"
                        f" says {self.purpose}",
                        "it is not the file that was packed",
                        REPAIR,
                    )
                yield ArchiveReader(files[0], first_step, last_step)
            else:
                by_path = {file.path: file for file in files}
                yield StepReader(
                    [(by_path[rollouts], by_path[scores]) for rollouts, scores in self.shards],
                    by_path.get(self.training),
                )


def _manifest(run: pathlib.Path) -> List[Part]:
    path = run / "archive" / "manifest.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if list((run / "archive").glob("*.h5")) and not list((run / "shards").glob("*.h5")):
            raise StorageError(
                f"{path} is missing",
                "it says which archive files are whole",
                "run `rollcall archive repair RUN`, which rebuilds it",
            ) from None
        return []
    try:
        manifest = json.loads(text)
        if manifest["format"] > MANIFEST_FORMAT:
            raise SchemaError(
                f"{path} has format {manifest['format']}",
                f"this package reads format {MANIFEST_FORMAT}",
                "install the package of the Rollcall that wrote it: pip install ./packaging/python",
            )
        return [
            Part(
                str(entry["purpose"]),
                int(entry["first_step"]),
                int(entry["last_step"]),
                str(run / entry["file"]["path"]),
                int(entry["file"]["bytes"]),
            )
            for entry in manifest["files"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{path} cannot be read as a manifest ({error})",
            "it says which archive files are whole",
            "run `rollcall archive repair RUN`, which rebuilds it",
        ) from None


def _shards(folder: pathlib.Path) -> List[Tuple[Tuple[str, int, int, int], str, str]]:
    """[((purpose, step, round, producer), what it holds, path)] in order."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        match = _SHARD.fullmatch(name)
        if match:
            key = (
                match["purpose"],
                int(match["step"]),
                int(match["round"]),
                int(match["producer"]),
            )
            found.append((key, match["holds"] or "rollouts", str(folder / name)))
    return sorted(found)


def _steps(shards: List[Tuple[Tuple[str, int, int, int], str, str]]) -> List[Part]:
    """Shards with scores, step by step; those that are not scored yet are left out."""
    held = {(key, holds): path for key, holds, path in shards}
    steps: Dict[Tuple[str, int], List[Tuple[str, str]]] = {}
    for key, holds, path in shards:
        scores = (
            path
            if holds == "scored"
            else held.get((key, "scores"), "") if holds == "rollouts" else ""
        )
        if scores:
            steps.setdefault(key[:2], []).append((path, scores))
    training = {key[:2]: path for key, holds, path in shards if holds == "training"}
    return [
        Part(purpose, step, step, shards=tuple(pairs), training=training.get((purpose, step), ""))
        for (purpose, step), pairs in steps.items()
    ]


def list_parts(path: pathlib.Path) -> List[Part]:
    """The parts of a run folder or of one file of a run, in the order of the archive: purpose,
    then step."""
    if path.is_dir():
        loose = _steps(
            _shards(path / "shards")
        )  # before the manifest: a step that is packed in between is then in both
        parts = _manifest(path)
        packed: Dict[str, List[Tuple[int, int]]] = {}
        for part in parts:
            packed.setdefault(part.purpose, []).append((part.first_step, part.last_step))
        parts += [
            part
            for part in loose
            if not any(
                first <= part.first_step <= last for first, last in packed.get(part.purpose, [])
            )
        ]
    else:
        parts = _one_file(path)
    rank = {purpose: number for number, purpose in enumerate(PURPOSES)}
    return sorted(parts, key=lambda part: (rank.get(part.purpose, len(rank)), part.first_step))


def _one_file(path: pathlib.Path) -> List[Part]:
    match = _SHARD.fullmatch(path.name)
    if match:
        key = (match["purpose"], int(match["step"]), int(match["round"]), int(match["producer"]))
        beside = [
            shard
            for shard in _shards(path.parent)
            if shard[0] == key or (shard[0][:2] == key[:2] and shard[1] == "training")
        ]
        parts = _steps(beside)
        if match["holds"] == "training" or not parts:
            raise InputError(
                f"{path} holds no scored rollouts",
                "what was sampled, how it was scored and what was trained on may be several files"
                " until they are packed",
                "name the run folder, or put the files of the step side by side",
            )
        return parts
    check_files([(str(path), None)])
    with File(path) as file:
        if file.kind != "archive":
            raise InputError(
                f"{path} is a file of the kind {file.kind} under another name",
                "what belongs to it is found by its name",
                "name the run folder or an archive file",
            )
        return [
            Part(
                file.purpose, int(file.facts["first_step"]), int(file.facts["last_step"]), str(path)
            )
        ]

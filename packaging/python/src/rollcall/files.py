"""One HDF5 file of a run: its form, its facts and its columns, read one at a time."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
from typing import Any, Dict, Iterable, List, Optional, Tuple

import h5py
import numpy as np
from numpy.typing import NDArray

from .errors import SchemaError, StorageError
from .schema import COMPACT_MAJOR, TABLES_MAJOR, absent

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_INDEX = ["name", "type", "offset", "bytes"]
_LFS = b"version https://git-lfs"
_checked: Dict[str, Tuple[int, int, int]] = (
    {}
)  # paths that came through the probe: (inode, size, time of change)
_checking = threading.Lock()

REPAIR = (
    "run `rollcall archive verify RUN`, which names all that is damaged, and `rollcall archive"
    " repair RUN`"
)


def damaged(path: "os.PathLike[str] | str", what: str) -> StorageError:
    return StorageError(f"{path}: {what}", "its rollouts cannot be trusted", REPAIR)


def _stamp(path: str) -> Tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def _first_look(path: str, expected: Optional[int]) -> None:
    """What can be said of a file without HDF5."""
    with open(path, "rb") as file:
        head = file.read(len(_LFS))
    size = os.path.getsize(path)
    if head == _LFS:
        raise StorageError(
            f"{path} is a pointer that Git LFS left in the place of the file",
            "it holds no rollouts",
            "run `git lfs pull`",
        )
    if not head.startswith(_SIGNATURE):
        raise StorageError(
            f"{path} is no HDF5 file",
            "it has no rollouts of a run",
            "name the run folder or a file of its archive; " + REPAIR,
        )
    if expected is not None and size != expected:
        raise damaged(path, f"it has {size} bytes, and the manifest says {expected}")


def check_files(paths: Iterable[Tuple[str, Optional[int]]]) -> None:
    """Lets a child process read the structure of files that this process has not seen yet.

    paths: (path, bytes that the manifest gives it or None). Raises StorageError for the first
    file that is none of a run, that ends the child, or that takes it more than five seconds of
    processor time; FileNotFoundError for one that has gone."""
    with _checking:
        new: List[str] = []
        for path, expected in paths:
            if _checked.get(path) != _stamp(path):
                _first_look(path, expected)
                new.append(path)
        if not new:
            return
        stamps = {path: _stamp(path) for path in new}
        probe = pathlib.Path(__file__).with_name("probe.py").read_text()
        with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as given:
            given.write("".join(path + "\n" for path in new))
            given.seek(0)
            environment = dict(
                os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))
            )  # where this process finds h5py
            child = subprocess.run(
                [sys.executable, "-c", probe],
                stdin=given,
                stdout=told,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                check=False,
            )
            told.seek(0)
            answers = told.read().splitlines()
        for path, answer in zip(new, answers):
            if answer:
                if not os.path.exists(path):
                    raise FileNotFoundError(path)
                raise damaged(path, answer)
            _checked[path] = stamps[path]
        if len(answers) < len(new):
            if child.returncode >= 0:
                raise StorageError(
                    f"{new[len(answers)]} could not be checked: {child.stderr.strip()[-300:]}",
                    "a damaged file would end this process",
                    "see that Python can start a second process here, or open the run with"
                    " check=False",
                )
            raise damaged(
                new[len(answers)],
                f"HDF5 ends with signal {-child.returncode} when it reads the file's structure",
            )


def _text(value: Any) -> Any:
    return (
        value.decode(errors="replace")
        if isinstance(value, bytes)
        else value.item() if isinstance(value, np.generic) else value
    )


def without_lock(path: str) -> h5py.File:
    """Opens a file to read it, if possible without a lock, which some file systems refuse. HDF5
    may not be able to be asked, and a file that this process has open already keeps its lock."""
    try:
        return h5py.File(path, "r", locking=False)
    except (TypeError, ValueError):
        return h5py.File(path, "r")
    except OSError as error:
        if "locking flag" not in str(error):
            raise
        return h5py.File(path, "r")


class File:
    """An open file; a context manager. Columns are named TABLE/COLUMN, as in
    docs/reference/archive.md, in both forms of a file."""

    def __init__(self, path: "os.PathLike[str] | str") -> None:
        self.path = os.fspath(path)
        try:
            self._file = without_lock(self.path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise damaged(self.path, str(error)) from None
        try:
            self._read_facts()
        except (KeyError, ValueError, TypeError, OSError, RuntimeError) as error:
            self._file.close()
            if isinstance(error, OSError):
                raise damaged(self.path, str(error)) from None
            raise StorageError(
                f"{self.path} says nothing of the run that wrote it ({error})",
                "it is no file of a run, or a damaged one",
                "name the run folder or a file of its archive; " + REPAIR,
            ) from None
        except StorageError:
            self._file.close()
            raise

    def _read_facts(self) -> None:
        attributes = self._file.attrs
        major, minor = int(attributes["schema_major"]), int(attributes["schema_minor"])
        kind = "archive" if "columns" not in self._file and "facts" not in attributes else "shard"
        if major < TABLES_MAJOR or major > (TABLES_MAJOR if kind == "archive" else COMPACT_MAJOR):
            raise SchemaError(
                f"{self.path} has schema {major}.{minor}",
                f"this package reads archives of schema {TABLES_MAJOR} and shards up to"
                f" {COMPACT_MAJOR}",
                "install the package of the Rollcall that wrote the file: pip install"
                " ./packaging/python",
            )
        self.compact = major == COMPACT_MAJOR
        if self.compact:
            self.facts: Dict[str, Any] = json.loads(_text(attributes["facts"]))
            self._index = {
                name.decode(): (np.dtype(kind.decode()), int(first), int(size))
                for name, kind, first, size in self._file["index"].fields(_INDEX)[:].tolist()
            }
            self._block = self._file["columns"]
            self._bytes = int(self._block.shape[0])
        else:
            self.facts = {name: _text(value) for name, value in attributes.items()}
        self.kind, self.purpose = str(self.facts["kind"]), str(self.facts["purpose"])
        self.schema = (major, minor)

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def has(self, name: str) -> bool:
        return name in self._index if self.compact else name in self._file

    @property
    def component_names(self) -> List[str]:
        """Names of the reward's components, in the order of rollouts/components; empty where the
        file has no scores."""
        if self.compact:
            return [str(name) for name in self.facts.get("component_names", [])]
        return (
            [_text(name) for name in self._file["rollouts/component"][:]]
            if "rollouts/component" in self._file
            else []
        )

    def length(self, name: str) -> int:
        """Rows of a column; 0 where an older file lacks it."""
        if not self.has(name):
            return 0
        if not self.compact:
            return int(self._file[name].shape[0])
        dtype, _, size = self._index[name]
        items = int(size // dtype.itemsize)
        return (
            items // max(1, len(self.component_names)) if name == "rollouts/components" else items
        )

    def column(
        self, name: str, start: int = 0, stop: Optional[int] = None
    ) -> Optional[NDArray[Any]]:
        """Rows start to stop of a column, without reading any other; None where an older file
        lacks it."""
        if not self.has(name):
            if absent(name)["value"] is None:
                raise damaged(self.path, f"it has no column {name}")
            return None
        try:
            stop = self.length(name) if stop is None else stop
            if not self.compact:
                return np.asarray(self._file[name][start:stop])
            dtype, first, size = self._index[name]
            if first + size > self._bytes:
                raise damaged(self.path, f"{name} ends after the end of the file")
            values: NDArray[Any] = self._block[first : first + size].view(dtype)
            if name == "rollouts/components":
                values = values.reshape(-1, max(1, len(self.component_names)))
            return values[start:stop]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise damaged(self.path, f"{name} cannot be read: {error}") from None

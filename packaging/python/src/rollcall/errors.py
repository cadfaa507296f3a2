"""The errors of this package: each message names a file or a value, says why it matters and what
to do."""

from __future__ import annotations

from typing import Optional


class RollcallError(Exception):
    """What all errors of this package are. The message reads: problem (why it matters); what to
    do."""

    def __init__(self, problem: str, why: str = "", remedy: str = "") -> None:
        super().__init__(f"{problem} ({why}); {remedy}" if why else problem)
        self.problem, self.why, self.remedy = problem, why, remedy


class InputError(RollcallError):
    """A path, a name or a value that was given is not what it should be."""


class StorageError(RollcallError):
    """A file of a run is damaged, missing or contradicts another one."""


class SchemaError(StorageError):
    """A file was written by a later Rollcall than this package knows."""


class MissingPackageError(RollcallError, ImportError):
    """A Python package that only some functions need is not installed."""


class ProgramError(RollcallError):
    """The program was not found, or it ended with an error, which then says itself why that
    matters and what to do."""

    def __init__(
        self, problem: str, why: str = "", remedy: str = "", code: Optional[int] = None
    ) -> None:
        super().__init__(problem, why, remedy)
        self.code = code  #: exit code of the program; None where it did not run

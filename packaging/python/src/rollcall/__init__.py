"""Reads the runs of Rollcall, starts and watches them, and judges answers with its verifiers.

rollcall.open(RUN) gives a run's settings, state, metrics and rollouts; rollcall.train(RUN_FILE)
starts one; rollcall.score(responses, answers) judges. docs/guide/python.md shows all of it."""

from .conversations import turn_texts
from .errors import (
    InputError,
    MissingPackageError,
    ProgramError,
    RollcallError,
    SchemaError,
    StorageError,
)
from .grading import Grader, score
from .program import Job, train
from .run import Run, Status
from .run import open_run as open  # noqa: A004
from .tables import Table

__version__ = "0.2.0"
__all__ = [
    "Grader",
    "InputError",
    "Job",
    "MissingPackageError",
    "ProgramError",
    "RollcallError",
    "Run",
    "SchemaError",
    "Status",
    "StorageError",
    "Table",
    "open",
    "score",
    "train",
    "turn_texts",
]

"""Columns of one part of a run: an archive file, or the shards of one step put into the order
that the archive has."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from .errors import StorageError
from .files import REPAIR, File, damaged
from .schema import PARENTS, SCORED, TEXT_OF, TRAINING, absent, split

Array = NDArray[Any]


def ragged(counts: Array, order: Array) -> Array:
    """Places of the items of rows taken in another order, where row i owns counts[i] items that
    lie end to end."""
    counts = counts.astype(np.int64)
    starts, taken = np.cumsum(counts) - counts, counts[order]
    ends = np.cumsum(taken)
    return np.repeat(starts[order] - (ends - taken), taken) + np.arange(
        int(ends[-1]) if len(ends) else 0
    )


def owner(name: str) -> str:
    """The column of counts that says whose the rows of a column are; empty for columns of
    groups."""
    table, column = split(name)
    if table == "text":
        return f"{TEXT_OF[column]}/{column}_bytes"
    return "/".join(PARENTS[table]) if table in PARENTS else ""


class Reader:
    """Raw columns of a part by name, each read once. A subclass has raw(), length(), purpose,
    component_names and path, which messages name."""

    purpose: str
    path: str

    def __init__(self) -> None:
        self._known: Dict[str, Array] = {}
        self.computed: Dict[str, Array] = (
            {}
        )  # columns that tables.py made of these, for the same call

    @property
    def component_names(self) -> List[str]:
        raise NotImplementedError

    def raw(self, name: str) -> Array:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Array:
        if name not in self._known:
            self._known[name] = self.raw(name)
        return self._known[name]

    def length(self, table: str) -> int:
        """Rows of a table."""
        if table not in PARENTS:
            return len(self["groups/step"])
        parent, counts = PARENTS[table]
        return int(self[f"{parent}/{counts}"].sum(dtype=np.int64))

    def filled(self, name: str, rows: int) -> Array:
        """A column that an older file does not have."""
        said = absent(name)
        return np.full(rows, said["value"], said["dtype"])

    def checked(self, name: str, values: Array, rows: int) -> Array:
        """The column, which must have so many rows; of a text so many bytes."""
        if len(values) != rows:
            raise damaged(
                self.path, f"{name} has {len(values)} rows, and the counts beside it say {rows}"
            )
        return values


class ArchiveReader(Reader):
    """An archive file, or those of its steps that lie between two."""

    def __init__(self, file: File, first_step: int, last_step: int) -> None:
        super().__init__()
        self._file, self.path, self.purpose = file, file.path, file.purpose
        self._ranges: Dict[str, Tuple[int, int]] = {}
        steps = file.column("groups/step")
        assert steps is not None  # a file without it is damaged, which column() says
        start, stop = (
            int(np.searchsorted(steps, first_step, "left")),
            int(np.searchsorted(steps, last_step, "right")),
        )
        self._whole = (start, stop) == (0, len(steps))
        self._ranges[""] = (start, stop)
        self._known["groups/step"] = steps[start:stop]

    @property
    def component_names(self) -> List[str]:
        return self._file.component_names

    def _range(self, counts: str) -> Tuple[int, int]:
        """First and last row of what a column of counts leads to."""
        if counts not in self._ranges:
            start, stop = self._range(owner(counts))
            before = self._file.column(counts, 0, start) if start else None
            first = 0 if before is None else int(before.sum(dtype=np.int64))
            self._ranges[counts] = (first, first + int(self[counts].sum(dtype=np.int64)))
        return self._ranges[counts]

    def raw(self, name: str) -> Array:
        start, stop = self._range(owner(name))
        values = self._file.column(name, start, stop)
        if values is None:
            return self.filled(name, stop - start)
        if self._whole:
            start, stop = 0, stop - start
            if self._file.length(name) != stop:
                raise damaged(
                    self.path,
                    f"{name} has {self._file.length(name)} rows, and the counts beside it say"
                    f" {stop}",
                )
        return self.checked(name, values, stop - start)


class StepReader(Reader):
    """The shards of one step of one purpose, read as packing would write them."""

    def __init__(self, shards: Sequence[Tuple[File, File]], training: Optional[File]) -> None:
        """shards: (rollouts, scores), which may be the same file."""
        super().__init__()
        self._shards, self._training = shards, training
        self.path, self.purpose = shards[0][0].path, shards[0][0].purpose
        self._orders: Dict[str, Array] = {}
        self._pieces: Dict[str, Array] = {}
        names = shards[0][1].component_names
        for rollouts, scores in shards:
            if scores.component_names != names:
                raise StorageError(
                    f"{scores.path} has other reward components than {shards[0][1].path}",
                    "shards of one step contradict each other",
                    REPAIR,
                )
            if scores is not rollouts and not all(
                np.array_equal(rollouts.column(key), scores.column(key))  # type: ignore[arg-type]
                for key in (
                    "groups/step",
                    "groups/prompt_id",
                    "groups/draw",
                    "rollouts/group",
                    "rollouts/sample",
                )
            ):
                raise StorageError(
                    f"{scores.path} does not belong to {rollouts.path}",
                    "it speaks of other rollouts",
                    REPAIR,
                )
        self._arrange()

    @property
    def component_names(self) -> List[str]:
        return self._shards[0][1].component_names

    def _end_to_end(self, name: str) -> Array:
        """A column of all shards, in their order."""
        if name not in self._pieces:
            found = []
            for rollouts, scores in self._shards:
                file = scores if name in SCORED else rollouts
                values = file.column(name)
                found.append(
                    self.filled(
                        name,
                        (
                            file.length(
                                "groups/step" if split(name)[0] == "groups" else "rollouts/sample"
                            )
                            if split(name)[0] in ("groups", "rollouts")
                            else file.length("turns/role") if name == "turns/kept_count" else 0
                        ),
                    )
                    if values is None
                    else values
                )
            self._pieces[name] = np.concatenate(found)
        return self._pieces[name]

    def _arrange(self) -> None:
        """Joins fragments of a group from several rounds, and orders groups by prompt and draw,
        rollouts by sample."""
        keys = np.stack(
            [
                self._end_to_end("groups/prompt_id"),
                self._end_to_end("groups/draw").astype(np.uint64),
            ],
            axis=1,
        )
        _, first, self._group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        self._group = self._group.reshape(-1)  # NumPy 2.0 gave it another shape
        self._orders[""] = first
        sizes = [rollouts.length("groups/step") for rollouts, _ in self._shards]
        local, offset = [], 0
        for (rollouts, _), size in zip(self._shards, sizes):
            group = rollouts.column("rollouts/group")
            assert group is not None
            if len(group) and int(group.max()) >= size:
                raise damaged(rollouts.path, "rollouts/group points past the last group")
            local.append(group.astype(np.int64) + offset)
            offset += size
        fragment = np.concatenate(local)
        of_group, sample = self._group[fragment], self._end_to_end("rollouts/sample")
        order = np.lexsort((sample, of_group))
        self._orders["groups/rollout_count"] = order
        self._known["rollouts/group"] = of_group[order].astype(np.uint32)
        again = np.flatnonzero(
            (np.diff(of_group[order]) == 0) & (np.diff(sample[order].astype(np.int64)) == 0)
        )
        if len(again):
            prompt = keys[first[of_group[order][again[0]]]]
            raise StorageError(
                f"{self.path} and the shards beside it have sample {sample[order][again[0]]} of"
                f" prompt {prompt[0]} twice",
                "shards of one step contradict each other",
                REPAIR,
            )

    def _order(self, counts: str) -> Array:
        """Where the rows that a column of counts leads to are taken from."""
        if counts not in self._orders:
            self._orders[counts] = ragged(self._end_to_end(counts), self._order(owner(counts)))
        return self._orders[counts]

    def raw(self, name: str) -> Array:
        if name in ("groups/rollout_count", "groups/planned"):  # of all fragments together
            values = self._end_to_end(name)
            return np.bincount(self._group, weights=values, minlength=len(self._orders[""])).astype(
                values.dtype
            )
        if name in TRAINING:
            return self._training_column(name)
        values, order = self._end_to_end(name), self._order(owner(name))
        if len(order) and len(values) <= int(order.max()):
            raise damaged(self.path, f"{name} is shorter than the counts beside it say")
        return values[order]

    def _training_column(self, name: str) -> Array:
        """Of what the step trained on, by the keys of the rollouts; rollouts that it does not
        speak of have the value of a file without it."""
        values = self.filled(name, len(self["rollouts/sample"]))
        column = self._training.column(name) if self._training is not None else None
        if self._training is None or column is None:
            return values
        prompt, draw, count, sample = (
            self._training.column(key)
            for key in (
                "groups/prompt_id",
                "groups/draw",
                "groups/rollout_count",
                "rollouts/sample",
            )
        )
        assert prompt is not None and draw is not None and count is not None and sample is not None
        if count.sum(dtype=np.int64) != len(sample) or len(column) != len(sample):
            raise damaged(self._training.path, "its counts do not fit its columns")
        theirs = zip(
            np.repeat(prompt, count).tolist(), np.repeat(draw, count).tolist(), sample.tolist()
        )
        place = {key: row for row, key in enumerate(theirs)}
        group = self["rollouts/group"]
        ours = zip(
            self["groups/prompt_id"][group].tolist(),
            self["groups/draw"][group].tolist(),
            self["rollouts/sample"].tolist(),
        )
        rows = np.array([place.get(key, -1) for key in ours], np.int64)
        values[rows >= 0] = column[rows[rows >= 0]]
        return values


@contextlib.contextmanager
def opened(paths: Sequence[str]) -> Iterator[List[File]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(File(path)) for path in paths]

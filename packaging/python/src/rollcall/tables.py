"""Tables of a run: columns by name, from its files alone, from the rows above them, or computed
from both."""

from __future__ import annotations

import json
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
)

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, MissingPackageError
from .files import damaged
from .readers import Reader
from .schema import COLUMNS, DIMENSIONS, PARENTS, TEXT_OF

if TYPE_CHECKING:
    import pandas
    import xarray

    from .run import Run

Array = NDArray[Any]
Offsets = Dict[str, int]  # rows of each table in the parts before

POLICY = 1  # turns/role of what the policy wrote
_PURPOSE = "<U10"


def texts(reader: Reader, name: str) -> Array:
    """The texts of each row of their table; bytes that are no UTF-8 become U+FFFD."""
    counts, block = reader[f"{TEXT_OF[name]}/{name}_bytes"], reader[f"text/{name}"]
    ends = np.cumsum(counts, dtype=np.int64)
    if len(block) != (int(ends[-1]) if len(ends) else 0):
        raise damaged(
            reader.path,
            f"text/{name} has {len(block)} bytes, and their lengths say"
            f" {int(ends[-1]) if len(ends) else 0}",
        )
    whole = block.tobytes()
    found = np.empty(len(counts), object)
    found[:] = [
        whole[end - count : end].decode(errors="replace")
        for end, count in zip(ends.tolist(), counts.tolist())
    ]
    return found


def _row(reader: Reader, offsets: Offsets) -> Array:
    """groups.row: the prompt's row of task.file; {} where it comes from none."""
    found = np.empty(reader.length("groups"), object)
    found[:] = [json.loads(text) if text else {} for text in texts(reader, "extra")]
    return found


def _length(reader: Reader, offsets: Offsets) -> Array:
    """rollouts.length: tokens that the policy wrote."""
    of_turn = np.where(reader["turns/role"] == POLICY, reader["turns/token_count"], 0)
    rollout = np.repeat(np.arange(reader.length("rollouts")), reader["rollouts/turn_count"])
    return np.bincount(rollout, of_turn, reader.length("rollouts")).astype(np.int64)


def _kept_token(reader: Reader, offsets: Offsets) -> Array:
    """kept.token: the row of tokens that a row of kept speaks of."""
    speaks = np.repeat(
        (reader["turns/kept_count"] == reader["turns/token_count"]), reader["turns/token_count"]
    )
    return np.flatnonzero(speaks) + offsets["tokens"]


def _kept_mass(reader: Reader, offsets: Offsets) -> Array:
    """tokens.kept_mass: NaN where kept has no row."""
    found = np.full(reader.length("tokens"), np.nan, np.float32)
    found[_kept_token(reader, {"tokens": 0})] = reader["kept/mass"]
    return found


def _fact_turn(reader: Reader, offsets: Offsets) -> Array:
    """turn_facts.turn: the row of turns that a row of turn_facts speaks of."""
    turns = reader["rollouts/turn_count"]
    speaks = np.repeat(reader["rollouts/fact_count"] == turns, turns)
    return np.flatnonzero(speaks) + offsets["turns"]


def _turn_reward(reader: Reader, offsets: Offsets) -> Array:
    """turns.turn_reward: what the environment gave for the turn; NaN where turn_facts has no row."""
    found = np.full(reader.length("turns"), np.nan)
    found[_fact_turn(reader, {"turns": 0})] = reader["turn_facts/reward"]
    return found


def _by_step(reader: Reader) -> Tuple[Array, Array, Array]:
    """Steps of the part, and for each group and each rollout which of them it is of."""
    steps, of_group = np.unique(reader["groups/step"], return_inverse=True)
    of_group = of_group.reshape(-1)
    return steps, of_group, np.repeat(of_group, reader["groups/rollout_count"])


def _mean(values: Array, places: Array, count: int, where: Array) -> Array:
    number = np.bincount(places[where], minlength=count)
    total = np.bincount(places[where], values[where], count)
    found: Array = np.divide(total, number, out=np.full(count, np.nan), where=number > 0)
    return found


def _step_mean(column: str) -> Callable[[Reader, Offsets], Array]:
    """The mean over the rollouts of a step that have a verdict."""

    def mean(reader: Reader, offsets: Offsets) -> Array:
        steps, _, rollout = _by_step(reader)
        values = _length(reader, offsets) if column == "length" else reader[f"rollouts/{column}"]
        return _mean(values, rollout, len(steps), reader["rollouts/undecided"] == 0)

    return mean


def _step_pass_rate(reader: Reader, offsets: Offsets) -> Array:
    """The mean over groups of the share of their rollouts that are correct, of those with a
    verdict."""
    steps, of_group, _ = _by_step(reader)
    groups = len(of_group)
    rate = _mean(
        reader["rollouts/correct"],
        np.repeat(np.arange(groups), reader["groups/rollout_count"]),
        groups,
        reader["rollouts/undecided"] == 0,
    )
    return _mean(rate, of_group, len(steps), ~np.isnan(rate))


def _step_sum(column: str) -> Callable[[Reader, Offsets], Array]:
    def total(reader: Reader, offsets: Offsets) -> Array:
        steps, _, rollout = _by_step(reader)
        values = (
            np.ones(len(rollout))
            if column == "rollouts"
            else _length(reader, offsets) if column == "tokens" else reader[f"rollouts/{column}"]
        )
        return np.bincount(rollout, values, len(steps)).astype(np.int64)

    return total


_COMPUTED: Mapping[str, Mapping[str, Callable[[Reader, Offsets], Array]]] = {
    "steps": {
        "step": lambda reader, _: _by_step(reader)[0],
        "groups": lambda reader, _: np.bincount(_by_step(reader)[1]),
        "rollouts": _step_sum("rollouts"),
        "tokens": _step_sum("tokens"),
        "undecided": _step_sum("undecided"),
        "reward": _step_mean("reward"),
        "pass_rate": _step_pass_rate,
        "pass_rate_rollouts": _step_mean("correct"),
        "length": _step_mean("length"),
    },
    "groups": {"row": _row},
    "rollouts": {"length": _length},
    "turns": {"turn_reward": _turn_reward},
    "tokens": {"kept_mass": _kept_mass},
    "kept": {"token": _kept_token},
    "kept_ids": {},
    "turn_facts": {"turn": _fact_turn},
    "fact_components": {},
}
_DEFAULT: Mapping[str, Sequence[str]] = {  # before the columns of the table itself
    "steps": ("purpose",),
    "groups": ("purpose",),
    "rollouts": ("purpose", "step", "prompt_id", "draw"),
    "turns": (),
    "tokens": (),
    "kept": (),
    "kept_ids": (),
    "turn_facts": (),
    "fact_components": (),
}
#: Tables whose rows speak of rows of another table, which is none that they belong to:
#: {table: (that table, the column that names its row)}
_BESIDE: Mapping[str, Tuple[str, str]] = {
    "kept": ("tokens", "token"),
    "kept_ids": ("tokens", "token"),
    "turn_facts": ("turns", "turn"),
    "fact_components": ("turns", "turn"),
}


def _length_of(reader: Reader, table: str) -> int:
    return len(np.unique(reader["groups/step"])) if table == "steps" else reader.length(table)


def compute(reader: Reader, table: str, name: str, offsets: Offsets) -> Array:
    """A column of one part: one value for each row of the table."""
    key = f"{table}/{name}"
    if key not in reader.computed:
        reader.computed[key] = _compute(reader, table, name, offsets)
    return reader.computed[key]


def _compute(reader: Reader, table: str, name: str, offsets: Offsets) -> Array:
    if name == "purpose":
        return np.full(_length_of(reader, table), reader.purpose, _PURPOSE)
    if name in _COMPUTED[table]:
        return _COMPUTED[table][name](reader, offsets)
    if table == "rollouts" and name.startswith("component/"):
        names = reader.component_names
        component = name[len("component/") :]
        return (
            reader["rollouts/components"][:, names.index(component)]
            if component in names
            else np.full(reader.length(table), np.nan)
        )
    if (table, name) != ("rollouts", "group") and name in COLUMNS.get(table, {}):
        return reader[f"{table}/{name}"]
    if TEXT_OF.get(name) == table:
        return texts(reader, name)
    parent, counts = PARENTS[table]
    above = (
        np.arange(reader.length(parent)) + offsets[parent]
        if name == DIMENSIONS[parent]
        else compute(reader, parent, name, offsets)
    )
    found: Array = np.repeat(above, reader[f"{parent}/{counts}"], axis=0)
    return found


def names_of(table: str, components: Sequence[str]) -> List[str]:
    """Every column that a table can give, its own first."""
    own = [name for name in COLUMNS.get(table, {}) if not name.endswith("_bytes")] + list(
        _COMPUTED[table]
    )
    own += [f"component/{name}" for name in components] if table == "rollouts" else []
    own += [name for name, owner in TEXT_OF.items() if owner == table]
    if table not in PARENTS:
        return ["purpose", *own]
    parent = PARENTS[table][0]
    return list(dict.fromkeys([*own, DIMENSIONS[parent], *names_of(parent, components)]))


class Table:
    """A table of a run. Nothing is read until a column is asked for, and then that column alone.

    table["reward"] is a NumPy array with one value for each row; frame() is a pandas frame,
    dataset() an xarray data set, arrays() a dict. Each takes names of columns; without any it
    gives the numbers of the table itself. A table also gives the columns of the rows that its
    rows belong to: tokens have the step and the prompt_id of their group."""

    def __init__(
        self, run: "Run", table: str, default: Optional[Sequence[str]] = None, shown_as: str = ""
    ) -> None:
        self._run, self._table, self._shown_as = run, table, shown_as or table
        self._default = default

    @property
    def columns(self) -> List[str]:
        """The names of all columns that can be asked for."""
        return names_of(self._table, self._run.component_names)

    def __len__(self) -> int:
        return sum(self._run._each_part(lambda reader: _length_of(reader, self._table)))

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __repr__(self) -> str:
        return f"<{self._shown_as} of {self._run.path}: {', '.join(self.columns)}>"

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Array:
        return self.arrays(name)[name]

    def arrays(self, *columns: str) -> Dict[str, Array]:
        """{column: [rows]}; "components" is [rows, component]. Raises InputError for an unknown
        name, StorageError for a damaged file."""
        wanted = list(columns or self._default_columns())
        known = set(self.columns)
        for name in wanted:
            if name not in known:
                raise InputError(
                    f"{self._shown_as} has no column {name!r}",
                    "it is none of its own and none of the rows that its rows belong to",
                    f"take one of {', '.join(self.columns)}",
                )
        parents, needed = self._table, []
        while parents in PARENTS:
            parents = PARENTS[parents][0]
            needed.append(parents)
        beside, column = _BESIDE.get(self._table, ("", ""))
        needed += [beside] if column in wanted and beside not in needed else []
        offsets: Offsets = dict.fromkeys(needed, 0)

        def read(reader: Reader) -> List[Array]:
            found = [
                (
                    compute(reader, self._table, name, offsets)
                    if name != "components"
                    else np.stack(
                        [
                            compute(reader, self._table, f"component/{one}", offsets)
                            for one in self._run.component_names
                        ],
                        axis=1,
                    )
                )
                for name in wanted
            ]
            rows = _length_of(reader, self._table)
            for name, values in zip(wanted, found):
                reader.checked(f"{self._table}/{name}", values, rows)
            for table in offsets:
                offsets[table] += reader.length(table)
            return found

        def begin() -> None:
            offsets.update(dict.fromkeys(needed, 0))

        parts = self._run._each_part(read, begin)
        if not parts:
            return {
                name: np.empty(
                    0,
                    (
                        _PURPOSE
                        if name == "purpose"
                        else (
                            object
                            if name in TEXT_OF
                            else COLUMNS.get(self._table, {}).get(name, ("float64",))[0]
                        )
                    ),
                )
                for name in wanted
            }
        return {name: np.concatenate(pieces) for name, pieces in zip(wanted, zip(*parts))}

    def frame(self, *columns: str) -> "pandas.DataFrame":
        """A pandas frame; its index is the row, named as rows of other tables name it. Raises
        MissingPackageError without pandas."""
        pandas = _package("pandas", "frames", "arrays()")
        found = self.arrays(*columns)
        wide = found.pop("components", None)
        frame = pandas.DataFrame(found)
        if wide is not None:
            for number, name in enumerate(self._run.component_names):
                frame[f"component/{name}"] = wide[:, number]
        frame.index.name = DIMENSIONS[self._table]
        return frame

    def dataset(self, *columns: str) -> "xarray.Dataset":
        """An xarray data set with the table's rows as dimension. Raises MissingPackageError
        without xarray."""
        module = _package("xarray", "xarray", "arrays()")
        rows = DIMENSIONS[self._table]
        found = {
            name: ((rows, "component") if values.ndim == 2 else (rows,), values)
            for name, values in self.arrays(*columns).items()
        }
        wide = any(values.ndim == 2 for _, values in found.values())
        made: "xarray.Dataset" = module.Dataset(
            found, coords={"component": self._run.component_names} if wide else {}
        )
        return made

    def _default_columns(self) -> List[str]:
        if self._default is not None:
            return list(self._default)
        own = [
            name
            for name in COLUMNS.get(self._table, {})
            if not name.endswith("_bytes") and name not in ("components", "group")
        ]
        own += (
            [f"component/{name}" for name in self._run.component_names]
            if self._table == "rollouts"
            else []
        )
        own += [name for name in _COMPUTED[self._table] if name not in ("row", "kept_mass", "turn_reward")]
        above = [DIMENSIONS[PARENTS[self._table][0]]] if self._table in PARENTS else []
        return list(dict.fromkeys([*_DEFAULT[self._table], *above, *own]))


def _package(name: str, extra: str, instead: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise MissingPackageError(
            f"the Python package {name} is not installed",
            f"this form of a table needs it; {instead} does without it",
            f'run `pip install {name}`, or install this package as "./packaging/python[{extra}]"',
        ) from None

"""The columns of a run's files as Python needs them: type, value where an older file has none,
and what each count leads to.

docs/reference/archive.md describes them; a test compares this table with it."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

TABLES_MAJOR, COMPACT_MAJOR = 1, 2  # the two forms of a file; later major versions are refused
PURPOSES = ("train", "validation", "eval", "greedy")  # in the order of the archive

_NAN = float("nan")

#: {table: {column: (type, value where a file of an earlier schema lacks it)}}; None: every file
#: has it
COLUMNS: Mapping[str, Mapping[str, Tuple[str, Optional[float]]]] = {
    "groups": {
        "step": ("uint64", None),
        "prompt_id": ("uint64", None),
        "draw": ("uint32", None),
        "rollout_count": ("uint32", None),
        "level": ("int32", None),
        "temperature": ("float32", None),
        "planned": ("uint32", 0),
        "bin": ("int32", -1),
        "stream_prompt": ("uint64", 0),
        "prompt_bytes": ("uint32", None),
        "reference_bytes": ("uint32", None),
        "shown_bytes": ("uint32", 0),
        "extra_bytes": ("uint32", 0),
        "kind": ("int64", 0),
        "parent_step": ("int64", 0),
        "parent_prompt": ("int64", 0),
        "parent_draw": ("int64", 0),
        "parent_sample": ("int64", -1),
        "tier": ("int64", 0),
        "placement": ("int64", 0),
        "start_bytes": ("int64", 0),
    },
    "rollouts": {
        "group": ("uint32", None),
        "sample": ("uint32", None),
        "finish": ("int8", None),
        "turn_count": ("uint32", None),
        "completion_bytes": ("uint32", None),
        "reward": ("float64", None),
        "correct": ("uint8", None),
        "extracted_bytes": ("uint32", None),
        "components": ("float64", None),
        "undecided": ("uint8", 0),
        "reason_bytes": ("uint32", 0),
        "clock_ended": ("uint8", 0),
        "trained": ("uint8", 2),
        "weight": ("float64", _NAN),
        "advantage": ("float64", _NAN),
        "opening": ("int64", 0),
        "parent": ("int64", -1),
        "fork_token": ("int64", -1),
        "fact_count": ("int64", 0),
    },
    "turns": {"role": ("int8", None), "token_count": ("uint32", None), "kept_count": ("uint32", 0)},
    "tokens": {
        "id": ("int32", None),
        "logprob": ("float32", None),
        "entropy": ("float32", None),
        "policy_version": ("uint64", None),
    },
    "kept": {"mass": ("float32", 1), "id_count": ("uint32", 0)},
    "kept_ids": {"id": ("int32", 0)},
    "turn_facts": {
        "reward": ("float64", 0),
        "state": ("int64", 0),
        "action": ("int64", 0),
        "flags": ("int64", 0),
        "kind": ("int64", 0),
        "seat": ("int64", 0),
        "component_count": ("int64", 0),
        "fact_reason_bytes": ("int64", 0),
    },
    "fact_components": {"name": ("int64", 0), "value": ("float64", 0)},
    "text": {
        "prompt": ("uint8", None),
        "reference": ("uint8", None),
        "completion": ("uint8", None),
        "extracted": ("uint8", None),
        "reason": ("uint8", 0),
        "shown": ("uint8", 0),
        "extra": ("uint8", 0),
        "start": ("uint8", 0),
        "fact_reason": ("uint8", 0),
    },
}

#: What a row of a table belongs to: {table: (parent, the parent's column that counts its rows)}
PARENTS: Mapping[str, Tuple[str, str]] = {
    "rollouts": ("groups", "rollout_count"),
    "turns": ("rollouts", "turn_count"),
    "tokens": ("turns", "token_count"),
    "kept": ("turns", "kept_count"),
    "kept_ids": ("kept", "id_count"),
    "turn_facts": ("rollouts", "fact_count"),
    "fact_components": ("turn_facts", "component_count"),
}

#: Which table's rows a text belongs to; the lengths are its column NAME_bytes.
TEXT_OF: Mapping[str, str] = {
    "prompt": "groups",
    "reference": "groups",
    "shown": "groups",
    "extra": "groups",
    "start": "groups",
    "completion": "rollouts",
    "extracted": "rollouts",
    "reason": "rollouts",
    "fact_reason": "turn_facts",
}

#: The name of a table's rows, which is also what a child calls the number of its parent's row.
DIMENSIONS: Mapping[str, str] = {
    "steps": "step_row",
    "groups": "group",
    "rollouts": "rollout",
    "turns": "turn",
    "tokens": "token",
    "kept": "kept",
    "kept_ids": "kept_id",
    "turn_facts": "fact",
    "fact_components": "fact_component",
}

#: What a file of scores has, and what a training file has.
SCORED = frozenset(
    {
        "rollouts/reward",
        "rollouts/correct",
        "rollouts/extracted_bytes",
        "rollouts/components",
        "rollouts/undecided",
        "rollouts/reason_bytes",
        "rollouts/clock_ended",
        "text/extracted",
        "text/reason",
    }
)
TRAINING = frozenset({"rollouts/trained", "rollouts/weight", "rollouts/advantage"})


def split(name: str) -> Tuple[str, str]:
    """("rollouts", "reward") of "rollouts/reward"."""
    table, _, column = name.partition("/")
    return table, column


def absent(name: str) -> Dict[str, Any]:
    """{"dtype", "value"} of a column; value None where every file has it."""
    table, column = split(name)
    dtype, value = COLUMNS[table][column]
    return {"dtype": dtype, "value": value}

"""The package rollcall on runs that the program makes here: tables, states, damaged and foreign
files, jobs, verdicts."""

import builtins
import json
import os
import pathlib
import random
import re
import shutil
import sys
import types

import references

references.enter()

import h5py  # noqa: E402
import numpy as np  # noqa: E402
from harness import check, main, sets  # noqa: E402
from refusals import refused  # noqa: E402

import rollcall  # noqa: E402
from rollcall.schema import COLUMNS  # noqa: E402

TABLES = ("steps", "groups", "rollouts", "turns", "tokens", "kept", "kept_ids")
CONVERSATIONS = ("turn_facts", "fact_components")  # tables of which these runs have no row


def run_of(harness):
    """A run of six steps that validates every second, made once."""
    folder = harness.work / "run"
    if not folder.exists():
        harness.train(folder, *sets(eval__every=2))
    return folder


def stopped_run(harness):
    """A run in several rounds a step on two ranks, stopped by a signal: its shards are not
    packed. Made once."""
    folder = harness.work / "stopped"
    if not folder.exists():
        settings = {
            "run.dir": str(folder),
            "scheduler.policy": "reinforce_ada",
            "archive.pack_every": 100000,
            "train.steps": 100000,
            "eval.every": 3,
            "train.rollouts_per_prompt": 8,
            "sampling.top_k": 12,
            "sampling.logprob": "kept",
            "scheduler.max_rollouts": 64,
        }
        job = rollcall.train(
            harness.tiny, settings, launcher=[*harness.launcher, "2"], program=harness.binary
        )
        steps = (row["step"] for row in job.watch("train", every_s=0.02))
        next(step for step in steps if step >= 4)
        check(
            job.stop(60) == "stopped" and job.run.status.state == "stopped", f"{job}: {job.output}"
        )
    return folder


def same(ours, theirs):
    return (
        list(ours) == list(theirs)
        if ours.dtype == object
        else ours.dtype == theirs.dtype
        and np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")
    )


def schema_is_that_of_the_reference(harness):
    page = (harness.source / "docs/reference/archive.md").read_text()
    documented = {}
    for name, dtype, meaning in re.findall(
        r"^\| `(\w+/\w+)` \| [\w, ]+ \| (\w+) \| [\w ]+ \| [\w, ]+ \| (.*) \|$", page, re.M
    ):
        documented[name] = (dtype, meaning.startswith("since "))
    ours = {
        f"{table}/{name}": (dtype, absent is not None)
        for table, columns in COLUMNS.items()
        for name, (dtype, absent) in columns.items()
    }
    check(
        len(ours) > 40 and ours == documented,
        f"differing columns: {sorted(set(ours.items()) ^ set(documented.items()))}",
    )


def tables_are_what_the_program_says(harness):
    run = rollcall.open(run_of(harness))
    check(
        run.purposes == ["train", "validation", "eval"]
        and run.component_names == ["correct", "format"],
        f"{run.purposes} {run.component_names}",
    )
    told = [
        json.loads(line) for line in harness.succeed("archive", "export", run.path).splitlines()
    ]
    ours = run.rollouts.frame(
        "purpose",
        "step",
        "prompt_id",
        "draw",
        "sample",
        "prompt",
        "completion",
        "reference",
        "reward",
        "correct",
        "extracted",
    )
    check(len(told) == len(ours) == len(run.rollouts) > 300, f"{len(told)} lines, {len(ours)} rows")
    names = {
        "prompt_id": "prompt_id",
        "completion": "completion",
        "reward": "reward",
        "prompt": "prompt",
        "step": "step",
        "purpose": "purpose",
        "sample": "sample",
    }
    shared = [name for name in names if name in told[0]]
    check(len(shared) >= 5, f"archive export has {sorted(told[0])}")
    key = lambda row: (row["purpose"], row["step"], row["prompt"], row["sample"])
    ours_by_key, told_by_key = (
        {key(row): row for row in rows} for rows in (ours.to_dict("records"), told)
    )
    check(
        len(ours_by_key) == len(told) and ours_by_key.keys() == told_by_key.keys(), "other rollouts"
    )
    for where, row in told_by_key.items():
        check(
            all(ours_by_key[where][name] == row[name] for name in shared),
            f"{row} is read as {ours_by_key[where]}",
        )
    metrics, steps = run.metrics("train"), run.select("train").steps.frame().set_index("step")
    for theirs, own in (
        ("train/pass_rate", "pass_rate"),
        ("train/pass_rate_rollouts", "pass_rate_rollouts"),
        ("critic/rewards/mean", "reward"),
        ("response_length/mean", "length"),
        ("train/rollouts_generated", "rollouts"),
    ):
        check(
            len(steps) == 6 and np.allclose(metrics[theirs], steps[own], atol=1e-12),
            f"{theirs}: {list(metrics[theirs])}, {list(steps[own])}",
        )
    check(
        len(metrics) == 6 and list(run.metrics().phase.unique()) == ["sft", "train", "validation"],
        f"{run.metrics().phase.unique()}",
    )
    check(
        run.config["train"]["steps"] == 6
        and run.config["model"]["hidden_size"] == 32
        and run.result["archive_sha256"],
        "settings or result",
    )
    status = run.status
    check(
        (status.state, status.train_steps, status.train_steps_wanted, status.rollouts)
        == ("done", 6, 6, len(ours))
        and not run.is_running,
        f"{status}",
    )
    check("6 files" in run.verify(harness.binary), run.verify(harness.binary))


def rows_lead_to_each_other(harness):
    run = rollcall.open(run_of(harness))
    tokens = run.tokens.arrays(
        "turn", "rollout", "group", "step", "role", "logprob", "length", "id"
    )
    rollouts = run.rollouts.arrays(
        "group", "step", "length", "reward", "components", "component/format"
    )
    check(
        same(tokens["step"], rollouts["step"][tokens["rollout"]])
        and same(tokens["group"], rollouts["group"][tokens["rollout"]]),
        "tokens of other rollouts",
    )
    check(
        same(tokens["role"], run.turns["role"][tokens["turn"]])
        and same(rollouts["step"], run.groups["step"][rollouts["group"]]),
        "tokens of other turns",
    )
    policy = tokens["role"] == 1
    check(
        same(
            np.bincount(tokens["rollout"][policy], minlength=len(run.rollouts)), rollouts["length"]
        ),
        "other lengths",
    )
    check(
        np.isnan(tokens["logprob"]).sum() == (~policy).sum() > 0
        and (tokens["logprob"][policy] <= 0).all(),
        "log-probs of the wrong tokens",
    )
    check(
        rollouts["components"].shape == (len(run.rollouts), 2)
        and same(rollouts["components"][:, 1], rollouts["component/format"]),
        "components",
    )
    data = run.rollouts.dataset("components", "reward")
    check(
        data.sizes == {"rollout": len(run.rollouts), "component": 2}
        and float(data.components.sel(component="correct").sum()) == run.rollouts["correct"].sum(),
        f"{data}",
    )
    frame = run.texts.frame()
    check(
        list(frame.prompt.unique()) == list(dict.fromkeys(run.groups["prompt"]))
        and frame.index.name == "rollout",
        f"{frame}",
    )


def only_what_is_asked_for_is_read(harness):
    """Columns and files that a call does not need are not touched."""
    run, read, opened = rollcall.open(run_of(harness)), [], []
    from rollcall import files, readers

    column, init = files.File.column, files.File.__init__
    files.File.column = lambda self, name, *rest: (read.append(name), column(self, name, *rest))[1]
    files.File.__init__ = lambda self, path: (
        opened.append(os.path.basename(path)),
        init(self, path),
    )[1]
    try:
        run.rollouts["reward"]
        check(
            set(read) == {"groups/step", "groups/rollout_count", "rollouts/reward"},
            f"reading rewards took {sorted(set(read))}",
        )
        chosen = run.select("train", 5, 6)
        check(chosen.purposes == ["train"], f"{chosen.purposes}")
        opened.clear()
        steps = chosen.tokens["step"]
        check(
            set(opened) == {"train_000005-000006.h5"} and set(steps) == {5, 6},
            f"{opened} for steps {set(steps)}",
        )
    finally:
        files.File.column, files.File.__init__ = column, init
    within = run.select("train", 2, 3)
    whole = run.tokens.arrays("purpose", "step", "logprob", "prompt")
    part = within.tokens.arrays("purpose", "step", "logprob", "prompt")
    rows = (whole["purpose"] == "train") & (whole["step"] >= 2) & (whole["step"] <= 3)
    check(
        0 < rows.sum() < len(rows) and all(same(whole[name][rows], part[name]) for name in part),
        "steps within a file are other rows",
    )
    check(
        same(
            run.rollouts["group"][run.rollouts["step"] == 2][:5] * 0,
            within.rollouts["group"][:5] * 0,
        )
        and within.rollouts["group"].min() == 0,
        "groups of a selection do not begin at 0",
    )


def shards_read_as_what_they_are_packed_to(harness):
    """Fragments of several rounds and ranks, with and without a pack between two reads."""
    folder = stopped_run(harness)
    files = {path.name for path in (folder / "shards").glob("*.h5")}
    check(
        any(re.match(r"train-\d+-01-", name) for name in files)
        and any("-0001-" in name for name in files),
        f"one round or one rank: {sorted(files)[:20]}",
    )
    copy = harness.work / "packed"
    shutil.copytree(folder, copy)
    loose, packed = rollcall.open(folder), rollcall.open(copy)
    before = packed.rollouts.arrays("reward", "prompt_id", "completion")
    out = harness.succeed("archive", "pack", copy)
    check(not list((copy / "shards").glob("train-*-scored.h5")), f"not all is packed: {out}")
    after = packed.rollouts.arrays("reward", "prompt_id", "completion")
    check(
        all(same(before[name], after[name]) for name in before),
        "a pack between two reads changes rows",
    )
    check(
        len(loose.kept_ids) > len(loose.kept) > 0 and np.nanmin(loose.tokens["kept_mass"]) > 0,
        "the run kept no tokens",
    )
    for table in CONVERSATIONS:
        ours = getattr(loose, table)
        check(len(ours) == 0 and len(ours["reward"]) == 0, f"{table} of a run without turns")
    check(np.isnan(loose.turns["turn_reward"]).all(), "a reward of turns that nobody gave")
    for table in TABLES:
        ours, theirs = getattr(loose, table), getattr(packed, table)
        left, right = ours.arrays(*ours.columns), theirs.arrays(*theirs.columns)
        differing = [name for name in left if not same(left[name], right[name])]
        check(len(ours) > 0 and not differing, f"{table} differ in {differing}")
    check(
        set(loose.select("train").rollouts["trained"]) <= {0, 1}, "what was trained on is not read"
    )
    wanted = loose.rollouts.arrays("step", "sample", "completion", "advantage")
    shutil.copytree(folder / "shards", copy / "shards", dirs_exist_ok=True)  # left by a crash
    found = packed.refresh().rollouts.arrays(*wanted)
    check(all(same(wanted[name], found[name]) for name in wanted), "packed steps count twice")
    other = harness.work / "other_order"
    shutil.copytree(folder, other)
    rounds = sorted((other / "shards").glob("train-*-01-0000-scored.h5"))
    for later in rounds:
        first = later.with_name(later.name.replace("-01-", "-00-"))
        kept = first.read_bytes()
        first.write_bytes(later.read_bytes())
        later.write_bytes(kept)
    found = rollcall.open(other).rollouts.arrays(*wanted)
    check(
        rounds and all(same(wanted[name], found[name]) for name in wanted),
        "the order of the rounds' files changes rows",
    )
    one = rollcall.open(next((copy / "archive").glob("train_*.h5")))
    check(
        same(one.tokens["logprob"], packed.select("train").tokens["logprob"]),
        "one file reads otherwise",
    )
    refused(lambda: one.config, rollcall.InputError, "config.toml", "open the folder")


def damaged_and_foreign_files_are_named(harness):
    folder, copy = run_of(harness), harness.work / "damaged"
    shutil.copytree(folder, copy)
    file = next((copy / "archive").glob("train_000001*.h5"))
    whole = file.read_bytes()

    def reading(path=copy):
        return lambda: rollcall.open(path).tokens.arrays("logprob", "prompt")

    for content, parts in (
        (whole[:-100], ("manifest says", "archive repair")),
        (b"", ("no HDF5 file",)),
        (b"version https://git-lfs.github.com/spec/v1\n", ("Git LFS", "git lfs pull")),
    ):
        file.write_bytes(content)
        refused(reading(), rollcall.StorageError, file.name, *parts)
    file.write_bytes(whole)
    with h5py.File(file, "r+") as changed:
        changed.attrs.modify("schema_major", np.int32(3))
    refused(reading(), rollcall.SchemaError, file.name, "schema 3.8", "pip install")
    file.write_bytes(whole)
    with h5py.File(file, "r+") as changed:
        changed["groups/rollout_count"][0] += 1
    refused(reading(), rollcall.StorageError, file.name, "rows", "archive repair")
    file.unlink()
    refused(reading(), rollcall.StorageError, file.name, "missing")
    foreign = harness.work / "foreign.h5"
    for make, part in (
        (lambda f: f.create_dataset("x", (100, 100), "f4", chunks=(10, 10)), "stores its columns"),
        (lambda f: f.attrs.update(a=1), "says nothing of the run"),
        (lambda f: f.__setitem__("link", h5py.ExternalLink("elsewhere.h5", "/x")), "link by name"),
    ):
        with h5py.File(foreign, "w") as made:
            make(made)
        refused(reading(foreign), rollcall.StorageError, "foreign.h5", part)
    manifest = copy / "archive/manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 3'))
    refused(reading(), rollcall.SchemaError, "manifest.json", "format 3")
    manifest.write_text("{")
    refused(reading(), rollcall.StorageError, "manifest.json", "archive repair")
    manifest.unlink()
    refused(reading(), rollcall.StorageError, "manifest.json is missing")
    empty = harness.work / "empty"
    empty.mkdir()
    refused(reading(empty), rollcall.InputError, "no run folder", "run.dir")
    refused(reading(harness.work / "nowhere"), rollcall.InputError, "nowhere", "is not there")


def a_file_that_ends_hdf5_does_not_end_python(harness):
    """Bytes of the structure are changed at random; what HDF5 makes of it, the reader says so or
    reads."""
    source, folder = (
        next((run_of(harness) / "archive").glob("eval_000000*.h5")),
        harness.work / "random",
    )
    folder.mkdir()
    whole, said, choose = source.read_bytes(), 0, random.Random(7)
    for number in range(8):
        content = bytearray(whole)
        for _ in range(60):
            content[choose.randrange(8, len(content))] = choose.randrange(256)
        path = folder / f"{number}.h5"
        path.write_bytes(content)
        try:
            rollcall.open(path).rollouts.arrays("components", "completion")
        except rollcall.StorageError as error:
            check(path.name in str(error), f"{path} is not named: {error}")
            said += 1
    check(said > 3, f"only {said} of 8 damaged files were noticed")
    from rollcall import files

    run = files.subprocess.run
    crash = "import os, sys\nfor line in sys.stdin:\n    os.kill(os.getpid(), 11)\n"
    files.subprocess = types.SimpleNamespace(
        run=lambda words, **rest: run([words[0], "-c", crash], **rest), PIPE=-1
    )
    try:
        shutil.copyfile(source, folder / "crash.h5")
        refused(
            lambda: len(rollcall.open(folder / "crash.h5").rollouts),
            rollcall.StorageError,
            "crash.h5",
            "signal 11",
        )
    finally:
        import subprocess

        files.subprocess = subprocess


def names_and_packages_that_are_not_there(harness):
    run = rollcall.open(run_of(harness))
    refused(lambda: run.rollouts["rewards"], rollcall.InputError, "rewards", "reward")
    refused(lambda: run.select("training"), rollcall.InputError, "training", "validation")
    importing = builtins.__import__

    def without(name, *rest, **more):
        if name in ("pandas", "xarray"):
            raise ImportError(name)
        return importing(name, *rest, **more)

    builtins.__import__ = without
    try:
        refused(
            lambda: run.rollouts.frame("reward"),
            rollcall.MissingPackageError,
            "pandas",
            "pip install pandas",
            "arrays()",
        )
        refused(
            lambda: run.rollouts.dataset("reward"),
            rollcall.MissingPackageError,
            "xarray",
            "pip install xarray",
        )
        refused(lambda: run.metrics(), rollcall.MissingPackageError, "pandas", "metric_rows()")
        check(
            len(run.rollouts.arrays("reward")["reward"]) > 0 and len(run.metric_rows("train")) == 6,
            "arrays need pandas",
        )
    finally:
        builtins.__import__ = importing


def metrics_of_a_run_that_writes(harness):
    """A line that is half there waits; a step that a resume wrote again counts once; a broken
    line is named."""
    folder = harness.work / "metrics"
    folder.mkdir()
    file = folder / "metrics.jsonl"
    lines = [
        json.dumps({"phase": "train", "step": step, "x": x}) + "\n"
        for step, x in ((1, 1), (2, 2), (2, 3))
    ]
    file.write_text("".join(lines) + '{"phase":"train","st')
    run = rollcall.open(folder)
    check(
        [(row["step"], row["x"]) for row in run.metric_rows()] == [(1, 1), (2, 3)],
        f"{run.metric_rows()}",
    )
    check(
        [row["step"] for row in run.watch(every_s=0.01)] == [1, 2],
        "watching ends with the run's last line",
    )
    file.write_text(lines[0] + "{}\n" + lines[1])
    refused(run.metric_rows, rollcall.StorageError, "metrics.jsonl, line 2")
    check(rollcall.open(folder).status.state == "not started", f"{run.status}")


main(
    schema_is_that_of_the_reference,
    tables_are_what_the_program_says,
    rows_lead_to_each_other,
    only_what_is_asked_for_is_read,
    shards_read_as_what_they_are_packed_to,
    damaged_and_foreign_files_are_named,
    a_file_that_ends_hdf5_does_not_end_python,
    names_and_packages_that_are_not_there,
    metrics_of_a_run_that_writes,
)

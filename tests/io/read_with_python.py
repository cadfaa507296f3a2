# Reads a run with h5py and xarray as docs/reference/archive.md says: its examples are run, its table of columns is compared with the files.
import json
import pathlib
import re
import subprocess
import sys
import warnings

import h5py
import numpy as np
import xarray as xr

warnings.simplefilter("error")
readme, run, expected = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])

documented = {}
for column, dims, dtype, unit, kinds in re.findall(r"^\| `(\w+/\w+)` \| ([\w, ]+) \| (\w+) \| ([\w ]+) \| ([\w, ]+) \|", readme, re.M):
    for kind in ("shard", "scores", "training", "archive") if kinds == "all" else kinds.split(", "):
        documented.setdefault(kind, {})[column] = (dims.split(", "), dtype, unit)

documented["scored"] = {**documented["shard"], **documented["scores"]}
picture = (pathlib.Path(sys.argv[1]).parents[2] / "io/tables.svg").read_text()
assert all(column.split("/")[1] in picture for column in documented["archive"]), [c for c in documented["archive"] if c.split("/")[1] not in picture]

engines = ["h5netcdf"]
try:
    import netCDF4  # noqa: F401

    engines.append("netcdf4")
except ImportError:
    pass

examples = re.findall(r"```python\n(.*?)```", readme, re.S)
assert len(examples) == 4
of_shards, *of_archives = examples
shards, archives = sorted(run.glob("shards/*.h5")), sorted(run.glob("archive/*.h5"))
assert (len(shards), len(archives)) == (6, 1), (shards, archives)
for path in shards:
    scope = {"shard": path}
    exec(compile(of_shards, "docs/reference/archive.md", "exec"), scope)
    facts, column = scope["facts"], scope["column"]
    assert facts["run_id"] == "run-7" and facts["seed"] == 42 and facts["weights_hash"] == "00000000000000ab" and facts.get("temperature", 0.75) == 0.75, facts
    assert {name: values.dtype.name for name, values in column.items()} == {name: dtype for name, (_, dtype, _) in documented[facts["kind"]].items()}, path
    assert set(column["groups/step"]) <= {facts["step"]} and column["groups/rollout_count"].sum() == len(column["rollouts/sample"])
    if facts["kind"] in ("scores", "scored"):
        assert len(column["rollouts/components"]) == len(column["rollouts/reward"]) * len(facts["component_names"])
    if facts["kind"] in ("shard", "scored"):
        assert column["turns/token_count"].sum() == len(column["tokens/logprob"]) and column["groups/prompt_bytes"].sum() == len(column["text/prompt"])
    with h5py.File(path) as f:
        assert (f.attrs["schema_major"], f.attrs["schema_minor"]) == (2, 8)

for path in archives:
    found = {}
    with h5py.File(path) as f:
        for table in f.values():
            for name, dataset in table.items():
                assert dataset.chunks is None and dataset.compression is None, dataset
                if not dataset.is_scale:
                    dims = [scale[0].name.split("/")[-1] for scale in dataset.dims]
                    found[dataset.name[1:]] = (dims, dataset.dtype.name, dataset.attrs["units"])
                    assert dataset.attrs["long_name"] and "xxh3_64" in dataset.attrs
        kind, tables = f.attrs["kind"], list(f)
        assert f.attrs["run_id"] == "run-7" and f.attrs["seed"] == 42 and f.attrs["weights_hash"] == "00000000000000ab"
    assert found == documented[kind], (path, found, documented[kind])
    for engine in engines:
        for table in tables:
            with xr.open_dataset(path, group=table, engine=engine) as dataset:
                for name, variable in dataset.load().data_vars.items():
                    dims, dtype, unit = documented[kind][f"{table}/{name}"]
                    assert list(variable.dims) == dims and variable.dtype == dtype and variable.attrs["units"] == unit, variable
                if table != "text":
                    dataset.drop_dims("component", errors="ignore").to_dataframe()
        with xr.open_datatree(path, engine=engine) as tree:
            assert set(tree.children) == set(tables)

metrics = run / "metrics.jsonl"
metrics.write_text("".join(json.dumps({"phase": "train", "step": step, "timing_s/generation": step / 8}) + "\n" for step in (1, 2, 3)))
results = [{"archive": run / expected["archive"], "run": run} for _ in of_archives]
for example, scope in zip(of_archives, results):
    exec(compile(example, "docs/reference/archive.md", "exec"), scope)
by_h5py, by_xarray, by_pandas = results
assert "".join(p + "|" for p in by_h5py["prompts"]).encode().hex() == expected["prompts_hex"]
assert len(by_h5py["policy_ids"]) == expected["policy_tokens"]
assert len(by_h5py["mean_reward"]) == len(by_xarray["pass_rate"]) == expected["groups"]
assert int(by_xarray["rollouts"].correct.sum()) == expected["correct"] and by_xarray["rollouts"].sizes["rollout"] == expected["rollouts"]
assert list(by_xarray["reward_by_step"].step) == [1, 2, 3] and by_xarray["correct"].dims == ("rollout",)
assert int((by_xarray["tokens"].entropy.notnull()).sum()) == expected["policy_tokens"]
assert int(by_pandas["by_level"].rollouts.sum()) == expected["rollouts"] and abs(by_pandas["rollouts"].length.sum() - expected["policy_tokens"]) < 1e-9
assert set(by_pandas["rollouts"].purpose) == {"train"} and sum(map(bool, by_pandas["rollouts"].row)) > 0
assert by_pandas["rollouts"].id.notna().sum() == sum(map(bool, by_pandas["rollouts"].row))
assert all(row.prompt in (row.question, row.question + "\n") for row in by_pandas["rollouts"].itertuples())
assert 0 < by_pandas["pass_rate"].pass_rate.mean() < 1 and list(by_pandas["pass_rate"].index) == [1, 2, 3]
assert list(by_pandas["timing"]["timing_s/generation"]) == [0.125, 0.25, 0.375]
with h5py.File(run / expected["archive"]) as f:
    step = f["groups/step"][:][f["rollouts/group"][:]]
    prompt = f["groups/prompt_id"][:][f["rollouts/group"][:]]
    sample, trained, weight, advantage = (f[f"rollouts/{name}"][:] for name in ("sample", "trained", "weight", "advantage"))
assert ((trained == 2) == (step != 2)).all() and (np.isnan(weight) == (step != 2)).all() and (np.isnan(advantage) == (step != 2)).all()
told = step == 2
place = prompt + sample
assert (trained[told] == np.where(place % 6 == 0, 3, place % 3 != 0)[told]).all() and (weight[told] == (0.5 + prompt % 4)[told]).all() and (advantage[told] == (sample - 2.5)[told]).all()
assert 0 < (trained[told] == 1).sum() < told.sum() and (trained[told] == 3).any(), trained

# the package reads conversations, in shards as in archives
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parents[2] / "packaging/python/src"))
import rollcall  # noqa: E402

with h5py.File(run / expected["archive"]) as f:
    stored = {name: f[f"turn_facts/{name}"][:] for name in ("reward", "state", "flags", "component_count")}
    parts, begins = f["fact_components/value"][:], f["text/start"][:].tobytes().decode()
    reasons, kinds = f["text/fact_reason"][:].tobytes().decode(), f["groups/kind"][:]
assert len(stored["reward"]) > 9 and len(parts) > 9 and reasons and begins and len(set(kinds)) > 2 and (stored["state"] < 0).any(), "the sample has no conversations"
whole = rollcall.open(run)
facts = whole.select("train", 1, 3).turn_facts.arrays("turn", "sample", "reward", "state", "flags", "component_count", "fact_reason")
assert all((facts[name] == values).all() for name, values in stored.items()) and "".join(facts["fact_reason"]) == reasons
turns = whole.select("train", 1, 3).turns
assert (turns["sample"][facts["turn"]] == facts["sample"]).all() and (turns["turn_reward"][facts["turn"]] == facts["reward"]).all()
assert np.isnan(np.delete(turns["turn_reward"], facts["turn"])).all() and (facts["reward"][turns["role"][facts["turn"]] != 1] == 0).all()
values = whole.select("train", 1, 3).fact_components.arrays("name", "value", "fact", "turn")
assert (values["value"] == parts).all() and (facts["turn"][values["fact"]] == values["turn"]).all() and values["name"].max() > 0
assert "".join(whole.select("train", 1, 3).groups["start"]) == begins and (whole.select("train", 1, 3).groups["kind"] == kinds).all()
loose = whole.select("train", 4, 6)  # rollouts and scores in two files, and in one
assert len(loose.turn_facts) > 0 and not np.isnan(loose.turn_facts["reward"]).any()
by_rollout = np.bincount(loose.turn_facts["rollout"], minlength=len(loose.rollouts))
assert (by_rollout == loose.rollouts["fact_count"]).all() and set(by_rollout) - {0} <= set(loose.rollouts["turn_count"])

dumped = re.search(r"`h5dump (-d [\w/]+) ", readme).group(1).split()
column = subprocess.run(["h5dump", *dumped, str(run / expected["archive"])], check=True, capture_output=True, text=True).stdout
assert len(re.findall(r"\(\d+\):", column)) > 0 and f"( {expected['rollouts']} )" in column, column
print("read", len(shards), "shards with h5py,", len(archives), "archive files with h5py, xarray, pandas and h5dump:", ", ".join(engines))

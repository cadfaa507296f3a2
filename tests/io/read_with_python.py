# Reads a run with h5py and xarray as io/README.md says: its examples are run, its table of columns is compared with the files.
import json
import pathlib
import re
import sys
import warnings

import h5py
import xarray as xr

warnings.simplefilter("error")
readme, run, expected = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])

documented = {}
for column, dims, dtype, unit, kinds in re.findall(r"^\| `(\w+/\w+)` \| ([\w, ]+) \| (\w+) \| ([\w ]+) \| ([\w, ]+) \|", readme, re.M):
    for kind in ("shard", "scores", "archive") if kinds == "all" else kinds.split(", "):
        documented.setdefault(kind, {})[column] = (dims.split(", "), dtype, unit)

engines = ["h5netcdf"]
try:
    import netCDF4  # noqa: F401

    engines.append("netcdf4")
except ImportError:
    pass

files = sorted([*run.glob("shards/*.h5"), *run.glob("archive/*.h5")])
assert len(files) == 5, files
for path in files:
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
        assert f.attrs["run_id"] == "run-7" and f.attrs["seed"] == 42
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

values = {"archive": run / expected["archive"]}
examples = re.findall(r"```python\n(.*?)```", readme, re.S)
assert len(examples) == 2
for example in examples:
    exec(compile(example, "io/README.md", "exec"), values)
assert "".join(p + "|" for p in values["prompts"]).encode().hex() == expected["prompts_hex"]
assert len(values["policy_ids"]) == expected["policy_tokens"]
assert len(values["mean_reward"]) == len(values["pass_rate"]) == expected["groups"]
assert int(values["rollouts"].correct.sum()) == expected["correct"] and values["rollouts"].sizes["rollout"] == expected["rollouts"]
assert list(values["reward_by_step"].step) == [1, 2, 3] and values["correct"].dims == ("rollout",)
assert int((values["tokens"].entropy.notnull()).sum()) == expected["policy_tokens"]
print("read", len(files), "files with h5py and xarray:", ", ".join(engines))

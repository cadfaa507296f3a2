"""A real question file through the whole job: GSM8K with the byte tokenizer on three ranks. Skipped where the data set is not there."""
import os
import pathlib
import subprocess
import sys

from harness import SKIPPED, check, main, metrics, result, sets

READ_IN_PYTHON = """
import sys, h5py, xarray
for name in sys.argv[1:]:
    with h5py.File(name) as file:
        tables = [key for key in file if isinstance(file[key], h5py.Group)]
        assert tables, name
    for table in tables:
        xarray.open_dataset(name, group=table).load()
"""


def data_set(source):
    return pathlib.Path(os.environ.get("ROLLCALL_GSM8K") or source.parent / "shared/data/gsm8k")


def questions_of_a_real_file(harness):
    data, folder = data_set(harness.source), harness.work / "gsm8k"
    files = sets(run__dir=folder, task__file=data / "train.jsonl", task__heldout_file=data / "test.jsonl")
    harness.succeed("train", harness.source / "tests/app/gsm8k.toml", *files, ranks=3)
    rows = metrics(folder)
    check(len(rows) == 3, f"{len(rows)} training rows, not 3")
    for row in rows:
        check(row["actor/grad_norm"] > 0, f"step {row['step']}: the gradient is zero")
        check(row["actor/ratio_min"] == 1 == row["actor/ratio_max"], f"step {row['step']}: the ratio is not exactly 1")
    policies = [weights_sha256(harness, folder, at) for at in ("sft_000004", "train_000001", "train_000002", "train_000003")]
    check(len(set(policies)) == 4, f"a step left the weights as they were: {policies}")
    check(policies[-1] == result(folder)["policy_sha256"], "the last checkpoint does not hold the policy of result.json")
    archive_is_readable(folder)


def weights_sha256(harness, folder, checkpoint):
    out = harness.succeed("export", f"{folder}@{checkpoint}", folder.parent / f"exported_{checkpoint}")
    return out.split("policy sha256 ")[1].strip()


def archive_is_readable(folder):
    archives = sorted((folder / "archive").glob("*.h5"))
    check(archives, "no archive file")
    for path in archives:
        dump = subprocess.run(["h5dump", path], capture_output=True, text=True)
        check(dump.returncode == 0 and "DATASET" in dump.stdout, f"h5dump cannot read {path.name}:\n{dump.stderr}")
    python = os.environ.get("ROLLCALL_PYTHON_REFERENCES")
    if not python:
        print("note: ROLLCALL_PYTHON_REFERENCES is not set, so the archive was read with h5dump only")
        return
    reader = subprocess.run([python, "-c", READ_IN_PYTHON, *archives], capture_output=True, text=True)
    check(reader.returncode == 0, f"h5py or xarray cannot read the archive:\n{reader.stderr}")


if not data_set(pathlib.Path(sys.argv[2])).is_dir():
    print(f"skipped: {data_set(pathlib.Path(sys.argv[2]))} is not there (GSM8K is not part of the sources); ROLLCALL_GSM8K names another folder with train.jsonl and test.jsonl")
    sys.exit(SKIPPED)
main(questions_of_a_real_file)

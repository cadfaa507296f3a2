"""scripts/to_tracker with a stand-in for trackio that notes what it is given: each step once,
over a resume; messages for what is missing."""

import json
import os
import signal
import subprocess
import sys
import time

import references

references.enter(modules=("h5py", "numpy"))

from harness import await_steps, check, main, metrics, sets  # noqa: E402

TRACKIO = '''"""Stands in for trackio: every log is a line of a file."""
import json, os, pathlib
class Table:
    def __init__(self, columns, data): self.columns, self.data = columns, data
def noted():
    path = pathlib.Path(os.environ["TRACKIO_DIR"], "noted.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
class SQLiteStorage:
    @staticmethod
    def get_logs(project, run, max_points):
        return [line for line in noted() if line["run"] == [project, run]]
def init(project, name, config, resume, **rest):
    global run
    run = [project, name]
    assert config["train.steps"] and resume == "allow" and rest["embed"] is False
def log(said, step):
    path = pathlib.Path(os.environ["TRACKIO_DIR"], "noted.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {key: [value.columns, value.data] if isinstance(value, Table) else value
            for key, value in said.items()}
    with open(path, "a") as file: file.write(json.dumps({**told, "step": step, "run": run}) + "\\n")
def finish(): pass
'''


def script(harness, *words, code=0, env=None):
    done = subprocess.run(
        [sys.executable, harness.source / "scripts/to_tracker", *map(str, words)],
        cwd=harness.work,
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
    )
    check(
        done.returncode == code and "Traceback" not in done.stderr,
        f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}",
    )
    return done.stdout if code == 0 else done.stderr


def each_step_once(harness):
    run, stand_in = harness.work / "run", harness.work / "stand_in"
    stand_in.mkdir()
    (stand_in / "trackio.py").write_text(TRACKIO)
    env = {"PYTHONPATH": f"{stand_in}:{os.environ['PYTHONPATH']}"}
    words = (run, "--tracker", "trackio", "--out", "out", "--samples", 5, "--samples-every", 4)
    harness.train(run, *sets(eval__every=3))
    check(
        script(harness, *words, env=env).startswith("38 steps: "),
        "30 supervised steps, 6 steps and 2 validations",
    )
    check(
        script(harness, *words, env=env).startswith("0 steps: "), "what was exported counts again"
    )
    harness.train(run, "--resume", *sets(train__steps=9, eval__every=3))
    check(
        script(harness, *words, "--follow", env=env).startswith("4 steps: "),
        "3 steps more and a validation",
    )
    noted = [
        json.loads(line)
        for line in (harness.work / "out/trackio/noted.jsonl").read_text().splitlines()
    ]
    keys = [(line["phase"], line["step"]) for line in noted]
    check(len(keys) == len(set(keys)) == 42, f"{keys}")
    for phase, names in (
        ("train", ("critic/rewards/mean", "timing_s/step")),
        ("validation", ("validation/pass_at_1",)),
        ("sft", ("sft/loss",)),
    ):
        for row in metrics(run, phase):
            line = next(
                line for line in noted if (line["phase"], line["step"]) == (phase, row["step"])
            )
            check(
                all(line[name] == row[name] for name in names)
                and line["sft/step" if phase == "sft" else "train/step"] == row["step"],
                f"{row} became {line}",
            )
            check(
                phase != "sft"
                or (
                    line["sft/actor/grad_norm"] == row["actor/grad_norm"]
                    and "actor/grad_norm" not in line
                ),
                f"{line}",
            )
            tables = [name for name in line if name.startswith("samples/")]
            wanted = phase == "validation" or (phase == "train" and row["step"] in (1, 4, 8))
            check(
                tables == ([f"samples/{phase}"] if wanted else []),
                f"{phase} {row['step']} has {tables}",
            )
            for columns, data in (line[name] for name in tables):
                check(
                    len(data) == 5
                    and len({tuple(values[:3]) for values in data}) == 5
                    and all(dict(zip(columns, values))["step"] == row["step"] for values in data),
                    f"{columns} {data}",
                )


def an_interrupted_export_goes_on(harness):
    """Ctrl-C ends --follow in order; the next export begins after what it wrote."""
    run, out = harness.work / "live", harness.work / "live_out"
    env = {"PYTHONPATH": f"{harness.work / 'stand_in'}:{os.environ['PYTHONPATH']}"}
    words = (run, "--tracker", "trackio", "--out", out, "--samples", "0")
    settings = sets(run__dir=run, train__steps=100000)
    training = harness.start("train", harness.tiny, *settings, stdout=None, stderr=None)
    try:
        await_steps(training, run, 1)
        command = [sys.executable, harness.source / "scripts/to_tracker", *words, "--follow"]
        following = subprocess.Popen(
            list(map(str, command)),
            env=os.environ | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        noted, deadline = out / "trackio/noted.jsonl", time.monotonic() + 60
        while not noted.exists() or not noted.read_text():
            check(following.poll() is None and time.monotonic() < deadline, "nothing is exported")
            time.sleep(0.02)
        following.send_signal(signal.SIGINT)
        said, errors = following.communicate(timeout=60)
    finally:
        training.send_signal(signal.SIGUSR1)
    check(
        following.returncode == 0 and " steps: " in said, f"{following.returncode} {said} {errors}"
    )
    check(training.wait(60) == 75, f"the run ended with {training.returncode}")
    script(harness, *words, env=env)
    keys = [
        (line["phase"], line["step"]) for line in map(json.loads, noted.read_text().splitlines())
    ]
    check(
        len(keys) == len(set(keys)) == len(metrics(run)) + 30, f"{len(keys)} of {len(metrics(run))}"
    )


def what_is_missing_is_named(harness):
    run, broken = harness.work / "run", harness.work / "broken"
    broken.mkdir()
    env = {"PYTHONPATH": f"{broken}:{os.environ['PYTHONPATH']}"}
    for module, package in (("mlflow", "mlflow"), ("h5py", "numpy h5py")):
        (broken / f"{module}.py").write_text("raise ImportError(name=__name__)\n")
        said = script(harness, run, "--tracker", "mlflow", code=2, env=env)
        named = f"{module} is not installed in {sys.executable}"
        check(named in said and f"pip install {package}`" in said and said.count("\n") == 1, said)
    file = next((run / "archive").glob("*.h5"))
    check("name the folder" in script(harness, file, "--tracker", "wandb", code=2), "one file")


main((each_step_once, an_interrupted_export_goes_on, what_is_missing_is_named))

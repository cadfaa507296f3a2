"""scripts/to_tracker with the real packages: what they wrote is read by themselves; `wandb sync`
sends it to a server that stands in for W&B's.

They are too heavy for scripts/python-references.txt: ROLLCALL_PYTHON_TRACKERS names a Python
that has them (pip install wandb mlflow trackio h5py)."""

import http.server
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading

import references

references.enter("ROLLCALL_PYTHON_TRACKERS", ("h5py", "numpy", "pandas"))

from harness import check, main, metrics, sets  # noqa: E402

THERE = [name for name in ("wandb", "mlflow", "trackio") if importlib.util.find_spec(name)]
if not THERE:
    print(
        f"skipped: none of wandb, mlflow and trackio is installed in {sys.executable};"
        " ROLLCALL_PYTHON_TRACKERS names a Python that has them"
    )
    sys.exit(references.SKIPPED)


def ran(harness, *words, env=None):
    done = subprocess.run(
        list(map(str, words)),
        cwd=harness.work,
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
    )
    check(
        done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout + done.stderr


def exported(harness, tracker):
    """A run that is exported, goes on and is exported again: 6 steps and 2 validations, then 3
    steps and one, after 30 supervised steps."""
    run = harness.work / f"run_{tracker}"
    words = (
        sys.executable,
        harness.source / "scripts/to_tracker",
        run,
        "--tracker",
        tracker,
        "--out",
        "out",
        "--samples",
        4,
        "--samples-every",
        4,
        "--id",
        f"{tracker}-run",
    )
    harness.train(run, *sets(eval__every=3))
    check("38 steps: " in ran(harness, *words), "30 supervised steps, 6 steps and 2 validations")
    check("\n0 steps: " in "\n" + ran(harness, *words), "what was exported counts again")
    harness.train(run, "--resume", *sets(train__steps=9, eval__every=3))
    check("4 steps: " in ran(harness, *words), "3 steps more and a validation")
    return run


class Server(http.server.ThreadingHTTPServer):
    """Answers `wandb sync` as far as it asks, and keeps the lines of each run's history by their
    numbers."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.history, self.files, self.configs = {}, set(), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # clients that are done close their connections

    def answer(self, query, variables):
        name = re.match(r"\s*(?:query|mutation)\s+(\w+)", query).group(1)
        bucket = {
            "id": "Qg==",
            "name": variables and variables.get("name"),
            "displayName": "run",
            "description": None,
            "config": "{}",
            "sweepName": None,
            "historyLineCount": len(self.history),
            "project": {"id": "UA==", "name": "rollcall", "entity": {"id": "RQ==", "name": "me"}},
        }
        if name == "UpsertBucket":
            self.configs.append(variables.get("config") or "{}")
            return {"upsertBucket": {"inserted": not self.history, "bucket": bucket}}
        if name == "RunResumeStatus":
            return {
                "model": {
                    "id": "UA==",
                    "name": "rollcall",
                    "entity": {"id": "RQ==", "name": "me"},
                    "bucket": None,
                }
            }
        if name == "CreateArtifact":
            return {
                "createArtifact": {
                    "artifact": {
                        "id": "QQ==",
                        "state": "COMMITTED",
                        "artifactSequence": {"id": "UQ==", "latestArtifact": None},
                    }
                }
            }
        if name == "CreateRunFiles":
            self.files.update(variables["files"])
            files = [
                {"name": file, "uploadUrl": f"http://127.0.0.1:{self.server_port}/{file}"}
                for file in variables["files"]
            ]
            return {"createRunFiles": {"runID": "Qg==", "uploadHeaders": [], "files": files}}
        return {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def respond(self, said):
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.respond({})

    def do_GET(self):
        self.respond({})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/graphql"):
            said = json.loads(body)
            return self.respond({"data": self.server.answer(said["query"], said.get("variables"))})
        if self.path.endswith("/file_stream"):
            lines = (
                json.loads(body)
                .get("files", {})
                .get("wandb-history.jsonl", {"offset": 0, "content": []})
            )
            for number, line in enumerate(lines["content"], lines["offset"]):
                check(number not in self.server.history, f"line {number} comes twice")
                self.server.history[number] = json.loads(line)
        self.respond({})


def wandb(harness):
    run = exported(harness, "wandb")
    folder = harness.work / "out/wandb"
    parts = sorted(folder.glob("offline-run-*"))
    check(len(parts) == 2, f"{parts}")
    record = folder / "wandb-run.json"
    state = json.loads(record.read_text())
    left = folder / "offline-run-20260101_000000-wandb-run"
    left.mkdir()
    record.write_text(
        json.dumps({**state, "open": left.name})
    )  # as an export that was killed leaves it
    ran(
        harness,
        sys.executable,
        harness.source / "scripts/to_tracker",
        run,
        "--tracker",
        "wandb",
        "--out",
        "out",
        "--id",
        "wandb-run",
    )
    check(not left.exists(), "what an interrupted export left is still there")
    server = Server()
    program = os.path.join(os.path.dirname(sys.executable), "wandb")
    ran(
        harness,
        program,
        "sync",
        *parts,
        env={"WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}", "WANDB_API_KEY": "0" * 40},
    )
    server.shutdown()
    lines = [server.history[number] for number in range(len(server.history))]
    check(
        [line["_step"] for line in lines] == list(range(42)), f"{[line['_step'] for line in lines]}"
    )
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for row, line in zip(rows, lines, strict=True):
        said = {
            key if row["phase"] != "sft" or key.startswith("sft/") else f"sft/{key}": value
            for key, value in row.items()
            if key not in ("phase", "step")
        }
        check(
            all(abs(line[key] - value) <= 1e-12 * abs(value) for key, value in said.items()),
            f"{row} became {line}",
        )
        check(line["sft/step" if row["phase"] == "sft" else "train/step"] == row["step"], f"{line}")
        wanted = row["phase"] == "validation" or (
            row["phase"] == "train" and row["step"] in (1, 4, 8)
        )
        check(
            (line.get(f"samples/{row['phase']}", {}).get("nrows") == 4) == wanted,
            f"{row['phase']} {row['step']}: {line}",
        )
    check(
        sum(file.startswith("media/table/samples/") for file in server.files) == 6,
        f"{server.files}",
    )
    check(
        any('"prompts_per_step"' in config for config in server.configs),
        "the settings are not sent",
    )


def mlflow(harness):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow as package

    run = exported(harness, "mlflow")
    store = (harness.work / "out/mlruns").as_uri()
    package.set_tracking_uri(store)
    package.set_registry_uri(store)
    client = package.MlflowClient()
    found = client.search_runs([client.get_experiment_by_name("rollcall").experiment_id])
    check(
        len(found) == 1
        and found[0].info.status == "FINISHED"
        and found[0].data.params["train.prompts_per_step"] == "8",
        f"{found}",
    )
    number = found[0].info.run_id
    for phase, name, ours in (
        ("train", "critic/rewards/mean", ""),
        ("validation", "validation/pass_at_1", ""),
        ("sft", "actor/lr", "sft/"),
        ("train", "actor/lr", ""),
    ):
        history = {}
        for entry in client.get_metric_history(number, ours + name):
            check(entry.step not in history, f"{name} has step {entry.step} twice")
            history[entry.step] = entry.value
        check(
            history == {row["step"]: row[name] for row in metrics(run, phase)}, f"{name}: {history}"
        )
    tables = [file.path for file in client.list_artifacts(number, "samples")]
    wanted = [f"samples/train_{step:06}.json" for step in (1, 4, 8)] + [
        f"samples/validation_{step:06}.json" for step in (3, 6, 9)
    ]
    check(sorted(tables) == wanted, f"{tables}")
    table = client.load_table(found[0].info.experiment_id, "samples/train_000004.json", [number])
    check(
        len(table) == 4 and set(table.step) == {4} and table.prompt.str.len().min() > 0, f"{table}"
    )


def trackio(harness):
    run = exported(harness, "trackio")
    read = (
        "import json, trackio; print(json.dumps(trackio.SQLiteStorage.get_logs('rollcall',"
        " run='trackio-run', max_points=10000), default=str))"
    )
    lines = json.loads(
        ran(
            harness,
            sys.executable,
            "-c",
            read,
            env={"TRACKIO_DIR": str(harness.work / "out/trackio")},
        ).splitlines()[-1]
    )
    keys = [(line["phase"], line["step"]) for line in lines]
    check(len(keys) == len(set(keys)) == 42, f"{keys}")
    rewards = {
        line["step"]: line["critic/rewards/mean"] for line in lines if line["phase"] == "train"
    }
    check(
        rewards == {row["step"]: row["critic/rewards/mean"] for row in metrics(run)}, f"{rewards}"
    )
    table = next(
        line["samples/train"] for line in lines if (line["phase"], line["step"]) == ("train", 4)
    )
    check(
        table["_type"] == "trackio.table"
        and len(table["_value"]) == 4
        and table["_value"][0]["step"] == 4,
        f"{table}",
    )


for name in ("wandb", "mlflow", "trackio"):
    if name not in THERE:
        print(f"skipped {name}: it is not installed in {sys.executable}")
main(*[test for test in (wandb, mlflow, trackio) if test.__name__ in THERE])

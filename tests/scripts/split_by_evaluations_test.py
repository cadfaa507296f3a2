"""split_by_evaluations sends what not all models solve to RL, and refuses evaluations of another file."""
import json
import pathlib
import subprocess
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "split_by_evaluations"
# question -> which of three models solve it, by share of their four samples
SOLVED = {"a": (1.0, 1.0, 1.0), "b": (1.0, 0.0, 1.0), "c": (0.0, 0.0, 0.0), "d": (0.5, 0.75, 1.0), "e": (0.25, 1.0, 1.0)}


def run(folder, *more, models=3):
    questions = folder / "questions.jsonl"
    questions.write_text("".join(json.dumps({"question": q, "answer": "x"}) + "\n" for q in SOLVED))
    files = []
    for model in range(models):
        files.append(folder / f"model{model}.jsonl")
        files[-1].write_text("".join(json.dumps({"prompt": q + "\n", "correct": sample < 4 * shares[model]}) + "\n"
                                     for q, shares in SOLVED.items() for sample in range(4)))
    return subprocess.run([SCRIPT, questions, *files, "--rl", folder / "rl", "--sft", folder / "sft", *more], capture_output=True, text=True)


def stream(folder, name):
    return [json.loads(line)["question"] for line in (folder / name).read_text().splitlines()]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for more, rl in (((), "bce"), (("--solved", "1"), "bcde"), (("--agree", "2"), "c"), (("--agree", "1", "--solved", "0.25"), "c")):
        said = run(folder, *more)
        assert said.returncode == 0, said
        assert stream(folder, "rl") == list(rl), (more, stream(folder, "rl"))
        assert stream(folder, "sft") == [q for q in SOLVED if q not in rl], more
    said = run(folder, "--rates", folder / "rates")
    rates = [json.loads(line) for line in (folder / "rates").read_text().splitlines()]
    assert [r["success"] for r in rates] == [sum(shares) / 3 for shares in SOLVED.values()] and rates[0]["answer"] == "x", rates
    assert "--agree 4" in run(folder, "--agree", "4").stderr
    (folder / "other.jsonl").write_text(json.dumps({"prompt": "z", "correct": True}) + "\n")
    said = subprocess.run([SCRIPT, folder / "questions.jsonl", folder / "other.jsonl", "--rl", folder / "r", "--sft", folder / "s"], capture_output=True, text=True)
    assert said.returncode == 1 and "line 1" in said.stderr and not (folder / "r").exists(), said
    (folder / "bad.jsonl").write_text('{"question": "a"}\n')
    said = subprocess.run([SCRIPT, folder / "questions.jsonl", folder / "bad.jsonl", "--rl", folder / "r", "--sft", folder / "s"], capture_output=True, text=True)
    assert said.returncode == 1 and "archive export" in said.stderr, said

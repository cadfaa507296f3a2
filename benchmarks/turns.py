#!/usr/bin/env python3
"""What conversations cost: four figures with their goals, as a file of benchmarks/results.

    benchmarks/turns.py [--rounds 5] [--steps 12] [--threads 2] [--parts at_once waiting second_turn processes] [--short] ...

at_once      key_door, which answers at once, beside single answers to the same prompts with the same draws of tokens: seconds of a step, in turn. Each conversation
             has one turn here, since a second one is more tokens, not the environment's price. Goal: at most 1.03. Beside it stands what four turns take to be answered.
waiting      64 conversations of 4 turns with a program that answers each after 50 ms, beside the same ones answered at once: generation with the sleeps over
             4 x 50 ms and generation without them. Goal: at most 1.15.
second_turn  tokens that a session computes for the second turn of a conversation over those that are new in it (bench_engine). Goal: at most 1.02.
processes    256 conversations with 256 processes of a program. Goal: none is lost, no process takes the place of another.

The weights of these runs are random and earn nothing, so that no step changes the work of the next one. A turn ends at the first digit. `--short` plays each part
once, briefly, and demands the counted goals alone, those of second_turn and processes; clocks decide nothing then."""
import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = ["at_once", "waiting", "second_turn", "processes"]
GOALS = {"at_once": 1.03, "waiting": 1.15, "second_turn": 1.02, "processes": 0}
TURNS, SLEEP_S, WARM_STEPS = 4, 0.05, 2  # the first steps are not counted: memory is touched for the first time
RUN_FILE = """# Written by benchmarks/turns.py.
[task]
min_level = 2
format_weight = 0
heldout_prompts = 8
validation_prompts = 8
[model]
hidden_size = 128
intermediate_size = 256
num_hidden_layers = 4
num_attention_heads = 4
num_key_value_heads = 2
head_dim = 32
max_position_embeddings = 1024
[sampling]
stop = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
[sft]
steps = 0
[eval]
before = false
after = false
[run]
log_level = "warn"
"""
ENGINE = {"kind": "turns", "members": 16, "groups": 1, "prompt": 200, "new": 30, "said": 40,
          "config": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 352, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                     "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 1024,
                     "tie_word_embeddings": True, "hidden_act": "silu"}}
PROGRAM = f"#!{sys.executable} -IS\n" + '''# Answers each action after argv[1] seconds, whatever else it was asked, and ends a conversation at its argv[2]-th turn. Each process leaves a file behind argv[3].
import json, os, sys, threading
sleep_s, turns, notes = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
open(f"{notes}.{os.getpid()}", "w").close()
lock = threading.Lock()
def say(answer):
    with lock:
        print(json.dumps(answer), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "reset":
        say({"id": asked["id"], "state": 0, "text": ""})
    elif asked["op"] == "step":
        said = asked["state"] + 1
        answer = {"id": asked["id"], "state": said, "text": "Go on.", "reward": 0, "done": said == turns, "correct": False}
        if sleep_s > 0:
            threading.Timer(sleep_s, say, [answer]).start()
        else:
            say(answer)
'''


def parse():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    made.add_argument("--rounds", type=int, default=5, help="runs of each kind, in turn (default 5)")
    made.add_argument("--steps", type=int, default=12, help=f"training steps of a run (default 12); the first {WARM_STEPS} are not counted")
    made.add_argument("--threads", type=int, default=os.cpu_count(), help="worker threads of a run (default: all)")
    made.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/rollcall", help="bench_engine lies beside it")
    made.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/turns", help="folder of the runs")
    made.add_argument("--short", action="store_true", help="one round of few steps")
    args = made.parse_args()
    if args.short:
        args.rounds, args.steps = 1, WARM_STEPS + 1
    if args.rounds < 1 or args.steps <= WARM_STEPS:
        made.error(f"needs a round, and more than {WARM_STEPS} steps")
    if not args.binary.is_file():
        made.error(f"there is no {args.binary}: build it first (scripts/setup) or give --binary")
    args.binary, args.out = args.binary.resolve(), args.out.resolve()
    return args


class Machine:
    """Trains, and reads what a run measured."""

    def __init__(self, args):
        self.args = args
        shutil.rmtree(args.out, ignore_errors=True)
        args.out.mkdir(parents=True)
        self.run_file, self.program = args.out / "run.toml", args.out / "program.py"
        self.run_file.write_text(RUN_FILE)
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def call(self, *words, **options):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, cwd=self.args.out, **options)
        if done.returncode != 0:
            sys.exit(f"turns: {' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout

    def train(self, name, settings):
        """The run folder, and the metrics of the steps that count."""
        folder = self.args.out / name
        settings = {"run.dir": folder, "run.threads": self.args.threads, "train.steps": self.args.steps, "checkpoint.every": self.args.steps, **settings}
        self.call(self.args.binary, "train", self.run_file, *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")))
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        return folder, [row for row in rows if row["phase"] == "train"][WARM_STEPS:]

    def by_program(self, sleep_s, turns, notes):
        words = [str(self.program), str(sleep_s), str(turns), str(self.args.out / notes)]
        return {"task.name": "key_door", "environment.command": json.dumps(words), "environment.max_turns": turns, "sampling.turn_tokens": 128, "sampling.max_new_tokens": 128 * turns}


def median(rows, name):
    return statistics.median(row[name] for row in rows)


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def at_once(machine):
    common = {"train.prompts_per_step": 16, "train.rollouts_per_prompt": 8, "sampling.max_new_tokens": 192}
    talk = {**common, "task.name": "key_door", "environment.max_turns": 1}
    folder, _ = machine.train("prompts", talk)
    lines = machine.call(machine.args.binary, "archive", "export", folder, "--purpose", "train").splitlines()
    texts = sorted({json.loads(line)["prompt"] for line in lines})
    questions = machine.args.out / "questions.jsonl"
    questions.write_text("".join(json.dumps({"question": text, "answer": "none"}) + "\n" for text in texts))
    ratios = []
    for number in range(machine.args.rounds):
        _, single = machine.train(f"single_{number}", {**common, "task.name": "file", "task.file": questions})
        _, answered = machine.train(f"answered_{number}", talk)
        # a token's own price, so that another mix of prompts and lengths does not count
        ratios.append(median([{"s": row["timing_s/step"] / row["response_length/mean"]} for row in answered], "s")
                      / median([{"s": row["timing_s/step"] / row["response_length/mean"]} for row in single], "s"))
    _, turns = machine.train("four_turns", {**common, "task.name": "key_door", "environment.max_turns": TURNS, "sampling.turn_tokens": 48})
    share = median([{"s": row["perf/environment_answer_ms"] / 1000 * row["turns/mean"] * 128 / row["timing_s/step"]} for row in turns], "s")
    return statistics.median(ratios), f"step with key_door over step of single answers {spread(ratios)}; all answers of a step of four turns are {share:.2%} of it"


def waiting(machine):
    size = {"train.prompts_per_step": 8, "train.rollouts_per_prompt": 8}
    ratios, plain, slow = [], [], []
    for number in range(machine.args.rounds):
        _, quick = machine.train(f"quick_{number}", {**machine.by_program(0, TURNS, f"quick_{number}"), **size})
        _, sleepy = machine.train(f"sleepy_{number}", {**machine.by_program(SLEEP_S, TURNS, f"sleepy_{number}"), **size})
        plain.append(median(quick, "timing_s/generation")), slow.append(median(sleepy, "timing_s/generation"))
        ratios.append(slow[-1] / (TURNS * SLEEP_S + plain[-1]))
    return statistics.median(ratios), f"generation {spread(slow)} s with sleeps, {spread(plain)} s without; over the sum of waiting and computing {spread(ratios)}"


def second_turn(machine):
    cases = [{**ENGINE, "threads": machine.args.threads, "prompt": prompt} for prompt in (20, 200, 800)]
    engine = machine.args.binary.with_name("bench_engine")
    told = [json.loads(line) for line in machine.call(engine, input="".join(json.dumps(case) + "\n" for case in cases)).splitlines()]
    ratios = [answer["computed"] / answer["tokens"] for answer in told]
    return max(ratios), "computed over new tokens behind prompts of 20, 200 and 800 tokens: " + ", ".join(f"{ratio:.4f}" for ratio in ratios)


def processes(machine):
    _, rows = machine.train("processes", {**machine.by_program(2, TURNS, "process"), "train.steps": WARM_STEPS + 1, "environment.processes": 256, "environment.timeout_s": 120, "train.prompts_per_step": 32,
                                          "train.rollouts_per_prompt": 8})
    started = len(list(machine.args.out.glob("process.*")))
    lost, restarted = (sum(row[f"environment/{name}"] for row in rows) for name in ("lost", "restarted"))
    talks = len(rows) * 256
    return lost + restarted, f"{lost:.0f} of {talks} conversations lost, {restarted:.0f} processes restarted, {started} processes started"


def main():
    args = parse()
    machine = Machine(args)
    version = machine.call(args.binary, "--version").splitlines()[0]
    print(f"Commands: `benchmarks/turns.py {' '.join(sys.argv[1:])}`\n\nMachine: {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start. Program: {version}.\n")
    print("| part | figure | goal | what was measured |\n|---|---|---|---|", flush=True)
    missed = []
    for part in args.parts:
        figure, text = globals()[part](machine)
        if figure > GOALS[part]:
            missed.append(part)
        print(f"| {part} | {'**' if part in missed else ''}{figure:.3f}{'**' if part in missed else ''} | {GOALS[part]} | {text} |", flush=True)
    counted = [part for part in missed if part in ("second_turn", "processes")]
    return 1 if (counted if args.short else missed) else 0


if __name__ == "__main__":
    sys.exit(main())

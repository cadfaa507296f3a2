"""`archive verify --replay`: stored conversations are played again, and one that goes otherwise is named."""
import json
import sys

from harness import check, main, sets

TURNS = sets(train__steps=2, model__max_position_embeddings=128, sampling__max_new_tokens=18, sampling__turn_tokens=6, environment__max_turns=3, task__format_weight=0)
# Counts turns, and pays for each what a file beside it says.
COUNTER = '''#!/usr/bin/env python3
import json, pathlib, sys
pay = float(pathlib.Path(__file__).with_name("pay").read_text())
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "close":
        continue
    turn = asked["turn"] + 1 if asked["op"] == "step" else 0
    print(json.dumps({"id": asked["id"], "state": None, "text": str(turn), "reward": pay if turn else 0, "done": turn == 2}), flush=True)
'''


def conversations(harness, run):
    """Stored rollouts with the facts of an environment, and those that it had lost."""
    lines = [json.loads(line) for line in harness.succeed("archive", "export", run).splitlines()]
    return sum(line["finish"] != "lost" for line in lines), sum(line["finish"] == "lost" for line in lines)


def a_built_in_world_says_the_same(harness):
    run = harness.work / "doors"
    harness.train(run, *TURNS, *sets(task__name="key_door", task__min_level=2, task__max_level=2))
    out = harness.succeed("archive", "verify", run, "--replay")
    equal, lost = conversations(harness, run)
    check(equal > 64 and lost == 0, f"{equal} {lost}")
    check(out.splitlines()[-1] == f"{equal} conversations replayed: equal", out)
    check("replayed" not in harness.succeed("archive", "verify", run), "it is played without being asked")
    code, out, err, _ = harness.run("archive", "verify", next(run.glob("archive/train*.h5")), "--replay")
    check(code == 2 and "--replay is given" in err and "name the run folder" in err and err.count("\n") == 1, f"{code} {out} {err}")


def a_command_that_pays_otherwise_is_named(harness):
    folder, run = harness.work / "counter", harness.work / "counted"
    folder.mkdir()
    program = folder / "counter.py"
    program.write_text(COUNTER)
    (folder / "pay").write_text("0.25")
    harness.train(run, *TURNS, *sets(environment__command=json.dumps([sys.executable, str(program)])))
    code, out, err, _ = harness.run("archive", "verify", run, "--replay")
    equal, lost = conversations(harness, run)
    check(code == 0 and lost == 0 and f"{equal} conversations replayed: equal\n" in out, f"{code} {out} {err}")
    check("about to be run, as you" in err and str(program) in err, f"it does not say what it starts: {err}")
    (folder / "pay").write_text("2")
    code, out, err, _ = harness.run("archive", "verify", run, "--replay")
    check(code == 3 and "went otherwise, the first of them is train step " in out and ": reward 2, and the archive has 0.25\n" in out, f"{code} {out} {err}")
    check("all checksums and structures are correct" in out and harness.succeed("archive", "verify", run), "the files are sound")


def a_run_of_single_answers_has_none(harness):
    run = harness.work / "single"
    harness.train(run, *sets(train__steps=1, sft__steps=5))
    code, out, err, _ = harness.run("archive", "verify", run, "--replay")
    check(code == 2 and "is a run without an environment" in err and "leave out --replay" in err, f"{code} {out} {err}")


main(a_built_in_world_says_the_same, a_command_that_pays_otherwise_is_named, a_run_of_single_answers_has_none)

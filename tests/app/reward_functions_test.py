"""jobs/verifiers/compute_score.py: reward functions as TRL, verl, verifiers, prime-rl and NeMo-RL call them get what they get there."""
import json
import subprocess
import sys

from harness import check, main

FUNCTIONS = '''
import os, sys

# TRL
def columns(completions, prompts, solution, answer, **kwargs):
    return [float((c, p, s, a, kwargs["task"]) == ("5", "2+3?", "We add: \\\\boxed{5}", 5, ["sums"])) for c, p, s, a in zip(completions, prompts, solution, answer)]
def messages(completions, prompts, **kwargs):
    return [float(c == [{"role": "assistant", "content": "5"}] and [m["role"] for m in p] == ["system", "user"]) for c, p in zip(completions, prompts)]
def filled(completions, solution, **kwargs):
    return [float(c == s) for c, s in zip(completions, solution)]
async def awaited(completions, ground_truth, trainer_state, log_extra=None, log_metric=None, **kwargs):
    log_extra("seen", list(ground_truth)), log_metric("count", 1.0)
    return [float(trainer_state.global_step == 12)]
def three(completions, **kwargs): return [1.0, 0.0, 0.5]
def bare(completions, **kwargs): return 0.9
def not_a_number(completions, **kwargs): return [float("nan")]
def undecided(completions, **kwargs): return [None]
def raises(completions, **kwargs): raise ValueError("no such\\nthing")
def leaves(completions, **kwargs): sys.exit(0)
def ids(completions, completion_ids): return [1.0]
def noisy(completions, **kwargs):
    sys.stdin.read(), os.write(1, b"raw\\n"), os.system("echo of a child")
    return [1.0]

# verl
def verl(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": float((data_source, ground_truth, extra_info) == ("own", {"target": 5, "numbers": [2, 3]}, {"index": 7})), "acc": False, "pred": solution_str}
def weighted(data_source, solution_str, ground_truth, extra_info, weight): return weight
def batch(data_sources, solution_strs, ground_truths, extra_infos, **kwargs): return [float(d == "own" and g == 5) for d, g in zip(data_sources, ground_truths)]
def listed(solution_str, ground_truth): return float(ground_truth == ["4", "5"])
def lacks(data_source, solution_str, ground_truth, extra_info): return {"reward": 1.0}

# verifiers, prime-rl, NeMo-RL
async def rubric(prompt, completion, answer, state, info, parser):
    return float(parser.parse_answer(completion) == answer == "5" and info["k"] == 1 and state["answer"] == answer and prompt[-1]["content"] == "2+3?")
def pair(ground_truth, response): return (0.25, response == ground_truth)

# what is said of correctness: flags and 0 or 1, and nothing else
class Scalar:
    def __init__(self, value): self.value = value
    def item(self): return self.value
def of_text(ground_truth, response): return {"score": 0.0, "acc": "no"}
def of_share(ground_truth, response): return {"score": 0.0, "acc": 0.5}
def of_pair(ground_truth, response): return (0.0, "no")
def of_zero(ground_truth, response): return {"score": 1.0, "acc": 0}
def of_one(ground_truth, response): return (0.0, 1.0)
def of_scalar(ground_truth, response): return {"score": 0.0, "acc": Scalar(True)}

def unknown(env, metadata): return 1.0
'''


def functions_get_what_their_trainers_give(harness):
    adapter, file = harness.source / "jobs/verifiers/compute_score.py", harness.work / "functions.py"
    file.write_text(FUNCTIONS)
    text = {"prompt": "2+3?", "solution": "We add: \\boxed{5}", "answer": 5, "task": "sums", "line": 1}
    chat = {"prompt": [{"role": "system", "content": "Add."}, {"role": "user", "content": "2+3?"}], "line": 1}
    verl = {"data_source": "own", "reward_model": {"ground_truth": {"target": 5, "numbers": [2, 3]}}, "extra_info": {"index": 7}}
    number, rows = verl | {"reward_model": {"ground_truth": 5}}, {"question": "2+3?", "answer": "5", "info": '{"k": 1}'}
    right = (1.0, True)
    table = (("columns", text, "5", right), ("messages", chat, "5", right), ("filled", {"line": 1}, "5", right), ("filled", {"line": 1}, ["4", "5"], right), ("filled", {"solution": ["5"]}, "5", (0.0, False)),
             ("awaited", text, "5", right), ("noisy", text, "5", right), ("undecided", text, "5", "the function returned None"), ("three", text, "5", "the function returned 3 rewards for 1 completion"),
             ("bare", text, "5", "the function returned no list"), ("not_a_number", text, "5", "the function returned NaN"), ("raises", text, "5", "ValueError: no such thing (functions.py:"),
             ("leaves", text, "5", "SystemExit: 0 (functions.py:"), ("verl", verl, "2 3=5", (1.0, False)), ("batch", number, "5", right), ("listed", {"reward_model": {"ground_truth": ["4", "5"]}}, ["4", "5"], right),
             ("lacks", verl, "5", "a dict without \"score\"; it has reward"), ("weighted", verl, "5", "the function needs weight; for verl there is data_source"), ("rubric", rows, "5", right), ("pair", rows, "5", (0.25, True)),
             ("of_text", rows, "5", "'no', which is neither true nor false"), ("of_share", rows, "5", "0.5, which is neither true nor false"), ("of_pair", rows, "5", "'no', which is neither true nor false"),
             ("of_zero", rows, "5", (1.0, False)), ("of_one", rows, "5", (0.0, True)), ("of_scalar", rows, "5", (0.0, True)))
    processes = []
    for name, row, answer, wanted in table:
        asked = {"id": "train/12/3/0/1", "prompt": "2+3?\n", "response": "5", "answer": answer, "extra": row}
        process = subprocess.Popen([sys.executable, adapter, f"{file}:{name}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate((json.dumps(asked) + "\n") * 2, timeout=60)
        replies = [json.loads(line) for line in out.splitlines()]  # the process lives on after each
        check(len(replies) == 2 and replies[0] == replies[1] and replies[0]["id"] == asked["id"], f"{name}: {out} {err}")
        if isinstance(wanted, tuple):
            check((replies[0].get("score"), replies[0].get("correct")) == wanted, f"{name}: {replies[0]} {err}")
        else:
            check(replies[0].get("undecided") and replies[0].get("failed", False) == (name != "undecided") and wanted in replies[0]["reason"], f"{name}: {replies[0]}")
        check(("raw\nof a child\n" in err) == (name == "noisy") and ("Traceback" in err) == (name in ("raises", "leaves")), f"{name}: {err}")
        check(replies[0].get("extracted") == ("5" if name == "verl" else None), f"{name}: {replies[0]}")
    for name, said in (("unknown", "what to pass to it is not known"), ("ids", "token ids are not known here")):
        done = subprocess.run([sys.executable, adapter, f"{file}:{name}"], input="", capture_output=True, text=True)
        check(done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr)
        check(all(trainer in done.stderr for trainer in ("TRL", "verl", "verifiers", "prime-rl", "NeMo-RL")), done.stderr)
    asked = json.dumps({"id": "a", "response": "5", "answer": "5"}) + "\n"
    done = subprocess.run([sys.executable, adapter, f"{file}:weighted", "--reward-kwargs", '{"weight": 0.75}'], input=asked, capture_output=True, text=True)
    check(json.loads(done.stdout)["score"] == 0.75, done.stderr)


main(functions_get_what_their_trainers_give)

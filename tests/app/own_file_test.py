"""A file of one's own from beginning to end: README's example, graders written for other trainers, evaluations from anywhere."""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

from chat_test import folder_with_template
from harness import check, main, metrics, sets

MISCONFIGURED, FAILED, STOPPED = 2, 3, 75


def example(harness):
    """README's second example: its commands, with a small model, two steps and this build."""
    block = next(b for b in re.findall(r"```sh\n(.*?)```", (harness.source / "README.md").read_text(), re.S) if "own.toml" in b)
    check(block.count("\n") <= 20, f"the example has more than 20 lines:\n{block}")
    check(len(re.findall(r"^\w+\.\w+ = ", block, re.M)) <= 6, f"the run file has more than six keys:\n{block}")
    return block.replace(".deps/smollm2", str(folder_with_template(harness))).replace("steps = 20", "steps = 2")


def run_of(harness):
    """The run of README's example, made once."""
    run = harness.work / "runs/own"
    if not run.exists():
        bin_folder = os.path.dirname(harness.binary)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", example(harness)], cwd=harness.work, env=os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"},
                              capture_output=True, text=True, timeout=120)
        check(done.returncode == 0, f"README's example ends with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        (harness.work / "example.out").write_text(done.stdout + done.stderr)
    return run


def the_example_of_the_readme_runs(harness):
    run, said = run_of(harness), None
    said = (harness.work / "example.out").read_text()
    for part in ("no answer holds \"####\": the whole answer is the reference, and the verifier math judges by it", "rows: ", "pass@1", "by rollout"):
        check(part in said, f"the example does not say {part!r}:\n{said}")
    settings = (run / "config.toml").read_text()
    check('verifier = "math"' in settings and 'answer_marker = ""' in settings and 'name = "file"' in settings, "config.toml does not say what the file came to")
    for row in metrics(run):
        check(0 <= row["train/pass_rate"] <= 1 and 0 <= row["train/pass_rate_rollouts"] <= 1, str(row))


REWARDS = '''
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    print("what a function prints is no reply")
    if ground_truth == "8":
        return {}["missing"]
    if not extra_info or extra_info.get("source", "") != data_source:
        raise ValueError(f"extra_info {extra_info} is not the row's")
    right = solution_str.strip() in ground_truth
    return {"score": 1.0 if right else 0.25, "acc": right, "length": len(solution_str)}

def accuracy(completions, answer, **fields):
    return [float(text in accepted) for text, accepted in zip(completions, answer)]
'''


def functions_of_other_trainers_judge(harness):
    adapter, rewards, answers = harness.source / "jobs/verifiers/compute_score.py", harness.work / "rewards.py", harness.work / "answers.jsonl"
    rewards.write_text(REWARDS)
    answers.write_text("".join(json.dumps({"prompt": "2+2?", "response": response, "answer": ["4", "four"], "extra": {"line": 1}}) + "\n" for response in ("4", "five")))

    def verdicts(*words):
        return [json.loads(line) for line in harness.succeed("score", answers, *words).splitlines()]

    verl = verdicts("--components", "length", "--command", sys.executable, adapter, rewards, "length")
    check([(v["verdict"], v["score"], v["components"]["length"]) for v in verl] == [("correct", 1.0, 1.0), ("wrong", 0.25, 4.0)], str(verl))
    answers.write_text(json.dumps({"response": "4", "answer": "4", "extra": {"id": "a", "data_source": "sums", "source": "sums"}}) + "\n")
    check(verdicts("--command", sys.executable, adapter, rewards)[0]["verdict"] == "correct", "a line's \"extra\" does not reach the function")
    for place, said in ((harness.work / "none.py", "there is no file"), (f"{rewards}:nope", "has no function nope; it has compute_score, accuracy")):
        code, out, err, _ = harness.run("score", answers, "--command", sys.executable, adapter, place)
        check(code == MISCONFIGURED and out == "" and said in err and "Traceback" not in err, f"{place}: {code} {err}")
    (harness.work / "chat.py").write_text("def f(completions, prompts, **more):\n    return [float(c[0]['content'] == '4' and p[0]['role'] == 'user') for c, p in zip(completions, prompts)]\n")
    answers.write_text(json.dumps({"prompt": "2+2?", "response": "4", "answer": "4"}) + "\n")
    chat = verdicts("--command", sys.executable, adapter, f"{harness.work / 'chat.py'}:f", "--chat")  # all words after --command are the program's
    check(chat[0]["verdict"] == "correct", f"messages do not reach the function: {chat}")
    answers.write_text(json.dumps({"response": "4", "answer": "4", "extra": 7}) + "\n")
    code, _, err, _ = harness.run("score", answers, "--command", sys.executable, adapter, rewards)
    check(code == MISCONFIGURED and "answers.jsonl:1: what is under \"extra\" is no object" in err, err)
    answers.write_text("".join(json.dumps({"prompt": "2+2?", "response": response, "answer": ["4", "four"], "extra": {"line": 1}}) + "\n" for response in ("4", "five")))
    trl = verdicts("--command", sys.executable, adapter, f"{rewards}:accuracy")
    check([(v["verdict"], v["score"]) for v in trl] == [("correct", 1.0), ("wrong", 0.0)], str(trl))
    check([v["verdict"] for v in verdicts("--verifier", "exact_match")] == ["correct", "wrong"], "a list does not accept each of its answers")
    text = '["4", "four"]'  # which looks like the list
    answers.write_text("".join(json.dumps({"response": response, "answer": text}) + "\n" for response in ("4", text)))
    check([v["verdict"] for v in verdicts("--verifier", "exact_match")] == ["wrong", "correct"], "a text that looks like a list is taken for one")
    code, _, err, _ = harness.run("score", answers, "--verifier", "math", "--command", "./grade")
    check(code == MISCONFIGURED and "one of --verifier, --command and --judge says who judges" in err, err)


def what_nobody_could_judge_is_told(harness):
    """A grader that crashes on some rows: the end and status say how many verdicts are missing, and where in the grader it happened."""
    (harness.work / "rewards.py").write_text(REWARDS)
    rows, run = harness.work / "some_bad.jsonl", harness.work / "undecided"
    numbers = [str((i + 1) % 20) for i in range(60)]
    forms = (lambda one: one, lambda one: json.dumps([one, "no"]), lambda one: [one, "no"], lambda one: [one])  # the second is a text that looks like the third
    kinds = [one if one == "8" else forms[i % 4](one) for i, one in enumerate(numbers)]
    row = lambda i: {"question": f"{i}+1", "answer": kinds[i]} | ({} if i % 2 else {"id": f"row {i}", "data_source": "sums", "source": "sums"})
    rows.write_text("".join(json.dumps(row(i)) + "\n" for i in range(60)))
    command = json.dumps([sys.executable, str(harness.source / "jobs/verifiers/compute_score.py"), str(harness.work / "rewards.py")])
    out = harness.succeed("train", *sets(run__dir=run, model__path=folder_with_template(harness), task__file=rows, reward__command=command, reward__processes=2, sampling__max_new_tokens=4,
                                         train__steps=1, train__prompts_per_step=54, train__rollouts_per_prompt=2, scheduler__policy="uniform", eval__before="false", eval__after="false"))
    for said in (out, harness.succeed("status", run)):
        told = re.search(r"undecided +(\d+) of (\d+) verdicts since the last start; the first: KeyError: 'missing' \(rewards\.py:\d+\); (standard error is|rewards\.py:\d+: KeyError: 'missing') in .*verifier/", said)
        check(told and 0 < int(told[1]) < int(told[2]), f"undecided verdicts are not told with their cause:\n{said}")
    asked = {int(line["prompt"].split("+")[0]): line["reference"] for line in map(json.loads, harness.succeed("archive", "export", run).splitlines())}
    check(len(asked) > 40 and all(reference == kinds[i] for i, reference in asked.items()), f"references are not as in their rows: {asked}")
    noting, notes = harness.work / "noting.py", harness.work / "notes.jsonl"
    noting.write_text(f"import json, sys\nfor line in sys.stdin:\n    s = json.loads(line)\n    print(json.dumps({{'prompt': s['prompt'], 'reference': s['answer']}}), file=open({str(notes)!r}, 'a'))\n"
                      "    print(json.dumps({'id': s['id'], 'score': 1, 'correct': True}), flush=True)\n")
    harness.succeed("archive", "rescore", run, "--command", sys.executable, noting)
    heard = {int(line["prompt"].split("+")[0]): line["reference"] for line in map(json.loads, notes.read_text().splitlines())}
    check(heard == asked, f"a grader gets other references than the rows have: {heard}")
    lines = [json.loads(line) for line in harness.succeed("archive", "export", run, "--purpose", "train").splitlines()]
    for line in lines:  # the way back to the row
        i = int(line["prompt"].split("+")[0])
        wanted = row(i) | ({"line": i + 1} if i % 2 else {})
        check(line["extra"] == wanted, f"{line['prompt']!r} has {line['extra']}, not {wanted}")
        check(line["shown"] != line["prompt"] and line["prompt"].strip() in line["shown"], f"the prompt as it was shown is {line['shown']!r}")
    check(len(lines) == 108, f"{len(lines)} rollouts")
    shown = harness.succeed("archive", "show", run, "--prompt", lines[0]["prompt_id"], "--purpose", "train")
    check("as the policy was shown it" in shown and "row of the file" in shown, shown)


def an_unchanged_file_continues_its_run(harness):
    """The job that ended is submitted again: what the rows decided at its start is no change."""
    run_of(harness)
    done = subprocess.run([harness.binary, "submit", "own.toml", "--dry-run"], cwd=harness.work, capture_output=True, text=True)
    check(done.returncode == 0 and "#SBATCH" in done.stdout, f"{done.returncode} {done.stderr}")
    harness.succeed("submit", harness.work / "runs/own/config.toml", "--dry-run")  # whose paths are relative to where the run was started


def evaluations_work_from_anywhere(harness):
    run = run_of(harness)
    elsewhere = harness.work / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run([harness.binary, "eval", "../runs/own", "--out", "here", *sets(eval__samples=8)], cwd=elsewhere, capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"{done.stdout}\n{done.stderr}")
    check(f"read from {harness.work.resolve()}, where the run was started" in done.stderr, done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    check((elsewhere / "here/eval.json").exists() and found == json.loads((elsewhere / "here/eval.json").read_text()), "--out is not where the command was given")
    rows = len((harness.work / "questions.jsonl").read_text().splitlines())
    check(found["data"] == f"{found['prompts']} of the {rows} rows of questions.jsonl", str(found))
    for part in (r"level +prompts +pass@1 +pass@8", r"all +\d+ +0\.\d+ \[", "questions: ", r"eval \[#+\] +\d+/\d+", r"rollouts?/s|s/rollout"):
        check(re.search(part, done.stdout), f"no {part!r} in:\n{done.stdout}")
    for folder, count in ((elsewhere, 3), (harness.work, 5)):
        (folder / "q2.jsonl").write_text("".join(json.dumps({"question": f"{i}+2", "answer": str(i + 2)}) + "\n" for i in range(count)))
    done = subprocess.run([harness.binary, "eval", "../runs/own", "--out", "there", *sets(eval__samples=8, task__heldout_file="q2.jsonl")], cwd=elsewhere, capture_output=True, text=True)
    check(done.returncode == 0 and json.loads(done.stdout.splitlines()[-1])["data"] == f"3 of the 3 rows of elsewhere/q2.jsonl", f"{done.stdout}\n{done.stderr}")
    code, _, err, _ = harness.run("eval", folder_with_template(harness))
    check(code == MISCONFIGURED and "is no run of Rollcall, and there is no --run-file" in err and "which questions to ask" in err, err)
    check("--set task.heldout_file=QUESTIONS.jsonl asks all of them" in err, err)
    found = json.loads(harness.succeed("eval", folder_with_template(harness), "--out", "all_asked", *sets(task__heldout_file="q2.jsonl", eval__samples=8)).splitlines()[-1])
    check(found["data"] == "5 of the 5 rows of q2.jsonl", f"not all rows of the file: {found}")


def an_evaluation_stops_at_once(harness):
    for ranks in (1, 3):
        out = harness.work / f"stopped_{ranks}"
        process = harness.start("eval", run_of(harness), "--out", out, *sets(eval__samples=20000, run__threads=1), ranks=ranks)
        deadline = time.monotonic() + 60
        while not (out / "config.toml").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.5)
        began = time.monotonic()
        process.send_signal(signal.SIGUSR1 if ranks > 1 else signal.SIGTERM)  # mpirun passes the first on
        _, err = process.communicate(timeout=60)
        took = time.monotonic() - began
        check(process.returncode == STOPPED and "the evaluation is not kept" in err, f"{ranks} ranks: {process.returncode} {err}")
        check(took < 15, f"{ranks} ranks: {took:.1f} s after the signal")
        check(not (out / "eval.json").exists() and not list((out / "archive").glob("*.h5")), "a part of an evaluation is kept")
        if ranks == 1:
            _, _, err, _ = harness.run("eval", run_of(harness), "--out", out, *sets(eval__samples=8))
            check("did not finish: it is made again" in err and (out / "eval.json").exists(), f"the next one is refused: {err}")


def an_evaluation_stops_while_it_judges(harness):
    grader, asked, out = harness.work / "slow.py", harness.work / "slow.asked", harness.work / "stopped_judging"
    grader.write_text(f"import json, sys, time\nfor line in sys.stdin:\n    open({str(asked)!r}, 'a').write('x')\n    time.sleep(0.3)\n"
                      "    print(json.dumps({'id': json.loads(line)['id'], 'score': 1, 'correct': True}), flush=True)\n")
    command = json.dumps([sys.executable, str(grader)])
    process = harness.start("eval", run_of(harness), "--out", out, *sets(eval__samples=200, reward__verifier="", reward__command=command, reward__processes=1, run__threads=1))
    deadline = time.monotonic() + 60
    while (not asked.exists() or asked.stat().st_size < 4) and time.monotonic() < deadline:  # the first reference, and then answers
        time.sleep(0.05)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=90)
    took = time.monotonic() - began
    check(process.returncode == STOPPED and "the evaluation is not kept" in err and took < 10, f"{process.returncode} after {took:.1f} s: {err}")


def an_evaluation_of_one_prompt_shows_progress(harness):
    """On a terminal the bar moves with rollouts that end, although all of them are of one round."""
    terminal, line = pty.openpty()
    job = harness.start("eval", run_of(harness), "--out", harness.work / "one_prompt", *sets(eval__samples=20000, task__heldout_prompts=1, run__threads=1), stdout=line, stderr=line, text=False)
    os.close(line)
    said = b""
    while True:
        try:
            said += os.read(terminal, 4096)
        except OSError:  # Linux says so where nobody has the other end any more
            break
    os.close(terminal)
    check(job.wait(60) == 0, said.decode(errors="replace"))
    seen = {int(count) for count in re.findall(rb"(\d+)/20000", said)}
    check({0, 20000} < seen and len(seen) >= 3, f"the bar stood still between {sorted(seen)}")
    check(re.search(rb"tokens \d", said), "no tokens are counted")


TINY_FILE = "[task]\nfile = \"rows.jsonl\"\n[text]\ntokenizer = \"byte\"\n"


def rows_run(harness):
    """The run file of a tiny run on twenty rows, with ids."""
    run_file = harness.work / "rows.toml"
    (harness.work / "rows.jsonl").write_text("".join(json.dumps({"id": f"q{i}", "question": f"{i}+2", "answer": str(i + 2)}) + "\n" for i in range(20)))
    run_file.write_text(re.sub(r"(?s)\[task\].*?(?=\[model\])", TINY_FILE, (harness.source / "tests/app/tiny.toml").read_text()))
    return run_file


def all_rows_train_unless_something_validates(harness):
    run_file = rows_run(harness)

    def train(name, *settings, resume=False, code=0):
        got, _, err, _ = harness.run("train", run_file, *["--resume"] * resume, *sets(run__dir=harness.work / name, run__log_level="info"), *settings)
        check(got == code, f"exit code {got}, not {code}:\n{err}")
        return err

    def kept(name):
        return re.search(r"validation_prompts = (-?\d+)", (harness.work / name / "config.toml").read_text())[1]

    err = train("never")
    check("rows.jsonl: no row is kept for validations, since eval.every is 0" in err and "20 rows: 18 train, 0 validation, 2 held-out" in err and kept("never") == "0", err)
    err = train("never", *sets(eval__every=2), resume=True, code=MISCONFIGURED)
    check("the run trains on all rows" in err, err)
    err = train("sometimes", *sets(eval__every=2, eval__validation_samples=8))
    check("20 rows: 16 train, 2 validation, 2 held-out" in err and kept("sometimes") == "2", err)
    err = train("sometimes", *sets(eval__every=0, train__steps=8), resume=True)
    check("20 rows: 16 train, 2 validation, 2 held-out" in err and "the prompts are not those" not in err, err)
    err = train("asked_for", *sets(task__validation_prompts=3))
    check("15 train, 3 validation, 2 held-out" in err, err)


def a_run_of_an_earlier_build_keeps_its_rows(harness):
    """Its record has no task.split and no number of rows that validate."""
    reference, folder = harness.work / "by_row", harness.work / "earlier"
    settings = sets(run__log_level="info", eval__every=2, eval__validation_samples=8, task__split="by_row")
    _, _, err, _ = harness.run("train", rows_run(harness), *sets(run__dir=reference), *settings)
    told = re.search(r"20 rows: .* held-out", err)
    check(told and told[0] != "20 rows: 16 train, 2 validation, 2 held-out", f"the two ways agree here, so that this test is blind:\n{err}")
    record = (reference / "config.toml").read_text()
    check("\nvalidation_prompts = -1" in record, "an earlier build recorded no number")
    folder.mkdir()
    (folder / "config.toml").write_text(re.sub(r"\nsplit = [^\n]*", "", record))
    code, _, again, _ = harness.run("train", folder / "config.toml", "--resume")
    check(code == 0 and told[0] in again, f"not {told[0]}:\n{again}")
    check('\nsplit = "by_row"' in (folder / "config.toml").read_text(), "the next resume would not know")
    check(json.loads((folder / "result.json").read_text())["policy_sha256"] == json.loads((reference / "result.json").read_text())["policy_sha256"], "another policy")


def rows_and_rollouts_find_each_other(harness):
    run = harness.work / "with_rows"
    harness.succeed("train", rows_run(harness), *sets(run__dir=run))
    lines = [json.loads(line) for line in harness.succeed("archive", "export", run).splitlines()]
    of_row = [line for line in lines if line["extra"]["id"] == "q3"]
    check(of_row and len(of_row) < len(lines) and all(line["prompt"] == "3+2\n" for line in of_row), "the row was never asked")
    exported = [json.loads(line) for line in harness.succeed("archive", "export", run, "--row", "q3").splitlines()]
    check(exported == of_row, "export --row gives other rollouts")
    shown = harness.succeed("archive", "show", run, "--row", "q3")
    heads = re.findall(r"^\w+ step \d+, prompt \d+.*", shown, re.M)
    check(heads and all("(row q3)" in head for head in heads) and shown.count("  sample ") == len(of_row), shown)
    back = harness.succeed("archive", "show", run, "--prompt", of_row[0]["prompt_id"], "--purpose", of_row[0]["purpose"])
    check("(row q3)" in back.splitlines()[0], back)
    harness.succeed("view", run, "--out", harness.work / "row_pages")
    pages = "".join(path.read_text() for path in (harness.work / "row_pages/data/run-1").glob("prompts-*.js"))
    check(pages.count('"row":"q3"') == len({line["purpose"] for line in of_row}), "the pages' search knows no rows")


def a_failed_run_says_why(harness):
    run = harness.work / "failing"
    code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=run, train__lr=10, train__max_grad_norm=0, train__on_nonfinite="stop", train__loss_spike_factor=1e-9))
    check(code == FAILED, f"{code} {err}")
    told = (run / "failure").read_text().splitlines()[0]
    check(f"failure     {told}" in harness.succeed("status", run), harness.succeed("status", run))


def wrong_settings_are_told_at_once_and_first(harness):
    """Before a model is read or a grader is started: neither of these exists."""
    nothing = sets(model__path="/no/such/model", reward__command='["/no/such/grader"]', task__file="no.jsonl")
    code, _, err, _ = harness.run("train", *nothing, *sets(learning_rate=1, train__stepz=3, run__threads=-1))
    check(code == MISCONFIGURED and all(part in err for part in ("mistakes, one a line", "here it is train.lr", "did you mean train.steps", "run.threads is -1")), err)
    code, _, err, _ = harness.run("train", *nothing, *sets(teacher__model="x", probes__draws=3))
    check(code == MISCONFIGURED and "teacher.model is set" in err and "probes.draws is set" in err, err)


def costs_are_told(harness):
    run, threads = harness.work / "costly", os.cpu_count() + 1
    _, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=run, run__threads=threads, task__train_prompts=6, train__steps=1, sft__steps=0, train__prompts_per_step=2, eval__before="false",
                                                           eval__after="false", run__log_level="info"), ranks=3)
    for part in (f"run.threads is {threads}, and a rank may use", "3 ranks generate, and a step has 2 prompts", "memory of ranks 1-2: "):
        check(part in err, f"no {part!r} in:\n{err}")
    _, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "few", task__train_prompts=6, train__steps=1, sft__steps=0, eval__before="false", eval__after="false"))
    check("train.prompts_per_step is 8, and there are 6 training prompts" in err, err)
    code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "none", eval__every=1, task__validation_prompts=0))
    check(code == MISCONFIGURED and "there is no validation prompt" in err, err)


def a_folder_of_others_is_named_with_the_reason(harness):
    """As somebody else, where the test may become that."""
    if os.geteuid() != 0:
        return
    theirs = harness.work / "theirs"
    theirs.mkdir(mode=0o755)
    harness.work.chmod(0o755)
    run_file = harness.work / "tiny.toml"
    run_file.write_text((harness.source / "tests/app/tiny.toml").read_text())
    try:
        done = subprocess.run([harness.binary, "train", run_file, *sets(run__dir=theirs)], cwd="/", user=65534, group=65534, extra_groups=[], capture_output=True, text=True)
    except PermissionError:
        return  # the program's own folder is closed to them
    check(done.returncode == MISCONFIGURED and f"cannot write to run.dir {theirs}: Permission denied" in done.stderr, done.stderr)


if __name__ == "__main__":
    main(the_example_of_the_readme_runs, an_unchanged_file_continues_its_run, functions_of_other_trainers_judge, what_nobody_could_judge_is_told, evaluations_work_from_anywhere, an_evaluation_stops_at_once,
         an_evaluation_stops_while_it_judges,
         an_evaluation_of_one_prompt_shows_progress, all_rows_train_unless_something_validates, a_run_of_an_earlier_build_keeps_its_rows,
         rows_and_rollouts_find_each_other,
         a_failed_run_says_why, wrong_settings_are_told_at_once_and_first, costs_are_told, a_folder_of_others_is_named_with_the_reason)

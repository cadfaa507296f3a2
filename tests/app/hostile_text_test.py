"""Text of others, a model's, a file's or a grader's, is shown and acts on nothing, wherever it is printed."""
import json
import os
import pty
import re
import subprocess
import sys

from harness import check, main, sets

# What a terminal obeys: C0 but line ends and tabs, DEL, C1, separators of lines, and controls of the direction of text.
ACTS = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\rforged\n12:00:00 info all is well\n      | \x9b2J\u202eabc"
BYTES = sets(text__tokenizer="byte", task__name="file", task__format_weight=0, task__answer_marker="", sft__steps=0, train__steps=1, train__prompts_per_step=6, eval__before="false", eval__after="false",
             model__max_position_embeddings=256, sampling__max_new_tokens=24)
GRADER = """import json, sys
for number, line in enumerate(sys.stdin):
    sys.stderr.write("\\x1b[2J to stderr\\n")
    verdict = {"score": 0, "correct": False} if number %% 2 else {"undecided": True}
    print(json.dumps({"id": json.loads(line)["id"], "reason": %r, **verdict}), flush=True)
"""


def harmless(what, data):
    """Bytes as they were printed."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise AssertionError(f"{what} is not UTF-8: {error} {data[-300:]!r}") from None
    found = ACTS.search(text)
    check(not found, f"{what} holds {found and found.group()!r}: {text[max(0, found.start() - 80):found.start() + 40] if found else ''!r}")
    return text


def output(harness, *arguments, code=0, **options):
    """(stdout, stderr) as bytes"""
    done = subprocess.run(harness.command(arguments), capture_output=True, cwd=harness.work, timeout=120, **options)
    check(done.returncode == code, f"exit code {done.returncode}, not {code}: {arguments}\n{done.stdout[-500:]!r}\n{done.stderr[-500:]!r}")
    return done.stdout, done.stderr


def on_a_terminal(harness, *arguments, given=""):
    """What a terminal gets to see; the line ends that its driver makes are taken back."""
    parent, child = pty.openpty()
    process = subprocess.Popen(harness.command(arguments), stdin=subprocess.PIPE, stdout=child, stderr=child, cwd=harness.work)
    os.close(child)
    process.stdin.write(given.encode())
    process.stdin.close()
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(parent)
    check(process.wait(timeout=60) == 0, f"{arguments}: {shown[-500:]!r}")
    return shown.replace(b"\r\n", b"\n")


def run(harness):
    """Hostile questions and references, a grader with hostile reasons, and answers of a model that knows nothing: any bytes. Its log is kept."""
    folder = harness.work / "run"
    if not folder.exists():
        lines = [{"question": f"{n}{HOSTILE}", "answer": f"{n}{HOSTILE}"} for n in range(6)]
        (harness.work / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (harness.work / "grade.py").write_text(GRADER % HOSTILE)
        _, err = output(harness, "train", harness.tiny, *BYTES, *sets(run__dir=folder, run__log_level="info", task__file=harness.work / "tasks.jsonl",
                                                                     reward__command=json.dumps([sys.executable, str(harness.work / "grade.py")])))
        (harness.work / "log").write_bytes(err)
    return folder


def the_log(harness):
    run(harness)
    log = harmless("the log", (harness.work / "log").read_bytes())
    check("\\u001B[2J" in log and "verdicts are undecided" in log, f"the reason is not in the log:\n{log}")
    check(not re.search(r"^12:00:00 info all is well", log, re.M), f"a reason forged a line:\n{log}")


def the_archive(harness):
    folder = run(harness)
    shown = harmless("archive show", output(harness, "archive", "show", folder, "--prompt", "0")[0])
    check("      | 12:00:00 info all is well\n" in shown and "\\u001B[2J" in shown, shown)
    check(not re.search(r"^(12:00:00|forged)", shown, re.M), f"a text steps over its bar:\n{shown}")
    for words in (("ls", folder), ("stats", folder), ("stats", folder, "--json"), ("verify", folder), ("diff", folder, folder)):
        harmless(f"archive {words[0]}", output(harness, "archive", *words)[0])
    printed = harmless("archive export", output(harness, "archive", "export", folder)[0])
    _, said = output(harness, "archive", "export", folder, "--out", harness.work / "lines")
    replaced = sum("\ufffd" in line for line in (harness.work / "lines").read_text().splitlines())
    check(replaced > 0 and f"{replaced} of the lines have U+FFFD in the place of bytes".encode() in said, f"{replaced} lines have replaced bytes: {said!r}")
    written = (harness.work / "lines").read_text().splitlines()
    check([json.loads(line) for line in printed.splitlines()] == [json.loads(line) for line in written], "what is printed is other JSON than the file")
    check(any(HOSTILE in json.loads(line)["prompt"] for line in written), "the exported prompt is not the task's")


def answers_of_a_model(harness):
    folder = run(harness)
    ask = ("generate", folder, "1+1=", "--samples", 4, *sets(sampling__temperature=1, sampling__max_new_tokens=60))
    exact, shown = output(harness, *ask, "--exact")[0], output(harness, *ask)[0]
    check(re.search(rb"[\x00-\x08\x0e-\x1f]", exact), f"the model says nothing hostile, so this tests nothing: {exact!r}")
    harmless("generate in a pipe", shown)
    harmless("generate on a terminal", on_a_terminal(harness, *ask))
    one = ("generate", folder, "1+1=", *sets(sampling__temperature=1, sampling__max_new_tokens=100))
    harmless("one answer on a terminal", on_a_terminal(harness, *one))
    chatml = harness.work / "t.jinja"
    chatml.write_text("{% for m in messages %}{{ m.content }}\n{% endfor %}")
    talk = ("chat", folder, *sets(text__template=chatml, sampling__max_new_tokens=40))
    harmless("chat", on_a_terminal(harness, *talk, given="hello\nagain\n"))


def rendered_templates(harness):
    file = harness.work / "echo.jinja"
    file.write_text("{{ x }}")
    given = json.dumps({"x": HOSTILE})
    harmless("template on a terminal", on_a_terminal(harness, "template", file, given=given))
    check(output(harness, "template", file, input=given.encode())[0] == HOSTILE.encode(), "a pipe gets another text than was rendered")


def the_state_of_a_run(harness):
    folder = run(harness)
    file = folder / "status.json"
    state = json.loads(file.read_text())
    file.write_text(json.dumps(state | {"phase": HOSTILE, "layout": HOSTILE, "numerics": HOSTILE, "verifier": HOSTILE, "slowest_verdicts": [{"sample": HOSTILE, "seconds": 9}],
                                        "diagnoses": [{"kind": HOSTILE, "what": HOSTILE, "advice": HOSTILE, "name": HOSTILE}]}))
    shown = harmless("status", output(harness, "status", folder)[0])
    check("\\u001B[2J" in shown and not re.search(r"^12:00:00", shown, re.M), shown)
    file.write_text(json.dumps(state))


def verdicts_on_lines(harness):
    lines = json.dumps({"response": "#### 1\x9b2J\u202eabc\x7f", "answer": "2"}) + "\n"
    verdict = harmless("score", output(harness, "score", "-", "--verifier", "marked_answer", input=lines.encode())[0])
    check(json.loads(verdict)["verdict"] in ("wrong", "undecided"), verdict)


def errors_that_quote(harness):
    (harness.work / "keys.toml").write_text('["a\\u001b[2J\\n12:00:00 info all is well"]\nx = 1\n')
    (harness.work / "bad.jsonl").write_text('{"question": "q", "\\u001b[2J": 1}\n')
    (harness.work / "broken.toml").write_bytes(b"\x1b[2J = \x9b\n")
    name = "none\x1b[2J\nrollcall: all is well"
    for words in (("train", name), ("status", name), ("view", name, "--serve", "0"), ("export", name, "x"), ("archive", "ls", name), (name,), ("train", f"--{name}"),
                  ("train", harness.tiny, "--set", f"run.{name}=1"), ("train", harness.tiny, *sets(run__layout=name)), ("train", "keys.toml"), ("train", "broken.toml"),
                  ("train", harness.tiny, *sets(run__dir="x", task__name="file", task__file="bad.jsonl", task__fields__answer=name)), ("tokenize", name), ("recipes", name),
                  ("template", name), ("score", name, "--verifier", name), ("generate", name, "x"), ("plan", name)):
        out, err = output(harness, *words, code=2)
        text = harmless(f"the error of {words[0]!r}", err)
        harmless(f"the output of {words[0]!r}", out)
        check(text.count("\nrollcall: ") == 0 and text.startswith("rollcall: ") and not re.search(r"^12:00:00 info all", text, re.M), f"{words}: {text}")


main(the_log, the_archive, answers_of_a_model, rendered_templates, the_state_of_a_run, verdicts_on_lines, errors_that_quote)

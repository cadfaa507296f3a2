"""The package rollcall with the program: jobs that start, stop and go on, and verdicts."""

import os
import time

import references

references.enter()

from harness import check, main  # noqa: E402
from refusals import refused  # noqa: E402

import rollcall  # noqa: E402


def jobs_start_stop_and_go_on(harness):
    folder, undisturbed = harness.work / "job", harness.work / "undisturbed"
    job = rollcall.train(
        harness.tiny,
        {"run.dir": folder, "train.steps": 100000, "task.operators": ["+"]},
        program=harness.binary,
    )
    message = refused(job.wait, rollcall.ProgramError, "exit code 2", "task.operators")
    check(message.count("rollcall:") == 0 and "Traceback" not in message, message)
    job = rollcall.train(
        harness.tiny,
        {"run.dir": folder, "train.steps": 100000, "train.lr": 1e-4},
        program=harness.binary,
    )
    rows = job.watch("train", every_s=0.02)
    first = next(rows)
    check(
        first["step"] == 1
        and job.is_running
        and job.run.is_running
        and job.run.status.state == "running",
        f"{first} {job} {job.run.status}",
    )
    refused(lambda: job.wait(0.01), TimeoutError, "still runs")
    job.run.stop()
    seen = [row["step"] for row in rows]
    status = job.run.status
    check(
        job.wait(60) == "stopped"
        and status.state == "stopped"
        and seen == list(range(2, status.train_steps + 1)),
        f"{seen} {status}",
    )
    steps = status.train_steps + 3
    again = job.resume({"train.steps": steps})
    seen = [row["step"] for row in again.watch("train", every_s=0.02)]
    check(
        seen == list(range(1, steps + 1))
        and again.wait() == "done"
        and again.run.status.state == "done",
        f"{seen} of {steps}: {again.output}",
    )
    check(
        rollcall.train(
            harness.tiny, {"run.dir": undisturbed, "train.steps": 100000}, program=harness.binary
        ).stop(60)
        == "stopped",
        "a stop during the start",
    )
    refused(lambda: rollcall.train(harness.work / "no.toml"), rollcall.InputError, "no.toml")
    refused(
        lambda: rollcall.train(harness.tiny, program=harness.work / "nothing"),
        rollcall.ProgramError,
        "nothing",
        "ROLLCALL_PROGRAM",
    )
    refused(
        lambda: rollcall.train(harness.tiny, {"train.lr": None}, program=harness.binary),
        rollcall.InputError,
        "None",
    )


def verdicts(harness):
    os.environ["ROLLCALL_PROGRAM"] = harness.binary
    got = rollcall.score(
        ["so \\boxed{\\frac{2}{4}}", "The answer is 3\nor \u2028 not.", "é"],
        ["0.5", 4, ["x", "é"]],
    )
    check(
        [row["verdict"] for row in got] == ["correct", "wrong", "correct"]
        and set(got[0]) == {"verdict", "score", "reason", "extracted"},
        f"{got}",
    )
    many = rollcall.score(
        [f"\\boxed{{{n}}}" for n in range(5000)], [n - n % 3 for n in range(5000)]
    )
    check(
        [row["verdict"] == "correct" for row in many] == [n % 3 == 0 for n in range(5000)],
        "the order is lost",
    )
    check(rollcall.score([], []) == [], "nothing to judge")
    tests = {"type": "assert", "code": "assert f(1) == 2"}
    got = rollcall.score(
        ["```python\ndef f(x): return x + 1\n```", "```python\ndef f(x): return x\n```"],
        [tests, tests],
        "code",
    )
    check([row["verdict"] for row in got] == ["correct", "wrong"], f"{got}")
    with rollcall.Grader("countdown_expression", program=harness.binary) as grader:
        refused(
            lambda: grader.score(["1", "1"], ["3 5 7 25=40", "abc"]),
            rollcall.ProgramError,
            "at response 1",
            "3 5 7 25=40",
        )
        check(
            grader.score(["3*5+25"], ["3 5 7 25=40"])[0]["verdict"] == "correct",
            "no verdicts after a refused reference",
        )
        answers, get = grader._answers, grader._answers.get

        def interrupted(**_):
            answers.get = get
            raise KeyboardInterrupt

        answers.get = interrupted
        refused(lambda: grader.score(["25+3*5"], ["3 5 7 25=40"]), KeyboardInterrupt)
        check(
            grader.score(["25+3*7"], ["3 5 7 25=40"])[0]["verdict"] == "wrong",
            "an answer to the call that was interrupted",
        )
        process = grader._process
    check(process.wait(10) == 0, "the process outlives its grader")
    refused(
        lambda: rollcall.score(["1"], ["1"], "maths"), rollcall.ProgramError, "did you mean math"
    )
    refused(lambda: rollcall.score(["1"], "1"), rollcall.InputError, "answers is one text")
    refused(lambda: rollcall.score(["1"], []), rollcall.InputError, "1 responses and 0 answers")
    refused(lambda: rollcall.score([1], ["1"]), rollcall.InputError, "response 0 is int")
    stuck = harness.work / "stuck"
    stuck.write_text("#!/bin/sh\nsleep 100\n")
    stuck.chmod(0o755)
    began = time.monotonic()
    refused(
        lambda: rollcall.Grader("math", program=stuck, timeout_s=0.2).score(["1"], ["1"]),
        rollcall.ProgramError,
        "no verdict on response 0",
        "timeout_s",
    )
    check(time.monotonic() - began < 3, "the limit of 0.2 s took longer")


main(jobs_start_stop_and_go_on, verdicts)

"""rollcall score: verdicts of every verifier as a filter, in order with any number of threads, and what it says of bad input."""
import json
import signal
import subprocess
import sys
import threading

from harness import check, main


def lines_of(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def verdicts(out):
    return [json.loads(line) for line in out.splitlines()]


def mathematics(harness):
    given = [({"response": "so \\boxed{\\frac{2}{4}}", "answer": "0.5", "prompt": "half?"}, "correct", 1.0, "\\frac{2}{4}"),
             ({"response": "The answer is $x = 3$.", "answer": "4"}, "wrong", 0.0, "x = 3"),
             ({"response": "\\boxed{\\int_0^1 x}", "answer": "1/2"}, "wrong", 0.0, "\\int_0^1 x"),  # it cannot choose to be undecided
             ({"response": "\\boxed{1/2}", "answer": "\\int_0^1 x"}, "undecided", 0.0, "1/2"),
             ({"response": "", "answer": "1/2"}, "wrong", 0.0, None)]
    file = harness.work / "answers.jsonl"
    file.write_text(lines_of(line for line, *_ in given), encoding="utf-8")
    got = verdicts(harness.succeed("score", file, "--verifier", "math"))
    for (line, verdict, score, extracted), row in zip(given, got, strict=True):
        check((row["verdict"], row["score"], row["extracted"]) == (verdict, score, extracted) and row["reason"], f"{line}: {row}")
    piped = [{**row, "reason": row["reason"].replace(str(file), "-")} for row in got]
    check(piped == verdicts(harness.succeed("score", "-", "--verifier", "math", input=file.read_text(encoding="utf-8"))), "standard input is judged otherwise")


def other_rows(harness):
    for verifier, response, answer in (("exact_match", "123", "123"), ("integer_answer", "-7", "-7"), ("countdown_expression", "3*5+25", "3 5 7 25=40"), ("marked_answer", "#### 1,050", "1050")):
        for wrong in (False, True):
            row = verdicts(harness.succeed("score", "-", "--verifier", verifier, input=lines_of([{"response": "9" if wrong else response, "answer": answer}])))[0]
            check(row["verdict"] == ("wrong" if wrong else "correct") and bool(row["reason"]) == wrong, f"{verifier}: {row}")
    row = verdicts(harness.succeed("score", "-", "--verifier", "exact_match", input=lines_of([{"response": "Bern", "answer": "Bern"}])))[0]
    check(row["verdict"] == "correct" and row["extracted"] == "Bern", row)
    row = verdicts(harness.succeed("score", "-", "--verifier", "math", "--extract", "marker", "--marker", "=>", input=lines_of([{"response": "=> 1/2\n", "answer": "0.5"}])))[0]
    check(row["verdict"] == "correct" and row["extracted"] == "1/2", f"{row}")


def long_numbers(harness):
    """Numbers of JSON keep the digits that a double would lose."""
    for number, response, verdict in (("12345678901234567890123", "12345678901234567890123", "correct"), ("12345678901234567890123", "12345678901234567890124", "wrong"),
                                      ("9007199254740993", "9007199254740993", "correct"), ("18446744073709551617", "18446744073709551616", "wrong"),
                                      ("-18446744073709551617", "-18446744073709551617", "correct"), ("0.12345678901234567891", "0.12345678901234567892", "wrong"),
                                      ("1.50", "1.5", "correct"), ("1e2", "100", "correct")):
        for verifier in ("math", "exact_match" if "e" not in number else "math"):
            told = '{"response": "%s", "other": {"answer": 7}, "answer": %s}\n' % (response if verifier == "exact_match" else f"\\\\boxed{{{response}}}", number)
            row = verdicts(harness.succeed("score", "-", "--verifier", verifier, input=told))[0]
            check(row["verdict"] == verdict, f"{verifier}: {number}: {row}")


def order(harness):
    many = lines_of({"response": f"\\boxed{{{n}}}", "answer": str(n - n % 3)} for n in range(3000))
    outs = [harness.succeed("score", "-", "--verifier", "math", "--threads", threads, input=many) for threads in (1, 7)]
    check(outs[0] == outs[1], "the number of threads changes the output")
    check([row["extracted"] for row in verdicts(outs[0])] == [str(n) for n in range(3000)], "the order of the lines is lost")
    check([row["verdict"] == "correct" for row in verdicts(outs[0])] == [n % 3 == 0 for n in range(3000)], "other verdicts")
    process = harness.start("score", "-", "--verifier", "math", stdin=subprocess.PIPE)
    for n in range(3):
        process.stdin.write(json.dumps({"response": f"{n}", "answer": "1"}) + "\n")
        process.stdin.flush()
        check(json.loads(process.stdout.readline())["verdict"] == ("correct" if n == 1 else "wrong"), "no verdict while the input is open")
    process.communicate(timeout=60)


def errors(harness):
    good = json.dumps({"response": "1", "answer": "1"}) + "\n"
    for bad, said in (("{", "it is not a JSON object"), ("[1]", "it is not a JSON object"), (f'{{"response": "1", "answer": {"[" * 100000}{"]" * 100000}}}', "its brackets nest too deep"),
                      ('{"answer": "1"}', 'no text under "response"'), ('{"response": 1, "answer": "1"}', 'no text under "response"'),
                      ('{"response": "1"}', 'neither "answer" nor "tests"'), ('{"response": "1", "answer": null}', 'neither "answer" nor "tests"'), ('{"response": "1", "answer": "1", "prompt": 2}', '"prompt" is no text')):
        file = harness.work / "bad.jsonl"
        file.write_text(good + "\n" + bad + "\n" + good, encoding="utf-8")
        code, out, err, _ = harness.run("score", file, "--verifier", "math")
        check(code == 2 and f"bad.jsonl:3: {said}" in err.replace("what is under ", "") and err.count("\n") == 1, f"{bad}: exit code {code}, {err}")
        check(out.count("\n") == 1, f"{bad}: the line before was answered by {out!r}")
    code, out, err, _ = harness.run("score", "-", "--verifier", "json", input=good.replace("\"1\"}", "\"{}\"}"))
    check(code == 2 and "-:1: the reference {} cannot be used" in err and out == "", f"exit code {code}, {err}")
    row = verdicts(harness.succeed("score", "-", "--verifier", "math", input=good + lines_of([{"response": "1", "answer": "\\int x"}])))[1]
    check(row["verdict"] == "undecided" and row["reason"].startswith('-:2: the reference "\\int x" cannot be read: '), f"{row}")
    for verifier, reference, said in (("code", "AB", "it is not a JSON object"), ("code", ["assert f(1) == 2"], "it is not a JSON object"),
                                      ("quantity", {"value": 2500, "unit": ["m"]}, "type must be string, but is number")):
        code, _, err, _ = harness.run("score", "-", "--verifier", verifier, input=lines_of([{"response": "1", "answer": reference}]))
        check(code == 2 and said in err and "json.exception" not in err, f"{verifier}: {reference}: exit code {code}, {err}")
    for reference in ("abc", "3 4", ""):
        code, _, err, _ = harness.run("score", "-", "--verifier", "countdown_expression", input=lines_of([{"response": "1", "answer": reference}]))
        check(code == 2 and "it should be like 3 5 7 25=40" in err, f"{reference!r}: exit code {code}, {err}")
    with open("/dev/full", "w") as full:
        done = subprocess.run([harness.binary, "score", file, "--verifier", "math"], stdout=full, stderr=subprocess.PIPE, text=True)
    check(done.returncode != 0 and "No space left" in done.stderr, f"a full disk: exit code {done.returncode}, {done.stderr}")
    code, _, err, _ = harness.run("score", "-", "--verifier", "maths", input=good)
    check(code == 2 and "did you mean math" in err, f"exit code {code}, {err}")
    code, _, err, _ = harness.run("score", "-", "--verifier", "sorting", input=good)  # a task's name is near to no verifier's
    check(code == 2 and "valid are exact_match, integer_answer" in err, f"exit code {code}, {err}")
    for words, said in ((["--verifier", "math", "--set", "a=b"], "--set requires --judge"), (["--judge", "run.toml", "--extract", "boxed"], "--judge excludes --extract")):
        code, _, err, _ = harness.run("score", "-", *words, input=good)
        check(code == 2 and said in err, f"{words}: exit code {code}, {err}")
    process = harness.start("score", "-", "--verifier", "math", stdin=subprocess.PIPE)
    process.stdout.close()  # as head does when it has seen enough
    _, err = process.communicate(good, timeout=60)
    check(process.returncode == 0 and not err, f"a reader that went away: exit code {process.returncode}, {err}")
    code, _, err, _ = harness.run("score", harness.work / "nowhere", "--verifier", "math")
    check(code == 2 and "nowhere" in err, f"exit code {code}, {err}")


def nothing_judged_is_no_success(harness):
    echo = harness.work / "echo.py"
    echo.write_text("import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n"
                    "    print(json.dumps({'id': asked['id'], 'score': 1, 'correct': True, 'reason': json.dumps(asked.get('extra'))}), flush=True)\n")
    good = {"response": "1", "answer": "1"}
    silent = harness.work / "silent.py"
    silent.write_text("import json, sys\nfor line in sys.stdin:\n    print(json.dumps({'id': json.loads(line)['id'], 'undecided': True, 'failed': True}), flush=True)\n")
    code, out, err, _ = harness.run("score", "-", "--command", sys.executable, silent, input=lines_of([good, good]))
    check(code == 3 and [row["verdict"] for row in verdicts(out)] == ["undecided"] * 2 and "none of the 2 responses got a verdict" in err, f"{code} {out} {err}")
    code, out, err, _ = harness.run("score", "-", "--verifier", "math", input="\n \n")
    check(code == 2 and out == "" and "- holds no line to score" in err, f"{code} {err}")
    rows = [good | {"id": "a", "source": "sums"}, good | {"id": "a", "extra": {"line": 7}}, good]
    said = [row["reason"] for row in verdicts(harness.succeed("score", "-", "--command", sys.executable, echo, input=lines_of(rows)))]
    check([json.loads(reason) for reason in said] == [{"id": "a", "source": "sums"}, {"line": 7}, None], f"{said}")


def a_program_that_cannot_work_is_told_once(harness):
    """Not as a verdict on each line: what is missing, and where it was looked for."""
    good = lines_of([{"response": "1", "answer": "1"}] * 3)
    for command, said in ((["/bin/false"], "the command ended with status 1"), ([sys.executable, "none.py"], "none.py': [Errno 2]"), (["./none"], "check that ./none is there"),
                          (["/bin/cat"], 'it has no "score"')):
        code, out, err, _ = harness.run("score", "-", "--command", *command, input=good)
        check(code == 2 and out == "" and said in err and err.count("rollcall: ") == 1 and "warning" not in err, f"{command}: {code} {out} {err}")


class Server:
    """`rollcall score --serve`, which is killed where an answer does not come."""

    def __init__(self, harness, verifier, *words):
        self._process = harness.start("score", "--serve", "--verifier", verifier, *words, stdin=subprocess.PIPE)
        self._watch = threading.Timer(30, self._process.kill)
        self._watch.start()

    def ask(self, text, answers=1):
        self._process.stdin.write(text)
        self._process.stdin.flush()
        return [json.loads(self._process.stdout.readline() or '{"ended": true}') for _ in range(answers)]

    def end(self, rest=""):
        """exit code, the answers that were not read, and standard error"""
        out, err = self._process.communicate(rest, timeout=60)
        self._watch.cancel()
        return self._process.returncode, verdicts(out), err

    def signal(self, number):
        self._process.send_signal(number)


def serving(harness):
    """Each line gets one answer at once, a bad one an error; the end of the input ends it."""
    good, server = {"response": "so \\boxed{1/2}", "answer": "0.5"}, Server(harness, "math")
    for line, verdict in ((good, "correct"), (good | {"answer": "2"}, "wrong"), (good | {"answer": "\\int x"}, "undecided")):
        row = server.ask(lines_of([line]))[0]
        check(row["verdict"] == verdict and set(row) == {"verdict", "score", "reason", "extracted"}, f"{line}: {row}")
    for number, (bad, said) in enumerate((("{", "it is not a JSON object"), ("", "it is not a JSON object"), ("[1]", "it is not a JSON object"), ('{"answer": "1"}', 'no text under "response"'),
                                          ('{"response": "1"}', 'neither "answer" nor "tests"'), ("[" * 100000, "its brackets nest too deep")), start=4):
        row = server.ask(bad + "\n")[0]
        check(list(row) == ["error"] and row["error"].startswith(f"standard input:{number}: {said}"), f"{bad[:40]}: {row}")
    begun = lines_of([good])  # a line whose end has not come holds up no answer
    check(server.ask(begun + begun[:10])[0]["verdict"] == "correct", "the line before one that is not whole")
    check(server.ask(begun[10:])[0]["verdict"] == "correct", "a line in two pieces")
    code, rest, err = server.end(begun.rstrip("\n"))  # the last line need not have a line break
    check(code == 0 and [row["verdict"] for row in rest] == ["correct"] and not err, f"{code} {rest} {err}")
    check(Server(harness, "math").end() == (0, [], ""), "nothing was asked")
    check([list(row) for row in Server(harness, "json").end(lines_of([{"response": "1", "answer": "{}"}]))[1]] == [["error"]], "a reference that the verifier cannot use")


def serving_in_order(harness):
    asked = lines_of({"response": f"\\boxed{{{n}}}", "answer": str(n - n % 3)} for n in range(3000))
    code, rows, err = Server(harness, "math", "--threads", "7").end(asked.replace("\n", "\n{\n", 1))
    check(code == 0 and list(rows.pop(1)) == ["error"] and [row["extracted"] for row in rows] == [str(n) for n in range(3000)], f"{code} {len(rows)} {err}")
    cases = {"type": "stdio", "cases": [{"input": "", "output": "1"}]}
    slow_first = [{"response": f"```python\nimport time\ntime.sleep({pause})\nprint({said})\n```", "tests": cases} for pause, said in ((0.5, 1), (0, 2))]
    server = Server(harness, "code", "--threads", "2")
    check([row["verdict"] for row in server.ask(lines_of(slow_first), answers=2)] == ["correct", "wrong"], "code that runs longer is answered in its turn")
    server.signal(signal.SIGTERM)
    code, rows, err = server.end()
    check(code == 75 and "stopped by SIGTERM: the verdicts that are written are whole" in err, f"{code} {rows} {err}")


def serving_refused(harness):
    for words, said in ((["--serve"], "one of --verifier"), (["--serve", "--command", "/bin/cat"], "--serve is given without --verifier"), (["--serve", "-", "--verifier", "math"], "--serve is given beside the file -"),
                        (["--verifier", "math"], "no file is named, and --serve is not given")):
        code, out, err, _ = harness.run("score", *words)
        check(code == 2 and said in err and err.count("\n") == 1 and out == "", f"{words}: exit code {code}, {err}")
    server = harness.start("score", "--serve", "--verifier", "math", stdin=subprocess.PIPE)
    server.stdout.close()
    _, err = server.communicate(lines_of([{"response": "1", "answer": "1"}]), timeout=60)
    check(server.returncode == 0 and not err, f"a reader that went away: exit code {server.returncode}, {err}")


main(serving, serving_in_order, serving_refused, mathematics, nothing_judged_is_no_success, a_program_that_cannot_work_is_told_once, other_rows, long_numbers, order, errors)

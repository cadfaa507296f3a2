"""rollcall tokenize: texts to ids and back as a filter, in bulk and line by line, and what it says of bad input."""
import json
import subprocess

from harness import check, main


def fixture(harness, name):
    folder = harness.source / "tests/text/fixtures" / name
    return folder, json.loads((folder / "cases.json").read_text(encoding="utf-8"))


def lines_of(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def answers(out):
    return [json.loads(line) for line in out.splitlines()]


def both_ways(harness):
    texts = json.loads((harness.source / "tests/text/fixtures/texts.json").read_text(encoding="utf-8"))
    for name in ("gpt2", "llama2"):
        folder, cases = fixture(harness, name)
        for source in (folder, folder / "tokenizer.json"):
            check(answers(harness.succeed("tokenize", source, input=lines_of(texts))) == cases["ids"], f"{name}: other ids than the library's")
        around = answers(harness.succeed("tokenize", folder, "--special", input='"Hello world"\n'))
        check(around == [cases["around_hello_world"]], f"{name}: {around} with special tokens")
        for flags, key in (([], "decoded"), (["--special"], "decoded_special")):
            got = answers(harness.succeed("tokenize", folder, "--decode", *flags, input=lines_of(cases["lists"])))
            check(got == cases[key], f"{name}: decoding with {flags} differs")


def one_answer_a_line(harness):
    """Whoever writes a line and waits gets its answer before the input ends."""
    folder, _ = fixture(harness, "gpt2")
    process = harness.start("tokenize", folder, stdin=subprocess.PIPE)
    for text in ("a", "b c", "", "x" * 200_000):
        process.stdin.write(json.dumps(text) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        check(answer.endswith("]\n"), f"no answer to a line of {len(text)} characters: {answer[:80]!r}")
    out, err = process.communicate(timeout=60)
    check((process.returncode, out, err) == (0, "", ""), f"exit code {process.returncode}, {out} {err}")


def odd_input(harness):
    folder, _ = fixture(harness, "gpt2")
    raw = subprocess.run([harness.binary, "tokenize", folder], input=b'\n  \r\n"a\xffb"\r\n"last"', capture_output=True)
    check(raw.returncode == 0 and raw.stdout.count(b"\n") == 2, f"blank lines, invalid UTF-8 or a last line without an end: {raw}")
    replaced = harness.succeed("tokenize", folder, input='"a\\ufffdb"\n')
    check(raw.stdout.decode().splitlines()[0] + "\n" == replaced, "invalid UTF-8 is not read as U+FFFD")
    check(harness.succeed("tokenize", folder, input="\n") == "", "an answer to nothing")


def errors(harness):
    folder, _ = fixture(harness, "gpt2")
    for flags, given, said in (([], '"a"\n[1]\n', "line 2 of the input is not a JSON string"), ([], '"a"\n\n"b\n', "line 3 of the input is not JSON"), ([], '"\\ud800"\n', "line 1 of the input is not JSON"),
                               (["--decode"], "[1]\n[1, -2]\n", "line 2 of the input is not a JSON array of ids"), (["--decode"], "[1.5]\n", "line 1 of"), (["--decode"], "[4294967296]\n", "line 1 of"),
                               (["--decode"], '"a"\n', "line 1 of the input is not a JSON array")):
        code, out, err, _ = harness.run("tokenize", folder, *flags, input=given)
        check(code == 2 and said in err and err.count("\n") == 1, f"{given!r}: exit code {code}, {err}")
        check(out.count("\n") == given[:given.rfind("\n", 0, -1) + 1].replace("\n\n", "\n").count("\n"), f"{given!r}: the lines before were answered by {out!r}")
    code, _, err, _ = harness.run("tokenize", harness.work / "nowhere")
    check(code == 2 and "nowhere" in err, f"exit code {code}, {err}")


main(both_ways, one_answer_a_line, odd_input, errors)

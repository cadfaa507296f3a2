"""`rollcall data`: the layouts of public data sets as the program reads them, its JSON, and a first step on rows of another trainer."""
import json
import pathlib
import re
import subprocess
import sys

from chat_test import folder_with_template
from harness import check, main, metrics, sets

KEYS = ["layout", "rows", "usable", "dropped", "train", "validation", "heldout", "duplicates", "unreadable", "files"]


def data(harness, *words):
    lines = harness.succeed("data", *words, "--json").splitlines()
    check(len(lines) == 1, f"--json prints {len(lines)} lines")
    return json.loads(lines[0])


def layouts_are_shown(harness):
    for name, layout, unreadable in (("gsm8k.jsonl", "question_answer", 0), ("eurus_2_code.jsonl", "verl", 0), ("deepscaler.json", "problem_answer", 0), ("ifeval.jsonl", "ifeval", 0),
                                     ("human_eval.jsonl", "human_eval", 0), ("xlam.jsonl", "tool_calls", 0), ("arc.jsonl", "arc", 0), ("countdown.jsonl", "countdown", 0)):
        path = str(harness.source / "tests/task/layouts" / name)
        told = data(harness, path)
        check(list(told) == KEYS, f"{name}: the keys are {list(told)}")
        check((told["layout"], told["rows"], told["usable"], told["unreadable"]) == (layout, 3, 3, unreadable), f"{name}: {told}")
        check(told["files"] == [{"path": path, "rows": 3, "usable": 3}] and told["train"] + told["validation"] + told["heldout"] == 3, f"{name}: {told}")


def everything_is_counted(harness):
    rows = [{"question": f"{n}+1", "answer": str(n + 1)} for n in range(40)] + [{"question": "0+1", "answer": "1"}, {"question": "x"}, {"question": "hard", "answer": "\\int x"}]
    file, test, run = harness.work / "rows.jsonl", harness.work / "test.jsonl", harness.work / "data.toml"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    test.write_text("".join(json.dumps(row) + "\n" for row in rows[:5]))
    run.write_text(f'task.file = "{file}"\ntask.heldout_file = "{test}"\n')
    code, _, err, _ = harness.run("data", run)
    check(code == 2 and 'rows.jsonl:42: has no key "answer"' in err, err)
    told = data(harness, run, *sets(task__on_bad_line="drop", task__train_prompts=30, model__path=folder_with_template(harness)))
    check(told["dropped"] == {"asked_by_heldout": 5, "bad_line": 1, "limit": 6, "repeated": 1}, str(told))
    check(told["rows"] == told["usable"] + sum(told["dropped"].values()) == 48, str(told))
    check((told["train"], told["validation"], told["heldout"], told["duplicates"]) == (30, 0, 5, 5), str(told))
    check(list(told["prompt_tokens"]) == ["median", "p99", "max"] and 0 < told["prompt_tokens"]["median"] <= told["prompt_tokens"]["max"], str(told))
    check([f["rows"] for f in told["files"]] == [43, 5], str(told))
    text = harness.succeed("data", run, *sets(task__on_bad_line="drop"))
    check(text.count("\nexample ") == 10 and "1 references that the verifier cannot compare" in text and "rows.jsonl:43" in text, text)


def what_rows_may_not_mean_is_said(harness):
    """References longer than an answer may be, special tokens that a question spells, and a level that is not read: by `rollcall data` and by a start."""
    rows, model = harness.work / "odd.jsonl", folder_with_template(harness)
    given = [{"question": f"{n}+1?", "answer": "abcdefghijklmnop" if n in (3, 7) else str(n), "level": "easy"} for n in range(20)]
    special = json.loads((pathlib.Path(model) / "tokenizer.json").read_text())["added_tokens"][0]["content"]
    check(special[0] in "<[", special)
    settings = sets(task__file=rows, model__path=model, sampling__max_new_tokens=8, reward__verifier="exact_match", task__format_weight=0, eval__every=0, run__dir=harness.work / "odd")
    run = harness.work / "odd.toml"
    run.write_text("")
    for question in ("5+1?", f"5+1? {special}"):
        given[5]["question"] = question
        rows.write_text("".join(json.dumps(row) + "\n" for row in given))
        shown = harness.succeed("data", run, *settings)
        code, out, err, _ = harness.run("plan", run, *settings)
        check(code == 0, err)
        for said in (shown, out + err):
            check("2 of 20 references are longer than sampling.max_new_tokens, which is 8: that of " in said, said)
            check(("question spells a special token" in said) == (special in question) and (special not in question or "odd.jsonl:6 for example" in said), said)
        check(len(data(harness, run, *settings)["warnings"]) == 1 + (special in question), shown)
    code, out, err, _ = harness.run("train", *settings, *sets(train__steps=0, eval__before="false", eval__after="false"))
    check(code == 0 and 'the field level is not read; task.fields.level = "level"' in out + err, out + err)
    check("are longer than sampling.max_new_tokens" not in str(data(harness, run, *settings, *sets(sampling__max_new_tokens=16))), "16 tokens are enough")


def parquet_is_sent_to_the_script(harness):
    (harness.work / "a.parquet").write_bytes(b"PAR1\x15\x04")
    code, _, err, _ = harness.run("data", harness.work / "a.parquet")
    check(code == 2 and "scripts/to_jsonl IN.parquet --out OUT.jsonl" in err, err)
    script, out = harness.source / "scripts/to_jsonl", harness.work / "a.jsonl"
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        done = subprocess.run([sys.executable, script, harness.work / "a.parquet", "--out", out], capture_output=True, text=True)
        check(done.returncode == 2 and re.fullmatch(r"to_jsonl: pyarrow is not installed \(.+\); .+\n", done.stderr) and not out.exists(), done.stderr)
        return
    rows = [{"prompt": [{"role": "user", "content": f"{n}+1?"}], "reward_model": {"ground_truth": str(n + 1)}} for n in range(3000)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), harness.work / "b.parquet")
    subprocess.run([sys.executable, script, harness.work / "b.parquet", "--out", out], check=True, capture_output=True)
    check([json.loads(line) for line in out.read_text().splitlines()] == rows, "the rows are others than those of the parquet file")
    check(data(harness, out)["layout"] == "verl", "rows that were parquet are not recognised")


def conversations_are_trained_on(harness):
    """Message lists with a system message from their file to a step, and on; the archive has the prompt in words and as the policy saw it."""
    rows, run = harness.work / "talks.jsonl", harness.work / "talks"
    rows.write_text("".join(json.dumps({"prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"{n}+1?"}], "reward_model": {"ground_truth": str(n + 1)},
                                        "data_source": "sums"}) + "\n" for n in range(40)))
    settings = sets(run__dir=run, model__path=folder_with_template(harness), task__file=f'[{{path="{rows}",where={{data_source="sums"}}}}]', sampling__max_new_tokens=4,
                    train__prompts_per_step=4, train__rollouts_per_prompt=2, scheduler__policy="uniform", eval__before="false", eval__after="false")
    code, out, err, _ = harness.run("train", *settings, *sets(train__steps=1))
    check(code == 0 and "rows of the layout verl" in out + err and "the verifier math judges by it" in out + err, out + err)
    harness.succeed("train", "--resume", run / "config.toml", *sets(train__steps=2))
    check(len(metrics(run)) == 2, "the resume did no step")
    for line in map(json.loads, harness.succeed("archive", "export", run).splitlines()):
        check(re.fullmatch(r"Be brief\.\n\n\d+\+1\?\n", line["prompt"]), line["prompt"])
        check("Be brief." in line["shown"] and line["shown"] != line["prompt"], line["shown"])


if __name__ == "__main__":
    main(layouts_are_shown, everything_is_counted, what_rows_may_not_mean_is_said, parquet_is_sent_to_the_script, conversations_are_trained_on)
